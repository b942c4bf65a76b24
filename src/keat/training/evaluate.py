"""The one evaluation loop: play a task's script to a model and keep the outcomes."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

from keat.errors import KeatError, Notice
from keat.models.contract import LearnedModel, LinkModel, NodeModel
from keat.tasks.metrics import standard_errors
from keat.tasks.script import TGB_BATCH, Ask, AskInTurn, Line, Observe, Question, Reveal, Task

Progress = Callable[[int, int], None]  # (targets done, targets in all)


class Collector(Protocol):
    """Looks at the scores of each question as it is answered, for what a task's outcomes do not keep."""

    def collect(self, ask: Question, scores: Sequence[torch.Tensor]) -> None: ...


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """Metrics of one model on one split, and what each target contributed."""

    metrics: dict[str, float]
    outcomes: torch.Tensor
    events: int
    seconds: float
    standard_errors: dict[str, float] | None = None  # where only a sample of the split was asked
    answering: float = 0.0  # seconds of processor time that scores took, with the observing between questions

    def __repr__(self) -> str:
        numbers = ", ".join(f"{name} {value:.4f}" for name, value in self.metrics.items())
        return f"Evaluation({numbers}; {self.events:,} targets in {self.seconds:.1f} s)"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{name}</td><td>{value:.4f}</td></tr>" for name, value in self.metrics.items()
        )
        return f"<table>{rows}</table><p><small>{self.events:,} targets in {self.seconds:.1f} s</small></p>"


def evaluate(
    model: LinkModel | NodeModel,
    task: Task,
    *,
    refresh: int = TGB_BATCH,
    progress: Progress | None = None,
    collector: Collector | None = None,
) -> Evaluation:
    """Play ``task`` from an empty state: observe the history, then ask and observe in turn.

    ``refresh`` is how many events may pass before the model observes them: 200 is TGB's protocol,
    1 means that every strictly earlier time has been observed.
    """
    if isinstance(model, LearnedModel) and model.has_learned_nothing:
        warnings.warn(
            f"The {model.name} has not been trained: its parameters are those drawn at random, and so are "
            "its scores; train it with keat.train.",
            Notice,
            stacklevel=2,
        )
    model.reset()
    return _play(model, task, task.script(refresh), progress, collector)


def continue_evaluation(
    model: LinkModel | NodeModel,
    task: Task,
    *,
    refresh: int = TGB_BATCH,
    progress: Progress | None = None,
    collector: Collector | None = None,
) -> Evaluation:
    """The same for a model whose state already is where the split begins, as after an epoch of training."""
    return _play(model, task, task.questions(refresh), progress, collector)


def _play(
    model: LinkModel | NodeModel,
    task: Task,
    script: Iterator[Line],
    progress: Progress | None,
    collector: Collector | None,
) -> Evaluation:
    started = time.perf_counter()
    outcomes: list[torch.Tensor] = []
    done, answering = 0, 0.0
    not_numbers: list[torch.Tensor] = []  # looked at once, at the end: a look waits for the device
    with torch.no_grad():
        for line in script:
            match line:
                case Ask() | AskInTurn():
                    asked = time.process_time()
                    scores = _answers(model, line)
                    answering += time.process_time() - asked
                    outcomes.append(task.outcome(line, scores))
                    if collector is not None:
                        collector.collect(line, scores)
                    not_numbers += [torch.isnan(part).any() for part in scores]
                    done += len(outcomes[-1])
                    if progress is not None:
                        progress(done, len(task))
                case Observe():
                    model.observe(line.events)
                case Reveal():
                    assert isinstance(model, NodeModel)
                    model.observe_labels(line.labels)
        if torch.stack(not_numbers).any():  # no comparison with NaN holds, so it would rank first
            raise KeatError(f"{model.name} gave scores that are not numbers; train it with a lower lr.")
        result = torch.cat(outcomes)
        metrics = task.metrics(result)
    seconds = time.perf_counter() - started
    errors = standard_errors(task.metrics, result.cpu()) if task.is_sample else None
    return Evaluation(metrics, result, len(task), seconds, errors, answering)


def _answers(model: LinkModel | NodeModel, line: Ask | AskInTurn) -> list[torch.Tensor]:
    if isinstance(line, Ask):
        return [model.score(queries) for queries in line.queries]  # type: ignore[arg-type]
    assert isinstance(model, LinkModel)
    return model.score_in_turn(line.queries, line.events)
