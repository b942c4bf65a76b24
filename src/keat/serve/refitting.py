"""Calibration that is fitted again to labels that come late, and exchanged between two batches.

It is tried once enough events that the present model scored have a label, and again whenever as many later
events have one as it was fitted to. The older three fourths of them fit a curve, by the logits in the log;
the newest fourth, which that curve has not seen, judges it beside the present one. If it is better by more
than chance explains, it answers from then on. The curve itself is a record of the log: a restart or a replay
reads it there, and fits nothing.
"""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from keat.calibration.probability import TINY, Floats, Isotonic, Platt, Truth, fit_probability
from keat.serve.late_truth import KEPT, TYPICAL
from keat.serve.log_records import Calibrated

if TYPE_CHECKING:
    from keat.serve.engine import Engine

ENOUGH = 200  # labels of events that are later than those it was fitted to
OF_EACH = 20  # labels of either kind in the older part, and a fourth of that in the newest
PART = 4  # the newest fourth judges


class CalibrationReport(msgspec.Struct):
    """What makes probabilities of scores now. Losses are log-losses on the newest labels, which it was not
    fitted to, of the calibration before it and of itself."""

    kind: str | None  # "platt", "isotonic", "temperature" (of shares); None where there is none
    labels: int  # that it was fitted to and judged by; 0 where it is the run's own
    judged_by: int  # how many of them
    before: float | None
    after: float | None
    at: int | None  # seconds since 1970
    sentence: str


@dataclass(slots=True)
class Refits:
    """What was tried for one answerer, and when to look again."""

    answerer: int = -1  # its number among those of the log
    not_before: int = 0  # labels that must have been looked at
    left: Calibrated | None = None  # what was tried last, and was not better


class Lesson(NamedTuple):
    """Events with a label that the present model scored, in the order of the log."""

    answerer: int
    present: Platt | Isotonic
    logits: Floats
    truth: Truth
    last: int  # number of the last of them


class Tried(NamedTuple):
    answerer: int
    record: Calibrated
    is_better: bool


def refit(engine: Engine) -> bool:
    """Fit the calibration again if that is due, between two batches; whether another one answers now."""
    lesson = due(engine)
    return lesson is not None and conclude(engine, tried(lesson))


def due(engine: Engine) -> Lesson | None:
    """What the calibration is to be fitted to; None as long as there is too little new."""
    answerer, present = len(engine.models) - 1, engine.models[-1]
    if engine.refits.answerer != answerer:
        engine.refits = Refits(answerer)
    refits, taken = engine.refits, engine.truth.taken
    if not engine.watch.labels_events or not isinstance(present.calibration, Platt | Isotonic):
        return None
    if engine.untold or taken < refits.not_before:
        return None
    ours = {number for number, one in enumerate(engine.models) if one.fingerprint == present.fingerprint}
    known = sorted((seq, one) for seq, one in engine.truth.known.items() if one.model in ours)
    last = refits.left or present.fitted
    after, want = (0, ENOUGH) if last is None else (last.last, max(ENOUGH, min(last.labels, KEPT // 2)))
    truth = np.array([one.positive for _, one in known], dtype=bool)
    missing = want - sum(seq > after for seq, _ in known)
    if missing <= 0 and _has_too_few(truth):
        missing = OF_EACH
    if missing > 0:
        refits.not_before = taken + missing  # it costs some milliseconds to look
        return None
    logits = np.array([one.logit for _, one in known])
    return Lesson(answerer, present.calibration, logits, truth, known[-1][0])


def _has_too_few(truth: Truth) -> bool:
    """Of one kind, in the part that is fitted to or in that which judges."""
    cut = _cut(len(truth))
    parts = (truth[:cut], OF_EACH), (truth[cut:], OF_EACH // PART)
    return any(min(np.count_nonzero(part), np.count_nonzero(~part)) < few for part, few in parts)


def tried(lesson: Lesson) -> Tried:
    """A curve fitted to the older part and judged by the newest; it reads nothing else, so any thread may."""
    cut, logits, truth = _cut(len(lesson.truth)), lesson.logits, lesson.truth
    curve = fit_probability(logits[:cut], truth[:cut])
    before, after = (
        _surprise(one.probabilities(logits[cut:]), truth[cut:]) for one in (lesson.present, curve)
    )
    gain = before - after
    error = float(gain.std(ddof=1)) / math.sqrt(len(gain))
    numbers = len(truth), len(gain), lesson.last
    record = Calibrated(asdict(curve), *numbers, float(before.mean()), float(after.mean()), int(time.time()))
    return Tried(lesson.answerer, record, float(gain.mean()) > TYPICAL * error)


def conclude(engine: Engine, found: Tried) -> bool:
    """Have a better curve answer from now on; between two batches. Whether it does."""
    if found.answerer != len(engine.models) - 1:
        return False  # another model answers since
    if found.is_better:
        engine.calibrate(found.record)
    else:
        engine.refits.left = found.record
    return found.is_better


def calibration_report(engine: Engine) -> CalibrationReport:
    present, refits = engine.models[-1], engine.refits
    left = refits.left if refits.answerer == len(engine.models) - 1 else None
    kind = None if present.calibration is None else present.calibration.kind
    sentence = _sentence(engine.watch.labels_events, kind, present.fitted, left)
    fitted = present.fitted
    if fitted is None:
        return CalibrationReport(kind, 0, 0, None, None, None, sentence)
    numbers = fitted.labels, fitted.judged_by, fitted.before, fitted.after, fitted.at
    return CalibrationReport(kind, *numbers, sentence)


def _sentence(
    labels_events: bool, kind: str | None, fitted: Calibrated | None, left: Calibrated | None
) -> str:
    if not labels_events:
        return "This run scores links, which no label is about; its calibration stays the run's own."
    if kind is None:
        return "This run has no calibration, so there is none to fit again."
    if fitted is None:
        found = "The calibration is the run's own."
    else:
        found = (
            f"The calibration was fitted again to {fitted.labels - fitted.judged_by:,} labels; on the "
            f"{fitted.judged_by:,} newest its log-loss is {fitted.after:.3f} instead of {fitted.before:.3f}."
        )
    if left is not None:
        return (
            f"{found} Another one, fitted to {left.labels - left.judged_by:,} labels, was not clearly better "
            f"on the {left.judged_by:,} newest ({left.after:.3f} instead of {left.before:.3f})."
        )
    if fitted is None:
        return (
            f"{found} It is fitted again once {ENOUGH} events of this model have a label, and at least "
            f"{OF_EACH + OF_EACH // PART} of each kind."
        )
    return found


def _cut(labels: int) -> int:
    """Where the older end, which are fitted to, and the newest begin, which judge."""
    return labels - labels // PART


def _surprise(likely: Floats, truth: Truth) -> Floats:
    return -np.log(np.maximum(np.where(truth, likely, 1 - likely), TINY))
