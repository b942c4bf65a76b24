"""How much of a split is new: what memory alone cannot know."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from keat.events import EventStream

BLOCK = 1 << 22  # events of the past looked at together


def surprise(stream: EventStream, part: EventStream) -> float:
    """Share of events of ``part``, a slice of ``stream``, that are the first ever of their (src, dst).

    This is what TGB publishes as the surprise index (0.108 on tgbl-wiki's test split).
    """
    pairs = np.unique(_pairs(part))
    known = np.zeros(len(pairs), dtype=np.bool_)
    for past in stream[: part.offset].blocks(BLOCK):  # the past may be far larger than memory
        before = np.unique(_pairs(past))
        place = np.searchsorted(pairs, before)
        place[place == len(pairs)] = 0
        known[place[pairs[place] == before]] = True
    return float(np.count_nonzero(~known) / max(len(part), 1))


def _pairs(events: EventStream) -> npt.NDArray[np.int64]:
    return events.src.astype(np.int64) * events.num_nodes + events.dst
