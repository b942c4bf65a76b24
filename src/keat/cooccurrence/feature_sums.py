"""What events said: fading sums of their features, of every source, every destination and every pair.

    S_m(t) = Σ_i f_i exp(-(t - t_i)/σ_m),    W_m(t) = Σ_i exp(-(t - t_i)/σ_m)

over the events of before t. They are kept as of the last event of each, and faded when they are read: exact,
and an event costs the same however many there were before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from keat.clock import PLAIN, Clock
from keat.cooccurrence.pair_records import Array, faded
from keat.ops import compiled, frozen
from keat.state import Expected, PairTable, check_state, check_that, lengthened, whole, zeros

OF_SOURCE = ("of the source",)
OF_PAIR = ("of the pair", "of the pair the other way round", "to the candidate")

Ids = npt.NDArray[np.int32]
Times = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Said:
    """Sums of each feature, then of the weights, for each of M widths, of B questions of C candidates."""

    source: Tensor  # (B, len(OF_SOURCE), d + 1, M)
    pair: Tensor  # (B, C, len(OF_PAIR), d + 1, M)

    def to(self, device: torch.device) -> Said:
        return Said(self.source.to(device), self.pair.to(device))


class FeatureSums:
    """A row of M (d + 1) numbers for each end of a node, as a source and as a destination, and for each pair
    that has met."""

    def __init__(
        self, num_nodes: int, widths: npt.NDArray[np.float64], features: int, clock: Clock = PLAIN
    ) -> None:
        """``widths`` are in the unit of the clock; times are in ticks."""
        self.num_nodes, self.features, self.clock = num_nodes, features, clock
        self._rates = 1.0 / widths
        self.clear()

    def clear(self) -> None:
        """Forget every event."""
        shape = (self.features + 1, len(self._rates))
        self._ends = zeros((2 * self.num_nodes, *shape), np.float32)
        self._pairs = zeros((0, *shape), np.float32)
        self._last_of_ends, self._last_of_pairs = (
            zeros((len(s),), np.int64) for s in (self._ends, self._pairs)
        )
        self._rows, self._keys = PairTable(), zeros((0,), np.int64)

    def observe(self, src: Ids, dst: Ids, t: Times, features: Floats) -> None:
        """Consecutive events, never older than those before."""
        nobody = np.empty(0, np.int32)
        self.read_in_turn(nobody, np.empty(0, np.int64), np.empty((0, 1), np.int32), src, dst, t, features)

    def read(self, src: Ids, t: Times, candidates: Ids) -> Said:
        """Of candidates (C,) or (B, C) of sources (B,) at times (B,). Changes nothing."""
        nobody, never = np.empty(0, np.int32), np.empty(0, np.int64)
        nothing = np.empty((0, self.features), np.float32)
        return self.read_in_turn(src, t, candidates, nobody, nobody, never, nothing)

    def read_in_turn(
        self,
        src: Ids,
        t: Times,
        candidates: Ids,
        event_src: Ids,
        event_dst: Ids,
        event_t: Times,
        features: Floats,
    ) -> Said:
        """The same, each question with the events observed that are strictly earlier; then all events are.
        Times do not fall."""
        asked = (len(src), candidates.shape[-1])
        candidates = np.broadcast_to(candidates, asked)
        self._make_room(event_src, event_dst)
        times = (event_t * self.clock.multiply, t * self.clock.multiply)
        ends = np.concatenate(
            (2 * src[:, None].astype(np.int64), 2 * candidates.astype(np.int64) + 1), axis=1
        )
        of_ends = self._in_turn(
            self._ends,
            self._last_of_ends,
            np.stack((2 * event_src.astype(np.int64), 2 * event_dst.astype(np.int64) + 1), axis=1),
            np.where(ends < len(self._ends), ends, -1),
            *times,
            features,
        )
        back = self._rows.get(candidates.ravel(), np.repeat(src, asked[1])[:, None], -1).reshape(asked)
        of_pairs = self._in_turn(
            self._pairs,
            self._last_of_pairs,
            self._rows.get(event_src, event_dst[:, None], -1),
            np.concatenate((self._rows.get(src, candidates, -1), back), axis=1),
            *times,
            features,
        )
        there, here = np.split(of_pairs, 2, axis=1)
        pair = np.stack((there, here, of_ends[:, 1:]), axis=2)
        return Said(torch.from_numpy(of_ends[:, :1]), torch.from_numpy(pair))

    def _in_turn(
        self,
        sums: Array,
        last: Array,
        event_rows: Rows,
        asked_rows: Rows,
        event_t: Times,
        t: Times,
        features: Floats,
    ) -> Floats:
        out = np.empty((*asked_rows.shape, *sums.shape[1:]), dtype=np.float32)
        events = frozen(event_rows), frozen(event_t), frozen(features)
        _in_turn(
            sums, last, self._rates, float(self.clock.divide), *events, frozen(asked_rows), frozen(t), out
        )
        return out

    def _make_room(self, src: Ids, dst: Ids) -> None:
        """For the nodes and the new pairs of events; a pair's row follows from when it first met."""
        nodes = 1 + max(int(src.max(initial=-1)), int(dst.max(initial=-1)))
        self._ends = lengthened(self._ends, 2 * nodes)
        self._last_of_ends = lengthened(self._last_of_ends, len(self._ends))
        new = self._rows.get(src, dst[:, None], -1)[:, 0] < 0
        keys, first = np.unique((src[new].astype(np.int64) << 32) | dst[new], return_index=True)
        keys = keys[np.argsort(first)]
        if len(keys) == 0:
            return
        known = len(self._rows)
        every = known + len(keys)
        self._rows.put(*_ends_of(keys), np.arange(known, every))
        self._pairs, self._last_of_pairs, self._keys = (
            lengthened(array, every) for array in (self._pairs, self._last_of_pairs, self._keys)
        )
        self._keys[known:every] = keys

    # -- as it is kept ---------------------------------------------------------------------------------

    def state(self) -> dict[str, Tensor]:
        """Of nodes beyond ``num_nodes`` there are rows up to the last that has had an event."""
        happened = np.flatnonzero(self._ends[2 * self.num_nodes :, -1, -1])
        ends, pairs = 2 * self.num_nodes + 1 + happened.max(initial=-1), len(self._rows)
        arrays = {
            "ends.sums": self._ends[:ends],
            "ends.last": self._last_of_ends[:ends],
            "pairs.sums": self._pairs[:pairs],
            "pairs.last": self._last_of_pairs[:pairs],
            "pairs.key": self._keys[:pairs],
        }
        return {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        shape = (self.features + 1, len(self._rates))
        expected = {"pairs.key": whole("pairs", lowest=0)}
        for each in ("ends", "pairs"):
            expected |= {
                f"{each}.sums": Expected(torch.float32, (each, *shape)),
                f"{each}.last": whole(each),
            }
        check_state(state, expected)
        arrays = {name: value.cpu().numpy().copy() for name, value in state.items()}
        for each in ("ends", "pairs"):
            check_that(state[f"{each}.sums"][:, -1] >= 0, f"'{each}.sums' holds a weight below zero")
        keys, rows = arrays["pairs.key"], PairTable()
        known = 2 * np.maximum(keys >> 32, keys & 0xFFFFFFFF) < len(arrays["ends.last"])
        check_that(bool(known.all()), "'pairs.key' names a node that is not there")
        rows.put(*_ends_of(keys), np.arange(len(keys)))
        check_that(len(rows) == len(keys), "'pairs.key' has the same pair twice")
        self._rows, self._keys = rows, keys
        self._ends, self._last_of_ends = arrays["ends.sums"], arrays["ends.last"]
        self._pairs, self._last_of_pairs = arrays["pairs.sums"], arrays["pairs.last"]


def _ends_of(keys: Rows) -> tuple[Ids, Ids]:
    return (keys >> 32).astype(np.int32), (keys & 0xFFFFFFFF).astype(np.int32)


@compiled
def _in_turn(
    sums: Array,
    last: Array,
    rates: Array,
    ticks: float,
    event_rows: Array,
    event_t: Array,
    features: Array,
    asked_rows: Array,
    t: Array,
    out: Array,
) -> None:
    """Events and questions in the order of time. Row -1 is of what has never had an event."""
    weights, event = sums.shape[1] - 1, 0
    for i in range(len(t) + 1):
        while event < len(event_t) and (i == len(t) or event_t[event] < t[i]):
            for k in range(event_rows.shape[1]):
                row = event_rows[event, k]
                age = (event_t[event] - last[row]) / ticks
                for m in range(len(rates)):
                    left = faded(age * rates[m]) if sums[row, weights, -1] > 0 else np.float32(0.0)
                    for f in range(weights):
                        sums[row, f, m] = sums[row, f, m] * left + features[event, f]
                    sums[row, weights, m] = sums[row, weights, m] * left + np.float32(1.0)
                last[row] = event_t[event]
            event += 1
        if i == len(t):
            break
        for j in range(asked_rows.shape[1]):
            row = asked_rows[i, j]
            if row < 0 or sums[row, weights, -1] == 0:
                out[i, j] = 0.0
                continue
            age = (t[i] - last[row]) / ticks
            for m in range(len(rates)):
                left = faded(age * rates[m])
                for f in range(weights + 1):
                    out[i, j, f, m] = sums[row, f, m] * left
