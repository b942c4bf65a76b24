"""Link heuristics: no parameters, a few lines each, and hard to beat. They stand beside every model.

Each costs O(1) an event and is vectorized over candidates. Their state depends only on the events
observed, never on how the stream was cut into blocks.
"""

from __future__ import annotations

import numpy as np
import torch

from keat.events import EventStream
from keat.models.contract import LinkModel, Queries
from keat.models.popularity import DecayedCounts, WindowedCounts, tune_decay, tune_window
from keat.state import FadingCounts, NodeArray, PairTable

NEVER = -1
COUNT, MOMENT = 0, 2  # columns of `FadingCounts`
MOST = 1 << 22  # a count in a lexicographic score; a moment above it then still fits in float64's 53 bits


class EdgeBank(LinkModel):
    """EdgeBank∞: 1 if the pair was ever seen, else 0."""

    name = "edgebank"

    def __init__(self, train: EventStream) -> None:  # noqa: ARG002  (every model is built from the training split)
        self.last_time = PairTable()
        self.reset()

    def reset(self) -> None:
        self.last_time.clear()

    def observe(self, events: EventStream) -> None:
        self.last_time.put(events.src, events.dst, events.t)

    def score(self, queries: Queries) -> torch.Tensor:
        seen = self.last_time.get(queries.src, queries.candidates, missing=NEVER)
        return torch.from_numpy(seen >= self.oldest_remembered()).float()

    def oldest_remembered(self) -> int:
        return 0


class EdgeBankWindow(EdgeBank):
    """EdgeBank-tw: 1 if the pair was seen within a window ending at the latest event observed.

    The window is 15 % of the training split's time span, as in TGB.
    """

    name = "edgebank-tw"

    def __init__(self, train: EventStream) -> None:
        self.window = 0.15 * train.span
        super().__init__(train)

    def reset(self) -> None:
        super().reset()
        self.now = 0

    def observe(self, events: EventStream) -> None:
        super().observe(events)
        if len(events):
            self.now = int(events.t[-1])

    def oldest_remembered(self) -> int:
        return max(0, self.now - int(self.window))  # t ≥ now - window, in whole numbers


class GlobalRecency(LinkModel):
    """Destinations in the order of their last event, latest first, whoever it was with."""

    name = "global-recency"

    def __init__(self, train: EventStream) -> None:
        self.last_event = NodeArray(train.num_nodes, NEVER, np.int64)
        self.reset()

    def reset(self) -> None:
        self.last_event.clear()
        self.observed = 0

    def observe(self, events: EventStream) -> None:
        numbers = self.observed + np.arange(len(events))
        # The event's number, not its time, so that events of equal time keep an order. With repeated
        # indices the last assignment wins.
        self.last_event.writable(events.dst)[events.dst] = numbers
        self.observed += len(events)

    def score(self, queries: Queries) -> torch.Tensor:
        latest = torch.from_numpy(self.last_event.at(queries.candidates)).double()
        return latest.expand(queries.shape)


class LocalGlobalRecency(GlobalRecency):
    """Destinations this source has met, latest first; then all others, latest first."""

    name = "local-global"

    def __init__(self, train: EventStream) -> None:
        self.last_meeting = PairTable()
        super().__init__(train)

    def reset(self) -> None:
        super().reset()
        self.last_meeting.clear()

    def observe(self, events: EventStream) -> None:
        self.last_meeting.put(events.src, events.dst, self.observed + np.arange(len(events)))
        super().observe(events)

    def score(self, queries: Queries) -> torch.Tensor:
        met = torch.from_numpy(self.last_meeting.get(queries.src, queries.candidates, missing=NEVER))
        # Event numbers stay below 2⁴⁰, so one sum in float64 holds both orders exactly.
        return torch.where(met >= 0, met.double() + 2.0**40, super().score(queries))


class LocalRecencyPopularity(LinkModel):
    """Destinations this source has met, by the time of the last meeting, latest first; those met last at the
    same time, by how often. All others are tied.

    Two orders in one number, exactly: moment · 2²² + count, where the moment numbers distinct times. Counts
    of four million and more are tied.
    """

    name = "local-recency-popularity"

    def __init__(self, train: EventStream) -> None:
        self.counts = FadingCounts(train.num_nodes)

    def reset(self) -> None:
        self.counts.clear()

    def observe(self, events: EventStream) -> None:
        self.counts.observe(events)

    def score(self, queries: Queries) -> torch.Tensor:
        rows = self.counts.rows(queries.src, queries.candidates)
        count = np.minimum(self.counts.of_pairs(rows, COUNT), MOST - 1)
        return torch.from_numpy(self.counts.of_pairs(rows, MOMENT) * float(MOST) + count)


class WindowedPopularity(LinkModel):
    """Destinations by how often they were met within a window that ends at the latest event observed. Its
    length is chosen on the last part of the training split, as PopTrack's γ is."""

    name = "windowed-popularity"

    def __init__(self, train: EventStream) -> None:
        self.counts = WindowedCounts(train.num_nodes, tune_window(train))

    def reset(self) -> None:
        self.counts.clear()

    def observe(self, events: EventStream) -> None:
        self.counts.observe(events)

    def score(self, queries: Queries) -> torch.Tensor:
        return torch.from_numpy(self.counts.at(queries.candidates)).expand(queries.shape)


class PopTrack(LinkModel):
    """Recently popular destinations: a count that fades by γ every 200 events.

    PopTrack fades once a batch; here the decay is spread over the events, γ^(1/200) each, so that the
    score does not depend on where batches begin. γ is chosen on the last part of the training split.
    """

    name = "poptrack"

    def __init__(self, train: EventStream) -> None:
        self.gamma = tune_decay(train)
        self.counts = DecayedCounts(train.num_nodes, self.gamma)

    def reset(self) -> None:
        self.counts.clear()

    def observe(self, events: EventStream) -> None:
        self.counts.add(events.dst)

    def score(self, queries: Queries) -> torch.Tensor:
        return torch.from_numpy(self.counts.at(queries.candidates)).expand(queries.shape)
