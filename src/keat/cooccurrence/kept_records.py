"""A co-occurrence as it is kept in files, and what it must look like before loops that do not look are let
loose on it.

The shelves of successors are kept one destination after the other (`kept_successors`); where they were in
memory is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from keat.cooccurrence.kept_successors import packed, unpacked
from keat.cooccurrence.pair_records import (
    BUDGET,
    EVENTS,
    IN,
    MOST,
    NONE,
    NOW,
    OUT,
    PAIRS,
    SECOND_EDITION,
    Array,
    Tables,
    empty_records,
    indexed,
    nodes_to_keep,
    nothing_free,
)
from keat.cooccurrence.successors import in_place
from keat.state import Expected, check_state, check_that, whole

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
    "pairs.unanswered": (0, None),
    "nodes.run": (0, None),
    "nodes.runs": (0, None),
    "nodes.number_of_shelves": (0, None),
    "shelves.node": (NONE, "nodes"),
    "noted.message": (1, None),
    "noted.before": (NONE, "nodes"),
    "noted.messages": (0, None),
    "noted.size": (0, None),
    "senders.messages": (0, None),
    "senders.size": (0, None),
    "senders.reached": (NONE, "nodes"),
}
# Records of which there are as many as of others.
_ROWS = {"noted": "pairs", "senders": "nodes"}
# Fractions that are never below zero.
_FRACTIONS = (
    *("sums", "weights", "habits", "between", "log_gaps", "usual_run"),
    *("gone_on", "short", "long", "steps", "fresh", "usual_size"),
)


def kept(tables: Tables, num_nodes: int) -> dict[str, Tensor]:
    """Everything remembered, field by field; the hash table is made anew from the pairs. Of nodes beyond
    ``num_nodes`` there are records up to the last that has had an event, however much room there is."""
    arrays = {"clock": tables.clock.copy()}
    if tables.budget[BUDGET]:
        arrays["budget"] = tables.budget[MOST:].copy()
    number = nodes_to_keep(tables.nodes, num_nodes)
    used = tables._replace(nodes=tables.nodes[:number], senders=tables.senders[:number])
    for name, records in _records(used).items():
        arrays |= {f"{name}.{field}": records[field].copy() for field in _fields(tables, name)}
    state = {name: torch.from_numpy(array) for name, array in arrays.items()}
    return packed(state) if tables.edition > 1 else state


def restored(state: Mapping[str, Tensor], tables: Tables) -> Tables:
    """Tables like these that hold a state."""
    state = unpacked(state)
    _check(state, tables)
    records: dict[str, Any] = {}
    for name, like in _records(tables).items():
        fields = _fields(tables, name)
        records[name] = empty_records(len(state[f"{name}.{fields[0]}"]), like.dtype)
        for field in fields:
            records[name][field] = state[f"{name}.{field}"].cpu().numpy()
    pairs, free = records["pairs"], nothing_free(tables.most_shelves)
    if tables.edition > 1:
        nodes, shelves = records["nodes"], records["shelves"]
        nodes["shelf"] = _first_shelves(nodes["number_of_shelves"])
        free[0] = len(shelves)
        check_that(in_place(nodes, shelves), "'shelves.node' holds a node on another one's shelf")
    budget = tables.budget.copy()
    if budget[BUDGET]:
        budget[MOST:] = state["budget"].cpu().numpy()
    tables = tables._replace(clock=state["clock"].cpu().numpy().copy(), budget=budget, free=free, **records)
    tables = indexed(tables)
    found = int(np.count_nonzero(tables.places))
    check_that(found == len(pairs), "'pairs.key' has the same pair twice")
    return tables


def _records(tables: Tables) -> dict[str, Array]:
    """Records that are in use, in the order in which they are kept."""
    records = {"pairs": tables.pairs[: tables.clock[PAIRS]], "nodes": tables.nodes}
    if tables.edition == 1:
        return records
    number = tables.nodes["number_of_shelves"]
    places = np.arange(number.sum()) + np.repeat(tables.nodes["shelf"] - _first_shelves(number), number)
    records["shelves"] = tables.shelves[places]
    if tables.edition > 2:
        records |= {"noted": tables.noted[: tables.clock[PAIRS]], "senders": tables.senders}
    return records


def _first_shelves(number: Array) -> Array:
    """Where the shelves of each node begin when they are kept one node after the other."""
    return np.cumsum(number) - number


def _fields(tables: Tables, name: str) -> list[str]:
    """The fields of a record that a model of this edition keeps."""
    left_out = ("shelf",) if tables.edition > 1 else SECOND_EDITION[name]
    return [field for field in getattr(tables, name).dtype.names if field not in left_out]


def _check(state: Mapping[str, Tensor], tables: Tables) -> None:
    """Whether a state is of tables like these, with all that is looked up in it there to be found."""
    lengths = check_state(state, _expected(tables))
    nodes, pairs = lengths["nodes"], lengths["pairs"]
    clock = state["clock"]
    check_that(int(clock[PAIRS]) == pairs, f"'clock' has {int(clock[PAIRS])} pairs, and there are {pairs}")
    check_that(int(clock[EVENTS]) >= pairs, "'clock' tells of fewer events than pairs")
    if tables.budget[BUDGET]:
        most, _, dropped, unfaded = state["budget"].tolist()
        check_that(pairs <= most, "'budget' has other pairs than there are")
        check_that(0 <= unfaded <= dropped, "'budget' tells of fewer dropped pairs than none")
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
    if tables.edition > 1:
        _check_shelves(state["nodes.number_of_shelves"], lengths["shelves"], tables.most_shelves)
        late = state["nodes.fresh_time"] > clock[NOW].clamp(min=0)  # 0 where nobody came
        check_that(~late, "'nodes.fresh_time' is later than the last event")
    if tables.edition > 2:
        ahead = state["noted.message"] > state["senders.messages"][ends[OUT]]
        check_that(~ahead, "'noted.message' is ahead of 'senders.messages'")


def _check_shelves(number: Tensor, shelves: int, most: int) -> None:
    check_that(number <= most, f"'nodes.number_of_shelves' holds more than {most}")
    check_that((number & (number - 1)) == 0, "'nodes.number_of_shelves' holds no power of 2")
    held = int(number.sum())
    check_that(held == shelves, f"'nodes.number_of_shelves' tells of {held}, and there are {shelves}")


def _expected(tables: Tables) -> dict[str, Expected]:
    """The fields of the records, as they are kept."""
    expected = {"clock": whole(3)} | ({"budget": whole(4)} if tables.budget[BUDGET] else {})
    for name, records in _records(tables).items():
        for field in _fields(tables, name):
            values = records[field]
            dtype = torch.from_numpy(values[:0].copy()).dtype
            lowest, below = _RANGES.get(f"{name}.{field}", (None, None))
            rows = _ROWS.get(name, name)
            expected[f"{name}.{field}"] = Expected(dtype, (rows, *values.shape[1:]), lowest, below)
    return expected
