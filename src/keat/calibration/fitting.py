"""Collects what calibration needs while a task is played, so that nothing is asked twice.

During validation a fitter sees the scores of every question and can then be asked for the calibration; during
test a judge sees them and says how reliable what it makes of them is. Neither changes a score, and a fitter
never sees the test split: it belongs to the task it was made for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.special import expit

from keat.calibration.probability import Isotonic, Platt, fit_probability
from keat.calibration.reliability import Reliability, Sums
from keat.calibration.temperature import Contest, Temperature, fit_temperature, plain
from keat.tasks.candidates import OwnCandidates
from keat.tasks.graph_label import GraphLabel
from keat.tasks.link import LinkClassification, LinkRanking
from keat.tasks.node_label import NodeLabel
from keat.tasks.script import Question, Task

Calibration = Temperature | Platt | Isotonic
Floats = npt.NDArray[np.float64]
SCORES_KEPT = 1 << 23  # of validation, for the temperature: 32 MiB


@dataclass(frozen=True, slots=True)
class Judgement:
    """How reliable calibrated scores are on a split, beside the same scores as the model gave them."""

    calibration: Calibration
    before: tuple[Reliability, ...]
    after: tuple[Reliability, ...]  # of the same forecasts, in the same order

    def told(self) -> dict[str, Any]:
        """In plain values: the kind of calibration, and the errors of each kind of forecast."""
        pairs = zip(self.before, self.after, strict=True)
        errors = {
            now.of: {"value": now.ece, "interval": list(now.interval), "before": was.ece}
            for was, now in pairs
        }
        return {"kind": self.calibration.kind, "ece": errors}


class Fitter(ABC):
    """Sees validation; `fit` when it is over. None where it taught nothing."""

    @abstractmethod
    def collect(self, ask: Question, scores: Sequence[torch.Tensor]) -> None: ...

    @abstractmethod
    def fit(self) -> Calibration | None: ...


class Judge(ABC):
    """Sees a split it was not fitted to; `judgement` when it is over."""

    @abstractmethod
    def collect(self, ask: Question, scores: Sequence[torch.Tensor]) -> None: ...

    @abstractmethod
    def judgement(self) -> Judgement: ...


def fitter_of(task: Task) -> Fitter | None:
    """None where scores are read in another way: a node's next period is divided by its softmax."""
    if isinstance(task, LinkRanking):
        return ShareFitter(task)
    return ProbabilityFitter(task) if isinstance(task, LinkClassification | NodeLabel | GraphLabel) else None


def judge_of(task: Task, calibration: Calibration | None) -> Judge | None:
    """None where there is no calibration, or it is of another kind of task."""
    if isinstance(task, LinkRanking) and isinstance(calibration, Temperature):
        return ShareJudge(task, calibration)
    if isinstance(task, LinkClassification | NodeLabel | GraphLabel) and isinstance(
        calibration, Platt | Isotonic
    ):
        return ProbabilityJudge(task, calibration)
    return None


class ShareFitter(Fitter):
    """Keeps the logits of as many questions as there is room for, evenly spread over the split."""

    def __init__(self, task: LinkRanking) -> None:
        self.task, self.seen = task, 0
        self.kept = min(len(task), max(1, SCORES_KEPT // task.width))
        self.contests: list[Contest] = []

    def collect(self, ask: Question, scores: Sequence[torch.Tensor]) -> None:
        places = self.seen + np.arange(len(scores[0]) + 1)
        self.seen = int(places[-1])
        chosen = np.diff(places * self.kept // len(self.task)) > 0
        if chosen.any():
            logits, true = contest(self.task, ask, scores)
            self.contests.append(Contest(logits[chosen], true[chosen]))

    def fit(self) -> Temperature | None:
        return fit_temperature(self.contests, sampled=isinstance(self.task.candidates, OwnCandidates))


class ShareJudge(Judge):
    """Of the best candidate of each question, and of all candidates."""

    def __init__(self, task: LinkRanking, calibration: Temperature) -> None:
        self.task, self.calibration = task, calibration
        self.sums = [(made, Sums(len(task)), Sums(len(task))) for made in (plain(calibration), calibration)]

    def collect(self, ask: Question, scores: Sequence[torch.Tensor]) -> None:
        logits, true = contest(self.task, ask, scores)
        hits = np.zeros(logits.shape)
        np.put_along_axis(hits, true[:, None], 1.0, axis=1)
        leads = logits == logits.max(axis=1, keepdims=True)
        right = (hits * leads).sum(axis=1) / leads.sum(axis=1)  # several that lead: one of them is named
        for made, best, every in self.sums:
            shares = made.shares(logits)
            best.add(shares.max(axis=1)[:, None], right[:, None])
            every.add(shares, hits)

    def judgement(self) -> Judgement:
        before, after = (
            (
                best.reliability("the best candidate", equal="counts"),
                every.reliability("all candidates", equal="forecasts"),
            )
            for _, best, every in self.sums
        )
        return Judgement(self.calibration, before, after)


class ProbabilityFitter(Fitter):
    """Keeps the logit of every target, and whether it is true."""

    def __init__(self, task: LinkClassification | NodeLabel | GraphLabel) -> None:
        self.task = task
        self.logits: list[Floats] = []
        self.truth: list[npt.NDArray[np.bool_]] = []

    def collect(self, ask: Question, scores: Sequence[torch.Tensor]) -> None:
        logits, truth = labelled(self.task, ask, scores)
        self.logits.append(logits)
        self.truth.append(truth)

    def fit(self) -> Platt | Isotonic | None:
        logits, truth = np.concatenate(self.logits), np.concatenate(self.truth)
        fine = np.isfinite(logits)
        return fit_probability(logits[fine], truth[fine]) if fine.any() else None


class ProbabilityJudge(Judge):
    """Of the probability of every target."""

    def __init__(
        self, task: LinkClassification | NodeLabel | GraphLabel, calibration: Platt | Isotonic
    ) -> None:
        self.task, self.calibration = task, calibration
        forecasts = len(task) * (2 if isinstance(task, LinkClassification) else 1)
        self.sums = Sums(forecasts), Sums(forecasts)

    def collect(self, ask: Question, scores: Sequence[torch.Tensor]) -> None:
        logits, truth = labelled(self.task, ask, scores)
        hits = truth.astype(np.float64)[:, None]
        for sums, said in zip(
            self.sums, (expit(logits), self.calibration.probabilities(logits)), strict=True
        ):
            sums.add(said[:, None], hits)

    def judgement(self) -> Judgement:
        before, after = (sums.reliability("the probability", equal="counts") for sums in self.sums)
        return Judgement(self.calibration, (before,), (after,))


def contest(task: LinkRanking, ask: Question, scores: Sequence[torch.Tensor]) -> Contest:
    """The questions of a ranking with who competes in them, as they are ranked."""
    logits, true = task.candidates.contest(ask.rows, scores[0])
    return Contest(logits.cpu().numpy(), true.numpy())


def labelled(
    task: LinkClassification | NodeLabel | GraphLabel, ask: Question, scores: Sequence[torch.Tensor]
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Logits and which of them are true: of events with a label, or of pairs, each beside a false one."""
    logits = torch.cat(list(scores), dim=1).double().cpu().numpy().ravel()
    if not isinstance(task, LinkClassification):
        return logits, task.truth[ask.rows]
    return logits, np.tile([True, False], len(logits) // 2)
