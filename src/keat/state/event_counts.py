"""How often and how recently: plain counts of nodes and pairs, kept as events pass."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from keat.clock import PLAIN, Clock
from keat.events import EventStream
from keat.state.checking import Expected, check_state, check_that, whole
from keat.state.node_array import NodeArray
from keat.state.pair_table import PairTable

Ids = npt.NDArray[np.integer]
Times = npt.NDArray[np.int64]
_UNKNOWN = np.iinfo(np.int64).max  # a row that no tally has
_COLUMNS = ("count", "first", "last")


class _Tally:
    """Number, first and last time of what has a row."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.columns = {name: NodeArray(0, 0, np.int64) for name in _COLUMNS}

    def add(self, rows: Ids, t: Times) -> None:
        """Rows may repeat; they are in the order of time."""
        count, first, last = (self.columns[name].writable(rows) for name in _COLUMNS)
        distinct, begin, number = np.unique(rows, return_index=True, return_counts=True)
        first[distinct] = np.where(count[distinct] > 0, first[distinct], t[begin])
        count[distinct] += number
        last[rows] = t  # the latest stays

    def describe(self, rows: Ids, t: Times) -> npt.NDArray[np.float64]:
        """(n, 4): whether it is new, log(1 + count), log(1 + age) of the last and of the first time."""
        count, first, last = (self.columns[name].at(rows) for name in _COLUMNS)
        new = count == 0
        ages = [np.log1p(self.clock.measure(np.where(new, 0, t - since))) for since in (last, first)]
        return np.stack((new, np.log1p(count), *ages), axis=1).astype(np.float64)


class EventCounts:
    """Counts and recencies of sources, destinations and pairs."""

    WIDTH = 12

    def __init__(self, clock: Clock = PLAIN) -> None:
        self.clock = clock
        self.clear()

    def clear(self) -> None:
        self.nodes, self.pairs, self.row_of_pair = _Tally(self.clock), _Tally(self.clock), PairTable()
        self.ends = [NodeArray(0, 0, np.int32) for _ in range(2)]  # of each pair, by row

    def observe(self, events: EventStream) -> None:
        ends = np.stack((events.src, events.dst), axis=1)
        self.nodes.add(ends.ravel(), np.repeat(events.t, 2))
        new = self._rows(events.src, events.dst) == _UNKNOWN
        fresh = np.unique(ends[new], axis=0)
        rows = len(self.row_of_pair) + np.arange(len(fresh))
        self.row_of_pair.put(fresh[:, 0], fresh[:, 1], rows)
        for array, end in zip(self.ends, fresh.T, strict=True):
            array.writable(rows)[rows] = end
        self.pairs.add(self._rows(events.src, events.dst), events.t)

    def describe(
        self, src: npt.NDArray[np.int32], dst: npt.NDArray[np.int32], t: Times
    ) -> npt.NDArray[np.float64]:
        """(n, 12): four numbers each of the source, the destination and the pair, as of time t."""
        pair = self.pairs.describe(self._rows(src, dst), t)
        return np.concatenate((self.nodes.describe(src, t), self.nodes.describe(dst, t), pair), axis=1)

    def _rows(self, src: npt.NDArray[np.int32], dst: npt.NDArray[np.int32]) -> Times:
        return self.row_of_pair.get(src, dst[:, None], _UNKNOWN)[:, 0]

    def save(self) -> dict[str, Tensor]:
        return {name: torch.from_numpy(array.values.copy()) for name, array in self._arrays().items()} | {
            "known": torch.tensor(len(self.row_of_pair))
        }

    def load(self, state: dict[str, Tensor]) -> None:
        check_state(state, _expected())
        known = int(state["known"])
        check_that(known <= len(state["pairs.count"]), f"'known' is {known}, more pairs than there are")
        for what in ("nodes", "pairs"):
            in_turn = state[f"{what}.first"] <= state[f"{what}.last"]
            check_that(in_turn | (state[f"{what}.count"] == 0), f"'{what}.first' is after '{what}.last'")
        self.clear()
        for name, array in self._arrays().items():
            array.values = state[name].cpu().numpy().copy()
        src, dst = (array.values[:known] for array in self.ends)
        self.row_of_pair.put(src, dst, np.arange(known))
        check_that(len(self.row_of_pair) == known, "the same pair is there twice")

    def _arrays(self) -> dict[str, NodeArray]:
        tallies = {"nodes": self.nodes, "pairs": self.pairs}
        columns = {
            f"{what}.{name}": array for what, of in tallies.items() for name, array in of.columns.items()
        }
        return columns | {"pairs.src": self.ends[0], "pairs.dst": self.ends[1]}


def _expected() -> dict[str, Expected]:
    """What a kept state has to be."""
    columns = {
        f"{what}.{name}": whole(what, lowest=0 if name == "count" else None)
        for what in ("nodes", "pairs")
        for name in _COLUMNS
    }
    ends = {f"pairs.{end}": Expected(torch.int32, ("pairs",), 0, "nodes") for end in ("src", "dst")}
    return columns | ends | {"known": whole(lowest=0)}
