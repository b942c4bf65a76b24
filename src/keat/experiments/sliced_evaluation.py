"""A run evaluated by several workers, to the bits of one: every slice of time from a snapshot of the state.

This process observes, and leaves a snapshot where each slice begins; then any worker can ask it, while
the observing goes on. Snapshots and answers are files (safetensors) in a folder of the run that is named by
what is asked; the data is read by each worker from where it is. Nothing but names goes through this process,
so a worker or a node that dies costs no more than the slice it had in hand, and after an interruption the
same question finds the answers that are there.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

import keat
from keat.datasets.loading import Dataset
from keat.disk import lock_folder, make_folder, new_file
from keat.errors import InputError
from keat.experiments.engines import Call, Engine, on_engine
from keat.experiments.ray_engine import anywhere
from keat.models.contract import LearnedLinkModel
from keat.runs.epochs import best_epoch, kept_file, read_history
from keat.runs.run_evaluation import one_thread
from keat.runs.run_file import whole_run_file
from keat.runs.run_model import facts_of, open_model
from keat.runs.spec import SourceSpec
from keat.tasks.link import LinkTask
from keat.tasks.task_spec import Split, TaskSpec
from keat.training.evaluate import Evaluation, Progress
from keat.training.slices import SLICES, answer_slice, joined, observe_to_slices

FOLDER = "slices"  # of a run, while it is evaluated
NONE_YET = -1  # in place of the number of a slice: to open what is asked, and no more


@dataclass(frozen=True, slots=True)
class Sliced:
    """What is asked of a run, for workers who open all of it themselves."""

    run: str  # its folder
    source: SourceSpec
    task: TaskSpec
    split: Split
    refresh: int
    trust_pickle: bool = False
    slices: int = SLICES


def evaluate_in_slices(
    asked: Sliced,
    data: Dataset,
    task: LinkTask,
    *,
    workers: int,
    engine: Engine = "local",
    progress: Progress | None = None,
) -> Evaluation:
    """What `evaluate_run` gives with one thread, to the bit, by so many workers of one thread each. ``data``
    and ``task`` are what ``asked`` opens."""
    started = time.perf_counter()
    folder = Path(asked.run) / FOLDER / _name_of(asked, data)
    make_folder(folder)
    lock = lock_folder(folder, f"{asked.run} is being asked this by another process; wait for it.", seconds=2)
    numbers, done = list[int](), 0
    try:
        with one_thread():
            calls = chain(
                _openings(asked, folder, workers if workers > 1 or engine == "ray" else 0),
                _snapshots(asked, data, task, folder, numbers),
            )
            for _, (number, answered) in on_engine(engine, answer_into, calls, workers):
                _snapshot(folder, number).unlink(missing_ok=True)  # it may be large
                done += answered
                if progress is not None:
                    progress(done, len(task))
        found = [load_file(_answers(folder, number)) for number in numbers]
        answering = sum(float(each["answering"]) for each in found)
        result = joined(task, [each["outcomes"] for each in found], answering, started)
    finally:
        lock.release()
    shutil.rmtree(folder, ignore_errors=True)
    if not any(folder.parent.iterdir()):
        folder.parent.rmdir()
    return result


def answer_into(asked: Sliced, number: int, folder: str) -> tuple[int, int]:
    """Work of a worker: ask a slice from its snapshot, and leave the answers in the folder under their name.
    Returns the number of the slice and how many targets it has."""
    if number == NONE_YET:
        _opened(asked)
        return number, 0
    answers = _answers(Path(folder), number)
    if not answers.exists():
        torch.set_num_threads(1)
        model, task = _opened(asked)
        model.load_stream_state(load_file(_snapshot(Path(folder), number)))
        found = answer_slice(model, task, number, asked.refresh, asked.slices)
        answering = torch.tensor(found.answering, dtype=torch.float64)
        _write(answers, {"outcomes": found.outcomes, "answering": answering})
    return number, len(load_file(answers)["outcomes"])


def _openings(asked: Sliced, folder: Path, workers: int) -> Iterator[Call]:
    """The first calls of all: workers import and read while this process observes up to the first slice."""
    for number in range(workers):
        yield f"the opening of the data by worker {number + 1}", (asked, NONE_YET, str(folder))


def _snapshots(
    asked: Sliced, data: Dataset, task: LinkTask, folder: Path, numbers: list[int]
) -> Iterator[Call]:
    """A call for each slice, as soon as its snapshot is there; ``numbers`` has those that there were."""
    file = whole_run_file(Path(asked.run))
    file.facts.require_features(data.stream.name, data.stream.feature_dim)
    model = open_model(Path(asked.run), file)
    assert isinstance(model, LearnedLinkModel)
    known = asked.split == "test" and file.facts.data.fingerprint == facts_of(data).fingerprint
    for number in observe_to_slices(model, task, asked.refresh, asked.slices, known=known):
        numbers.append(number)
        if not _answers(folder, number).exists():
            _write(_snapshot(folder, number), model.stream_state())
        yield f"slice {number + 1} of {asked.slices}", (asked, number, str(folder))


@lru_cache(maxsize=1)
def _opened(asked: Sliced) -> tuple[LearnedLinkModel, LinkTask]:
    """The model and the task, once for all slices that a worker is given."""
    data = asked.source.open(asked.task)
    task = asked.task.make(data, asked.split, trust_pickle=asked.trust_pickle)
    model = open_model(Path(asked.run), whole_run_file(Path(asked.run)))
    assert isinstance(model, LearnedLinkModel)
    assert isinstance(task, LinkTask)
    return model, task


def sliced(
    run: Path, source: SourceSpec, task: TaskSpec, split: str, refresh: int, *, trust_pickle: bool = False
) -> Sliced:
    """What is asked, with paths that are right wherever a worker is. Only links are asked in slices."""
    if source.name is None:
        raise InputError("Workers read the data from a file or by its name; these were given in memory.")
    return Sliced(str(run.absolute()), anywhere(source), task, split, refresh, trust_pickle)  # type: ignore[arg-type]


def _name_of(asked: Sliced, data: Dataset) -> str:
    """By content: the answers of another epoch, of other data or to other questions are others."""
    run = Path(asked.run)
    kept = kept_file(run, "best", read_history(run))
    written = None if kept is None else kept.stat().st_mtime_ns
    what = (asked, facts_of(data), best_epoch(run).epoch, written, keat.__version__)
    return hashlib.blake2b(repr(what).encode(), digest_size=12).hexdigest()


def _snapshot(folder: Path, number: int) -> Path:
    return folder / f"state-{number:05}.safetensors"


def _answers(folder: Path, number: int) -> Path:
    return folder / f"answers-{number:05}.safetensors"


def _write(path: Path, tensors: dict[str, Tensor]) -> None:
    whole = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    with new_file(path) as part:
        save_file(whole, part)
