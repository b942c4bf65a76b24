"""Base3: whether the pair was seen, whether the destination is popular, and how often both met, as one sum.

No parameters are learned: weights and constants are those of its authors.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import torch

from keat.events import EventStream
from keat.events.units import clock_of
from keat.models.contract import LinkModel, Queries
from keat.ops import Floats, Integers, compiled, frozen
from keat.state import FadingCounts, NodeArray, lengthened, zeros

COUNT, LAST = 0, 1  # columns of `FadingCounts`
REMEMBERED = 0.15  # share of the training events, the last ones, whose pairs count as seen
FADING = 0.95  # of popularity, with each event after the training split
POPULAR = 1000  # so many destinations are
VISITS = 100  # of a source that are looked back on …
VISIBLE = 1e6  # … and for how many seconds
WEIGHTS = (
    np.array(  # of (seen, popular, together), by whether the pair was seen and the destination is popular
        [[[0.20, 0.45, 0.35], [0.15, 0.70, 0.15]], [[0.45, 0.25, 0.30], [0.35, 0.45, 0.20]]]
    )
)

# The first two parts of the sum, and the weight of the third, by 2 E + P.
OF_CASE = np.array([WEIGHTS[e, p, 0] * e + WEIGHTS[e, p, 1] * p for e in (0, 1) for p in (0, 1)])
TOGETHER = WEIGHTS[:, :, 2].ravel()

Ids = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.int64] | npt.NDArray[np.float64]  # of a `NodeArray`


class Base3(LinkModel):
    """With w chosen by E and P (see `WEIGHTS`),

        score = w₁ E + w₂ P + w₃ s/(1 + s)
        E = 1 if (u, v) was met at or after the time of the last 15 % of training events, else 0
        P = 1 if v is among the 1,000 most popular destinations, else 0
        s = Σ_i exp(-(t - t_i)/W) pop(w_i) + c_uv/(1 + c_uv)

    over the last 100 visits (w_i, t_i) of u within W = 10⁶ s; c counts meetings in either direction. pop is a
    count of which every event after the training split leaves 95 %; events of the training split do not fade.
    It is kept as a logarithm, so that it never runs out of range: the order of what was long ago stays.
    """

    name = "base3"

    def __init__(self, train: EventStream) -> None:
        self.counts = FadingCounts(train.num_nodes)
        self.popularity = _Popularity(train.num_nodes)
        place = min(int(len(train) * (1 - REMEMBERED)), len(train) - 1)
        self.seen_from = int(train.t[place]) if len(train) else 0
        self.trained_until = int(train.t[-1]) if len(train) else 0
        self.clock = clock_of(train.unit)
        self.reset()

    def reset(self) -> None:
        self.counts.clear()
        self.popularity.clear()
        self.fadings = 0  # events since the training split
        self.visits = _Visits()

    def observe(self, events: EventStream) -> None:
        self.counts.observe(events)
        self.visits.observe(events)
        late = events.t > self.trained_until
        when = (self.fadings + np.cumsum(late)) * -math.log(FADING)
        self.popularity.add(events.dst, when)
        self.fadings += int(late.sum())

    def score(self, queries: Queries) -> torch.Tensor:
        there, back = self.counts.rows(queries.src, queries.candidates), self._rows_back(queries)  # (B, C)
        seen = (there >= 0) & (self.counts.of_pairs(there, LAST) >= self.seen_from)
        popular = self.popularity.is_high(queries.candidates)
        together = self._together(queries, there, back)
        case = 2 * seen + popular  # (B, C)
        return torch.from_numpy(OF_CASE[case] + TOGETHER[case] * (together / (1 + together)))

    def _rows_back(self, queries: Queries) -> Integers:
        """Rows (B, C) of (candidate, source)."""
        candidates = np.broadcast_to(queries.candidates, queries.shape)
        own = np.repeat(queries.src, queries.shape[1])[:, None]
        return self.counts.rows(candidates.ravel(), own).reshape(queries.shape)

    def _together(self, queries: Queries, there: Integers, back: Integers) -> Floats:
        """s, (B, C)."""
        met = self.counts.of_pairs(there, COUNT) + self.counts.of_pairs(back, COUNT)
        met = np.where(there == back, self.counts.of_pairs(there, COUNT), met)  # a node and itself
        now = self.fadings * -math.log(FADING)
        visible = np.zeros(len(queries.src))
        window = self.clock.ticks(VISIBLE)
        self.visits.sum_up(queries.src, queries.t, self.popularity.logs.values, now, window, visible)
        return visible[:, None] + met / (1.0 + met)


class _Popularity:
    """Logarithms of popularity, and who leads. They only rise, so the leaders are kept up event by event."""

    def __init__(self, num_nodes: int) -> None:
        self.logs = NodeArray(num_nodes, -math.inf, np.float64)
        self.places = NodeArray(num_nodes, -1, np.int64)  # of each node among the leaders
        self.clear()

    def clear(self) -> None:
        self.logs.clear()
        self.places.clear()
        self.leaders = np.empty(POPULAR, dtype=np.int64)
        self.number, self.last = 0, 0  # of leaders, and the place of the least popular of them

    def add(self, nodes: Ids, when: Floats) -> None:
        logs, places = self.logs.writable(nodes), self.places.writable(nodes)
        self.number, self.last = _rise(
            logs, places, self.leaders, self.number, self.last, frozen(nodes), frozen(when)
        )

    def is_high(self, nodes: Ids) -> npt.NDArray[np.bool_]:
        """Whether a node is as popular as the last of the leaders; who never was a destination is not."""
        logs = self.logs.at(nodes)
        least = self.logs.values[self.leaders[self.last]] if self.number == POPULAR else -math.inf
        high: npt.NDArray[np.bool_] = (logs >= least) & (logs > -math.inf)
        return high


class _Visits:
    """The destinations of every source, as chains from the newest to the oldest."""

    def __init__(self) -> None:
        self.length = 0
        self.head = NodeArray(0, -1, np.int64)
        self.dst = zeros((1 << 10,), np.int32)
        self.t, self.previous = (zeros((1 << 10,), np.int64) for _ in range(2))

    def observe(self, events: EventStream) -> None:
        last = self.length + len(events)
        self.dst = lengthened(self.dst, last)
        self.t, self.previous = (lengthened(column, last) for column in (self.t, self.previous))
        self.dst[self.length : last], self.t[self.length : last] = events.dst, events.t
        _chain(self.head.writable(events.src), self.previous, frozen(events.src), self.length)
        self.length = last

    def sum_up(
        self, src: Ids, t: Integers, log_popularity: Numbers, now: float, window: float, sums: Floats
    ) -> None:
        """Σ exp(-age/window) · popularity over the last visits of each source that are in the window."""
        head = self.head.at(src)
        _sum_up(head, self.dst, self.t, self.previous, frozen(t), log_popularity, now, window, sums)


@compiled
def _chain(head: Numbers, previous: Integers, src: Ids, first: int) -> None:
    for i in range(len(src)):
        previous[first + i] = head[src[i]]
        head[src[i]] = first + i


@compiled
def _sum_up(
    head: Numbers,
    dst: Ids,
    happened: Integers,
    previous: Integers,
    t: Integers,
    log_popularity: Numbers,
    now: float,
    window: float,
    sums: Floats,
) -> None:
    for i in range(len(head)):
        visit = head[i]
        for _ in range(VISITS):
            if visit < 0 or t[i] - happened[visit] > window:
                break
            age = (t[i] - happened[visit]) / window
            sums[i] += math.exp(log_popularity[dst[visit]] - now - age)
            visit = previous[visit]


@compiled
def _rise(
    logs: Numbers, places: Numbers, leaders: Integers, number: int, last: int, nodes: Ids, new: Floats
) -> tuple[int, int]:
    """log(e^old + e^new), one after the other; the new is never much smaller. Returns how many lead, and the
    place of the last of them."""
    for i in range(len(nodes)):
        node = nodes[i]
        low, high = min(logs[node], new[i]), max(logs[node], new[i])
        logs[node] = high + math.log1p(math.exp(low - high))
        place = places[node]
        if place < 0 and number < len(leaders):
            leaders[number], places[node] = node, number
            number += 1
            place = last  # whoever is last now has to be found
        elif place < 0 and logs[node] > logs[leaders[last]]:
            places[leaders[last]] = -1
            leaders[last], places[node] = node, last
            place = last
        if place == last:
            for k in range(number):
                if logs[leaders[k]] < logs[leaders[last]]:
                    last = k
    return number, last
