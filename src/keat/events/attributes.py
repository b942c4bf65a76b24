"""An attribute of events: what kind it is, and what is known of it in the events that were observed.

`keat.tasks.attribute_source` prepares such a stream: its labels are the attribute, and its features end in
what is known of it, so that models and heuristics read the same.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from keat.errors import InputError
from keat.events.stream import EventStream

AttributeKind = Literal["binary", "class", "value"]
KINDS: dict[str, AttributeKind] = {"int8": "binary", "int32": "class", "float64": "value"}
Floats = npt.NDArray[np.float64]


def attribute_kind(events: EventStream) -> AttributeKind:
    """What kind of attribute the labels of events are."""
    if events.labels is None or events.labels.dtype.name not in KINDS:
        raise InputError(f"{events.name} has no attribute to predict; name its column (target).")
    return KINDS[events.labels.dtype.name]


def outputs_of(events: EventStream) -> int:
    """How many numbers an answer has: one, or one for each class."""
    return events.label_classes if attribute_kind(events) == "class" else 1


def is_asked(events: EventStream) -> npt.NDArray[np.bool_]:
    """Which rows have the attribute; reports of earlier events do not."""
    assert events.labels is not None
    known = ~np.isnan(events.labels) if events.labels.dtype.kind == "f" else events.labels >= 0
    return np.asarray(known, dtype=np.bool_)


def known_evidence(events: EventStream) -> tuple[npt.NDArray[np.bool_], Floats]:
    """Of rows: whether the attribute was known then, and what it was (n, K); a value in its usual sizes."""
    features = events.features[:, -1 - outputs_of(events) :].astype(np.float64)
    return features[:, 0] > 0, features[:, 1:]


def center_and_size(values: Floats) -> tuple[float, float]:
    """The median, and the mean distance from it, of those that are known."""
    known = values[np.isfinite(values)]
    center = float(np.median(known)) if len(known) else 0.0
    return center, max(float(np.mean(np.abs(known - center))) if len(known) else 0.0, 1e-12)
