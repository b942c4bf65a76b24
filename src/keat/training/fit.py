"""The one training loop.

An epoch starts from an empty state, plays the lessons (score, learn, observe), and goes on through the
validation split without learning. Everything random is a function of (seed, epoch), so a run
that was stopped repeats at most the epoch under way and arrives at the same bits.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from keat.calibration.calibrations import Calibration
from keat.calibration.collectors import Fitter, fitter_of
from keat.errors import InputError, KeatError, unknown_name
from keat.events import EventStream
from keat.models.contract import LearnedLinkModel, LearnedNodeModel, Queries
from keat.models.settings import MOST, check_each, check_range, check_seed, setting
from keat.tasks.script import Task
from keat.training.budget import affordable_epochs
from keat.training.evaluate import continue_evaluation
from keat.training.lessons import Lesson, Lessons
from keat.training.losses import LinkLoss, Recipe, check_loss
from keat.training.schedule import SCHEDULES, Schedule, one_cycle

BATCHES_BETWEEN_LOOKS = 25
NOTHING_ASKED = Queries(np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.int32))


@dataclass(frozen=True, slots=True)
class FitConfig:
    """How to train. The defaults are TGB's, but for the decoder's second sigmoid (``recipe``)."""

    epochs: int = setting(30, "Epochs, at most.")
    patience: int = setting(5, "Epochs without a better validation metric before stopping.")
    batch_size: int = setting(200, "Events between two updates.", of_streams=True)
    lr: float = setting(1e-4, "Learning rate of Adam.")
    schedule: Schedule = setting(
        "constant",
        "The rate over time: constant, or one-cycle, which rises for a quarter of all epochs and then falls.",
        of_streams=True,
    )
    clip: float | None = setting(None, "Largest norm of the gradient.")
    recipe: Recipe = setting("sound", "sound, or tgb-parity with its second sigmoid.", of_streams=True)
    loss: LinkLoss = setting(
        "pairwise",
        "pairwise (binary cross-entropy), listwise (softmax over a positive and its negatives) or stratified "
        "(the same with hard negatives, weighted to stand for all destinations).",
        of_streams=True,
    )
    negatives: int = setting(
        1, "Negatives a positive is taught against.", option="train-negatives", of_streams=True
    )
    historical: float = setting(
        0.0, "Share of them that are earlier destinations of the source.", of_streams=True
    )
    bf16: bool = setting(False, "Train in bfloat16; scores stay float32.", of_streams=True)
    seed: int = setting(1, "Of all that is random: parameters, dropout and what is drawn.")
    tolerance: float = setting(1e-6, "Relative improvement of the validation metric that counts.")
    validate_every: int = setting(1, "Epochs from one validation to the next; the last is always validated.")
    budget: float | None = setting(
        None,
        "Seconds of processor time that training may take: no further epoch is begun that would exceed it.",
        of_streams=True,
    )

    def __post_init__(self) -> None:
        check_each(self)
        check_range(self, 1, MOST, "epochs", "patience", "batch_size", "negatives", "validate_every")
        check_range(self, 0, None, "lr", "tolerance")
        check_range(self, 0, None, "clip", "budget", open_below=True)
        check_range(self, 0, 1, "historical")
        check_seed(self.seed)
        check_loss(self.recipe, self.loss)
        if self.schedule not in SCHEDULES:
            raise unknown_name("schedule", self.schedule, SCHEDULES)
        if self.loss == "stratified" and self.historical:
            raise InputError(
                "The stratified loss has the source's latest destinations among its negatives already; leave "
                "historical out, or choose the listwise loss."
            )

    @property
    def plan(self) -> tuple[int, float | None] | None:
        """How long training is to be, where every step depends on it: with a constant rate a run may end
        sooner or later."""
        return None if self.schedule == "constant" else (self.epochs, self.budget)


@dataclass(frozen=True, slots=True)
class EpochReport:
    """What one epoch came to."""

    epoch: int
    loss: float
    val: dict[str, float]
    train_seconds: float
    val_seconds: float
    best: bool
    calibration: Calibration | None = None  # of the scores of a best epoch, from its validation
    processor_seconds: float | None = None  # of training; earlier versions had those of the wall alone

    @property
    def cost(self) -> float:
        """What of a budget it took."""
        return self.train_seconds if self.processor_seconds is None else self.processor_seconds


class Keeper(Protocol):
    """Where finished epochs are kept."""

    def resume(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, steps: Callable[[], int]
    ) -> list[EpochReport]:
        """Load the last finished epoch, if any, and return the reports so far. ``steps`` tells how many steps
        an epoch has."""

    def standing(self, headline: str) -> tuple[float, int]:
        """The best validation value so far, and how many epochs ago it was."""

    def save_epoch(
        self,
        model: LearnedLinkModel | LearnedNodeModel,
        optimizer: torch.optim.Optimizer,
        report: EpochReport,
    ) -> None: ...


class Watcher(Protocol):
    """Listens to how training goes; the command line has one that draws a bar."""

    def batch(self, epoch: int, done: int, total: int, loss: float) -> None: ...

    def epoch(self, report: EpochReport) -> None: ...


def fit(
    model: LearnedLinkModel | LearnedNodeModel,
    lessons: Lessons,
    task: Task,
    config: FitConfig,
    run: Keeper,
    watchers: Sequence[Watcher] = (),
) -> list[EpochReport]:
    """Train until the headline metric of the validation ``task`` stops improving; ``run`` keeps the best
    and the last. The state is as fresh in validation as in the lessons.

    If ``run`` holds an interrupted training of the same configuration, it is continued. What is measured
    before the first epoch is part of its cost.
    """
    optimizer = torch.optim.Adam(model.parameters(), lr=config.lr, fused=True)
    history = run.resume(model, optimizer, lambda: _steps(lessons, config.seed))
    best, since_best = run.standing(task.headline)
    reports: list[EpochReport] = []
    costs = [report.cost for report in history]
    model.reserve(len(lessons) + len(task))
    worked = time.process_time()
    if not history:
        model.reset()
        model.measure(_questions(lessons, config.seed))
    for epoch in range(len(history) + 1, config.epochs + 1):
        planned = affordable_epochs(config.epochs, config.budget, costs)
        if epoch > planned or (since_best >= config.patience and math.isfinite(best)):
            break  # for want of patience only after a validation
        started = time.perf_counter()
        loss = train_epoch(model, optimizer, lessons, config, epoch, watchers, planned=planned)
        trained = time.perf_counter()
        costs.append(time.process_time() - worked)
        val: dict[str, float] = {}
        fitter: Fitter | None = None
        is_last = epoch == affordable_epochs(config.epochs, config.budget, costs)
        if epoch % config.validate_every == 0 or is_last:
            model.eval()
            fitter = fitter_of(task)
            val = continue_evaluation(model, task, refresh=lessons.refresh, collector=fitter).metrics
        value = val.get(task.headline, -math.inf)
        better = bool(val) and (math.isinf(best) or value - best > config.tolerance * abs(best))
        calibration = fitter.fit() if better and fitter is not None else None
        seconds = (trained - started, time.perf_counter() - trained)
        report = EpochReport(epoch, loss, val, *seconds, better, calibration, costs[-1])
        best, since_best = (value, 0) if better else (best, since_best + 1)
        run.save_epoch(model, optimizer, report)
        reports.append(report)
        for watcher in watchers:
            watcher.epoch(report)
        worked = time.process_time()
    return reports


def train_epoch(
    model: LearnedLinkModel | LearnedNodeModel,
    optimizer: torch.optim.Optimizer,
    lessons: Lessons,
    config: FitConfig,
    epoch: int,
    watchers: Sequence[Watcher] = (),
    *,
    planned: int | None = None,
) -> float:
    """One epoch from an empty state, of so many ``planned``, which a rate that changes goes by; returns the
    mean loss of its questions."""
    torch.manual_seed(np.random.SeedSequence([config.seed, epoch]).generate_state(1)[0].item())
    model.train()
    model.reset()
    total, asked, done, mean = torch.zeros((), device=model.device), 0, 0, math.nan
    for number, lesson in enumerate(lessons.epoch(config.seed, epoch)):
        if lesson.queries is None or lesson.loss is None:
            _observe(model, lesson)
        else:
            if config.schedule == "one-cycle":
                share = (epoch - 1 + done / len(lessons)) / (planned or config.epochs)
                for group in optimizer.param_groups:
                    group["lr"] = config.lr * one_cycle(share)
            total += _learn(model, optimizer, lesson, lesson.loss, config) * len(lesson.queries.t)
            asked += len(lesson.queries.t)
        done += lesson.progress
        if number % BATCHES_BETWEEN_LOOKS == 0 or done == len(lessons):  # a look waits for the device
            mean = total.item() / max(asked, 1)
            if not math.isfinite(mean):
                raise KeatError(f"The loss became {mean} in epoch {epoch}; lower lr or set clip.")
            for watcher in watchers:
                watcher.batch(epoch, done, len(lessons), mean)
    return mean


def _learn(
    model: LearnedLinkModel | LearnedNodeModel,
    optimizer: torch.optim.Optimizer,
    lesson: Lesson,
    loss_of: Callable[[Tensor], Tensor],
    config: FitConfig,
) -> Tensor:
    """One step; returns its loss."""
    in_turn = _in_turn(model)
    with torch.autocast(model.device.type, torch.bfloat16, enabled=config.bf16):
        if in_turn:
            assert isinstance(model, LearnedLinkModel)
            assert isinstance(lesson.queries, Queries)
            (logits,) = model.score_in_turn([lesson.queries], lesson.events)
        else:
            logits = model.score(lesson.queries)  # type: ignore[arg-type]
    loss = loss_of(logits.float())
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    # Before the step: the state advances with the parameters the scores were computed with.
    if not in_turn:
        _observe(model, lesson)
    if config.clip is not None:
        nn.utils.clip_grad_norm_(model.parameters(), config.clip)
    optimizer.step()
    return loss.detach()


def _observe(model: LearnedLinkModel | LearnedNodeModel, lesson: Lesson) -> None:
    model.observe(lesson.events)
    if lesson.labels is not None and isinstance(model, LearnedNodeModel):
        model.observe_labels(lesson.labels)


def _questions(lessons: Lessons, seed: int) -> Iterator[tuple[Queries, EventStream]]:
    """Those of an epoch that is not trained."""
    for lesson in lessons.epoch(seed, 0):
        if isinstance(lesson.queries, Queries):
            yield lesson.queries, lesson.events
        elif lesson.queries is None:
            yield NOTHING_ASKED, lesson.events


def _steps(lessons: Lessons, seed: int) -> int:
    """Of the optimizer in an epoch: as many in each."""
    return sum(lesson.loss is not None for lesson in lessons.epoch(seed, 1))


def _in_turn(model: LearnedLinkModel | LearnedNodeModel) -> bool:
    return isinstance(model, LearnedLinkModel) and model.trains_in_turn
