"""The chronological split of TGB: train up to the 70 % quantile of event times, test after the 85 %."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from keat.errors import InputError
from keat.events.occurring import distinct_times
from keat.events.stream import EventStream

HELD_OUT = (0.15, 0.15)  # of all events, for validation and test


class Splits(NamedTuple):
    """Three views of one stream, in time order."""

    train: EventStream
    val: EventStream
    test: EventStream

    @property
    def sizes(self) -> dict[str, int]:
        return {name: len(part) for name, part in zip(self._fields, self, strict=True)}


def split(stream: EventStream, val: float = HELD_OUT[0], test: float = HELD_OUT[1]) -> Splits:
    """Split at quantiles of the event times, as TGB does.

    An event belongs to train if t ≤ q₁, to val if q₁ < t ≤ q₂, to test otherwise. Events of equal
    time therefore always fall into the same part, and coarse clocks do not give exactly 70/15/15. Where that
    would leave a part empty, it gets one time.
    """
    if not (val > 0 and test > 0 and val + test < 1):
        raise InputError(f"Split shares must be positive and leave room for training, not {val} and {test}.")
    train_end = _count_up_to_quantile(stream, 1 - val - test)
    val_end = _count_up_to_quantile(stream, 1 - test)
    if val_end == len(stream):
        val_end = _start_of_last_time(stream, val_end)
    if train_end >= val_end:
        train_end = _start_of_last_time(stream, val_end)
    parts = Splits(stream[:train_end], stream[train_end:val_end], stream[val_end:])
    if min(parts.sizes.values()) == 0:
        raise InputError(
            f"{stream.name} is too short to split: its {len(stream)} events have "
            f"{distinct_times(stream.t)} distinct times, and training, validation and test need one each; "
            "bring more events or a finer clock."
        )
    return parts


def _start_of_last_time(stream: EventStream, stop: int) -> int:
    """Where the last of the times before event ``stop`` begins."""
    return int(np.searchsorted(stream.t, stream.t[stop - 1])) if stop else 0


def _count_up_to_quantile(stream: EventStream, q: float) -> int:
    """How many events have t ≤ the q-quantile; on a sorted column that takes two look-ups."""
    if len(stream) == 0:
        return 0
    position = q * (len(stream) - 1)
    below = int(position)
    low, high = (int(stream.t[row]) for row in (below, min(below + 1, len(stream) - 1)))
    # Only the step between two events is ever a float64: months of nanoseconds do not fit one.
    quantile = low + int((high - low) * (position - below))
    return int(np.searchsorted(stream.t, quantile, side="right"))
