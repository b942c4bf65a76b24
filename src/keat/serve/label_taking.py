"""Labels on their way from the log to what is known of alerts: a few at a time, between batches."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from keat.calibration.calibrations import probabilities
from keat.calibration.probability import TINY
from keat.serve.late_truth import Known

if TYPE_CHECKING:
    from keat.serve.engine import Engine

AT_ONCE = 256  # labels


def tell(engine: Engine, labels: list[tuple[int, float, int]]) -> None:
    """Commit labels: number of the event, label, when it was told. They are looked at by `look_at_labels`."""
    engine.log.tell(labels)
    engine.untold += [(seq, label) for seq, label, _ in labels]


def look_at_labels(engine: Engine) -> bool:
    """Look at some of the labels that were told; whether there are more."""
    some, engine.untold = engine.untold[:AT_ONCE], engine.untold[AT_ONCE:]
    place = 0
    while place < len(some):
        first, row = engine.log.row_of(some[place][0])
        own = [*takewhile(lambda told: first <= told[0] < first + len(row), some[place:])]  # noqa: B023
        place += len(own)
        known = engine.truth.take(first, row, own)
        if engine.watch.labels_events and row.model == len(engine.models) - 1:
            engine.watch.drift.take_loss(engine.state.last_time, _losses(engine, known))
    return bool(engine.untold)


def _losses(engine: Engine, known: list[Known]) -> npt.NDArray[np.float64]:
    """Of answers that the present model gave by the present calibration."""
    logits = np.array([one.logit for one in known])
    likely = probabilities(engine.calibration, logits)
    likely = expit(logits) if likely is None else likely
    right = np.where([one.positive for one in known], likely, 1 - likely)
    losses: npt.NDArray[np.float64] = -np.log(np.maximum(right, TINY))
    return losses
