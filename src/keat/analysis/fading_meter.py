"""The fading meter: does the past tell of the coming event, and how fast does what it tells go stale?

Boosted trees (scikit-learn's) answer the same questions from the same past, once without its features, once
with their plain mean, and once with means faded at each of a grid of half-lives. Trees learn on what came
before and answer a later stretch of time, four times over; the test split is not looked at. How sure an
answer is, twelve blocks of time say: what differs from block to block is not known.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from keat.analysis.faded_sums import Floats
from keat.analysis.fading_questions import Questions

FOLDS = (0.4, 0.55, 0.7, 0.85, 1.0)  # shares of the questions: each stretch is answered from all before it
BLOCKS = 3  # of a stretch
HALVINGS = 13  # of the half of the span that is asked about
NONE, PLAIN = 0, 1  # the arms before those of half-lives


@dataclass(frozen=True, slots=True)
class FadingCurve:
    """What was measured. AUC and log-loss have a row for each arm: none, plain, then each half-life."""

    half_lives: Floats  # (H,) falling, in the unit of the stream
    auc: Floats  # (H + 2, blocks)
    loss: Floats  # (H + 2, blocks)
    questions: int
    share: float  # of the questions that are so

    def mean_auc(self) -> Floats:
        return np.asarray(self.auc.mean(axis=1))


def half_lives_of(questions: Questions) -> Floats:
    """Each half of the one before, down to a tick."""
    longest = max(float(questions.t[-1] - questions.t[0]), 2.0) / 2
    every = longest / 2.0 ** np.arange(HALVINGS)
    return np.asarray(every[every >= 1.0])


def measure_fading(
    questions: Questions,
    half_lives: Floats | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> FadingCurve:
    """Answer the questions without features, with plain means, and with means of each half-life."""
    half_lives = half_lives_of(questions) if half_lives is None else half_lives
    arms = [None, math.inf, *half_lives]
    base = questions.without_features()
    scored = []
    for number, half_life in enumerate(arms):
        columns = [base]
        if half_life is not None:
            columns += [questions.faded(half_life, of) for of in questions.pasts]
        scored.append(_answered(np.concatenate(columns, axis=1), questions.truth))
        if progress is not None:
            progress(number + 1, len(arms))
    auc, loss = (np.array(each) for each in zip(*scored, strict=True))
    whole = np.isfinite(auc).all(axis=0)  # a block in which all are alike says nothing
    return FadingCurve(half_lives, auc[:, whole], loss[:, whole], len(base), float(questions.truth.mean()))


def _answered(inputs: Floats, truth: npt.NDArray[np.bool_]) -> tuple[list[float], list[float]]:
    """AUC and log-loss of each block."""
    from sklearn.metrics import roc_auc_score

    auc, loss = [], []
    ends = [int(share * len(truth)) for share in FOLDS]
    for begin, end in pairwise(ends):
        share = fitted_trees(inputs[:begin], truth[:begin]).predict_proba(inputs[begin:end])[:, 1]
        told = np.where(truth[begin:end], share, 1.0 - share)
        for rows in np.array_split(np.arange(end - begin), BLOCKS):
            holds = truth[begin:end][rows]
            mixed = holds.any() and not holds.all()
            auc.append(float(roc_auc_score(holds, share[rows])) if mixed else math.nan)
            loss.append(float(-np.log(np.maximum(told[rows], 1e-9)).mean()))
    return auc, loss


def fitted_trees(inputs: Floats, truth: npt.NDArray[np.bool_]) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    trees = HistGradientBoostingClassifier(
        max_iter=40, max_leaf_nodes=15, min_samples_leaf=40, max_bins=63, early_stopping=False
    )
    return trees.fit(inputs, truth)
