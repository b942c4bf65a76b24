"""`train_in_parallel`: a run trained by several processes of this machine, which goes on where one is lost.

This process is the first worker and has the folder, the bar and the last word; the others follow it epoch by
epoch and write nothing. If one of them dies, all begin again from the last finished epoch, to the same bits.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import torch
from torch import nn

import keat
from keat.datasets.dgraphfin import DGraphFin
from keat.datasets.loading import Dataset
from keat.errors import InputError, KeatError
from keat.models.contract import LearnedLinkModel, LearnedNodeModel
from keat.runs.epochs import kept_file, load_tensors, read_history, standing
from keat.runs.facts import RunFacts
from keat.runs.optimizer_state import load_training
from keat.runs.run_file import RunFile
from keat.runs.run_folder import RunFolder

# They are what `train_run` does, step by step; under other names, results of today would be of another code.
from keat.runs.run_model import Data, Trained, _fresh_model, _lessons, facts_of, settled, task_of
from keat.runs.spec import RunSpec
from keat.tasks.link import LinkTask
from keat.training.fit import EpochReport, Keeper, Watcher, fit
from keat.training.lessons import LinkLessons
from keat.training.parallel_shares import SharedLessons, Team, share_of

RETRIES = 3  # workers that may be lost


class LostWorkerError(KeatError):
    """A worker has died."""


@dataclass(frozen=True, slots=True)
class _Follower:
    process: BaseProcess
    said: Connection  # that it is ready, or what is wrong


@dataclass(frozen=True, slots=True)
class _Order:
    """What a follower is told."""

    spec: RunSpec
    data: Dataset | None  # only what was given in memory: the rest each reads for itself
    fingerprint: str
    folder: str
    team: Team
    meeting: str
    threads: int


def train_in_parallel(
    spec: RunSpec,
    data: Data,
    folder: Path,
    *,
    workers: int,
    resume: bool = False,
    device: str = "cpu",
    watchers: Sequence[Watcher] = (),
) -> Trained:
    """What `train_run` does, by so many workers, which share this process's threads. Each block's gradient is
    that of all its questions."""
    if isinstance(data, DGraphFin) or not isinstance(task_of(spec, data, "val"), LinkTask):
        raise InputError(
            "Only models of links are trained by several workers; train this one with one worker."
        )
    if spec.fitting.budget is not None:
        raise InputError("A budget is of the time of one worker; leave it out, or train with one worker.")
    threads = torch.get_num_threads()
    torch.set_num_threads(max(1, threads // workers))
    try:
        for _ in range(RETRIES):
            try:
                return _train(spec, data, folder, workers, resume, device, watchers)
            except LostWorkerError:
                resume = True
        return _train(spec, data, folder, workers, resume, device, watchers)
    finally:
        torch.set_num_threads(threads)


def _train(
    spec: RunSpec,
    data: Dataset,
    folder: Path,
    workers: int,
    resume: bool,
    device: str,
    watchers: Sequence[Watcher],
) -> Trained:
    """Until it is done, or a worker is lost."""
    team = Team(0, workers, device if device == "cpu" else f"{device.split(':')[0]}:0")
    with tempfile.TemporaryDirectory(prefix="keat-") as place:
        share = _Worker.of(spec, data, team)
        with RunFolder(folder, share.file, data.stream.ids, resume=resume) as run:
            meeting = Path(place) / "meeting"
            with _following(spec, data, folder, team, meeting) as followers:
                try:
                    with team.meeting(meeting):
                        reports = share.train(_First(run, team, share.lessons), watchers)
                except (RuntimeError, torch.distributed.DistError) as error:
                    _require_all(followers, error)
                    raise
                return Trained(share.file, reports)


@dataclass(frozen=True, slots=True, eq=False)
class _Worker:
    """What a worker trains: the model and its share of the lessons and of the validation."""

    spec: RunSpec
    model: LearnedLinkModel | LearnedNodeModel
    lessons: SharedLessons
    task: LinkTask
    file: RunFile

    @classmethod
    def of(cls, spec: RunSpec, data: Dataset, team: Team) -> _Worker:
        task = task_of(spec, data, "val")
        model, _ = _fresh_model(spec, data, task)
        model = model.to(team.device)
        lessons = _lessons(spec, data, task, model)
        assert isinstance(lessons, LinkLessons)
        stream = data.stream
        facts = RunFacts(
            data=facts_of(data),
            unit=stream.unit,
            sigma=model.sigma,
            num_nodes=stream.num_nodes,
            feature_dim=stream.feature_dim,
            asked=len(task),
            keat=keat.__version__,
        )
        file = RunFile(replace(spec, task=settled(spec.task, task)), facts)
        return cls(spec, model, SharedLessons(lessons, team, model), share_of(task, team), file)

    def train(self, keeper: Keeper, watchers: Sequence[Watcher] = ()) -> list[EpochReport]:
        return fit(self.model, self.lessons, self.task, self.spec.fitting, keeper, watchers)


class _First:
    """Keeps epochs in the folder of the run. Their loss is that of all workers."""

    def __init__(self, run: RunFolder, team: Team, lessons: SharedLessons) -> None:
        self.run, self.team, self.lessons = run, team, lessons
        self.standing = run.standing

    def resume(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, steps: Callable[[], int]
    ) -> list[EpochReport]:
        return self.run.resume(model, optimizer, steps)

    def save_epoch(self, model: Any, optimizer: torch.optim.Optimizer, report: EpochReport) -> None:
        loss = _loss_of_all(self.team, report.loss, self.lessons.asked)
        self.run.save_epoch(model, optimizer, replace(report, loss=loss))


class _Next:
    """Goes along with the epochs that another worker keeps."""

    def __init__(self, folder: Path, team: Team, lessons: SharedLessons) -> None:
        self.folder, self.team, self.lessons = folder, team, lessons
        self.history = read_history(folder)

    def resume(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        steps: Callable[[], int],  # noqa: ARG002
    ) -> list[EpochReport]:
        path = kept_file(self.folder, "last", self.history)
        if path is not None:
            load_training(self.folder, load_tensors(path), model, optimizer)
        return list(self.history)

    def standing(self, headline: str) -> tuple[float, int]:
        return standing(self.folder, self.history, headline)

    def save_epoch(self, model: Any, optimizer: torch.optim.Optimizer, report: EpochReport) -> None:  # noqa: ARG002
        _loss_of_all(self.team, report.loss, self.lessons.asked)


def _loss_of_all(team: Team, loss: float, asked: int) -> float:
    own = torch.tensor([loss * asked, asked], dtype=torch.float64, device=team.device)
    total, number = team.summed(own)
    return float(total) / max(float(number), 1.0)


# -- followers ---------------------------------------------------------------------------------------


@contextmanager
def _following(
    spec: RunSpec, data: Dataset, folder: Path, first: Team, meeting: Path
) -> Iterator[list[_Follower]]:
    """The other workers, once all are ready. None is left in the end."""
    spawn = multiprocessing.get_context("spawn")  # a fork would inherit torch's threads
    given = data if spec.source.name is None else None
    followers = []
    try:
        for rank in range(1, first.size):
            device = first.device if first.device == "cpu" else f"{first.device.split(':')[0]}:{rank}"
            team = replace(first, rank=rank, device=device)
            threads, known = torch.get_num_threads(), facts_of(data).fingerprint
            order = _Order(spec, given, known, str(folder), team, str(meeting), threads)
            here, there = spawn.Pipe(duplex=False)
            process = spawn.Process(target=_follow, args=(order, there, os.getpid()), daemon=True)
            process.start()
            there.close()
            followers.append(_Follower(process, here))
        for follower in followers:
            wait([follower.said, follower.process.sentinel])
            if not follower.said.poll() or follower.said.recv() is not None:
                _require_all(followers, None)
        yield followers
    finally:
        for follower in followers:
            follower.process.kill()
            follower.process.join()


def _require_all(followers: Sequence[_Follower], error: BaseException | None) -> None:
    """If one has failed or died, say so; what it leaves is noticed here before it is gone."""
    wait([follower.process.sentinel for follower in followers], timeout=5)
    for follower in followers:
        if follower.process.is_alive():
            continue
        try:
            wrong = follower.said.recv() if follower.said.poll() else None
        except EOFError:
            wrong = None
        if wrong is not None:
            raise KeatError(wrong) from error
        raise LostWorkerError(
            "A worker of the training died, again and again, as when there is too little memory; train with "
            "fewer workers. Finished epochs are kept: resume from them."
        ) from error


def _follow(order: _Order, said: Connection, parent: int) -> None:
    """A worker's whole life."""
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    torch.set_num_threads(order.threads)
    spec = order.spec
    try:
        data = spec.source.open(spec.task) if order.data is None else order.data
        if facts_of(data).fingerprint != order.fingerprint:
            raise InputError(f"{data.name} has changed while it was being read; train again.")
        share = _Worker.of(spec, data, order.team)
        said.send(None)
        with order.team.meeting(Path(order.meeting)):
            share.train(_Next(Path(order.folder), order.team, share.lessons))
    except KeatError as error:
        said.send(str(error))
        raise SystemExit(1) from None


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)
