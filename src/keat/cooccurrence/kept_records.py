"""What a kept co-occurrence must look like before loops that do not look are let loose on it."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from keat.cooccurrence.pair_records import EVENTS, IN, NONE, NOW, OUT, PAIRS, Tables
from keat.state.checking import Expected, check_state, check_that, whole

# The lowest value of a field and what it stays below; the others are any whole number, or finite.
_RANGES: dict[str, tuple[int, int | str | None]] = {
    "pairs.key": (0, None),
    "pairs.gap": (NONE, None),
    "pairs.count": (1, None),
    "pairs.next": (NONE, "nodes"),
    "pairs.number": (0, None),
    "nodes.count": (0, None),
    "nodes.distinct": (0, None),
    "nodes.partner": (NONE, "nodes"),
    "nodes.number": (0, None),
    "nodes.successor": (NONE, "nodes"),
    "nodes.last_pair": (NONE, "pairs"),
    "nodes.ring": (NONE, "nodes"),
}
_FRACTIONS = ("sums", "weights", "habits")  # never below zero


def check_kept(state: Mapping[str, Tensor], tables: Tables) -> None:
    """Whether a state is of tables like these, with all that is looked up in it there to be found."""
    lengths = check_state(state, _expected(tables))
    nodes, pairs = lengths["nodes"], lengths["pairs"]
    clock = state["clock"]
    check_that(int(clock[PAIRS]) == pairs, f"'clock' has {int(clock[PAIRS])} pairs, and there are {pairs}")
    check_that(int(clock[EVENTS]) >= pairs, "'clock' tells of fewer events than pairs")
    for name, value in state.items():
        if name.endswith(_FRACTIONS):
            check_that(value >= 0, f"'{name}' holds a number below zero")
    ends = {OUT: state["pairs.key"] >> 32, IN: state["pairs.key"] & 0xFFFFFFFF}
    for role, end in ends.items():
        check_that(end < nodes, "'pairs.key' names a node that is not there")
        events = state["nodes.count"][end, role]
        check_that(state["pairs.number"][:, role] <= events, "'pairs.number' is ahead of 'nodes.count'")
    happened = {
        "pairs.last": state["pairs.count"] > 0,
        "nodes.last": state["nodes.count"] > 0,
        "nodes.ring_time": state["nodes.ring"] >= 0,
    }
    for name, known in happened.items():
        check_that(~((state[name] > clock[NOW]) & known), f"'{name}' is later than the last event")
    met, placed = state["nodes.partner"][:, OUT] != NONE, state["nodes.last_pair"] != NONE
    check_that(met == placed, "'nodes.last_pair' and 'nodes.partner' do not agree")


def _expected(tables: Tables) -> dict[str, Expected]:
    """The fields of the records, as they are kept."""
    fields = {"clock": whole(3)}
    for name, records in (("pairs", tables.pairs), ("nodes", tables.nodes)):
        for field in records.dtype.names or ():
            values = records[field]
            dtype = torch.from_numpy(values[:0].copy()).dtype
            lowest, below = _RANGES.get(f"{name}.{field}", (None, None))
            fields[f"{name}.{field}"] = Expected(dtype, (name, *values.shape[1:]), lowest, below)
    return fields
