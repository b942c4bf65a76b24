"""Answers as clients get them."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
import numpy as np

from keat.calibration.calibrations import Calibration, probabilities
from keat.serve.log_records import Calibrated
from keat.serve.log_rows import Beside, Row, logits_of


class Answer(msgspec.Struct, omit_defaults=True):
    """What became of one event."""

    seq: int  # its number in the log
    logit: float
    model: str  # the fingerprint of the one that answered
    id: str | None = None
    probability: float | None = None
    rank: float | None = None  # of the destination among all that were known, where asked for
    candidates: int | None = None
    share: float | None = None
    late: int | None = None  # the time that was sent, where it counted as of a later one
    reasons: list[str] | None = None
    again: bool = False  # whether the event had been taken before


class ScoredPair(msgspec.Struct, omit_defaults=True):
    """A pair that was asked about."""

    source: str | int
    destination: str | int
    time: int
    logit: float
    probability: float | None = None
    reasons: list[str] | None = None


class Ranked(msgspec.Struct, omit_defaults=True):
    """A destination among those that were asked about."""

    destination: str | int
    rank: int
    logit: float
    share: float | None = None
    probability: float | None = None


class Ranking(msgspec.Struct):
    source: str | int
    time: int
    candidates: int
    model: str
    seq: int  # the last event that was known
    destinations: list[Ranked]


class Answerer(NamedTuple):
    """Who answered: a model by its fingerprint, and what makes its logits probabilities."""

    fingerprint: str
    calibration: Calibration | None
    fitted: Calibrated | None = None  # to which labels it was fitted here; None where it is the run's own


def answers_of(
    row: Row, first: int, models: list[Answerer], positions: list[int] | None = None
) -> list[Answer]:
    """The answers of a row's events, or of some of them: the same whenever they are read."""
    logits = logits_of(row)
    answerer = models[row.model]
    model, found = answerer.fingerprint, probabilities(answerer.calibration, logits)
    likely: list[Any] = [None] * len(row) if found is None else np.asarray(found).tolist()
    numbers = logits.tolist()
    ids, late, beside = row.ids, row.late, row.beside
    none = Beside()
    answers = []
    for place in range(len(row)) if positions is None else positions:
        more = beside.get(place, none) if beside else none
        answers.append(
            Answer(
                first + place,
                numbers[place],
                model,
                ids.get(place),
                likely[place],
                more.rank,
                more.candidates,
                more.share,
                late.get(place),
                more.reasons,
            )
        )
    return answers
