"""Successors as they are kept in files: those that there are, without the places on shelves that are empty.

In memory a shelf has eight places, filled from the front. What is kept is how many of them are taken, a byte
for each shelf, and what is in these. Older files have all eight.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from keat.cooccurrence.pair_records import EMPTY, SHELF, shelf_record
from keat.state import Expected, check_state, check_that

TAKEN = "shelves.taken"
_FIELDS = {name: f"shelves.{name}" for name in shelf_record().fields or ()}


def packed(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Without empty places."""
    taken = state[_FIELDS["node"]] >= 0
    held = {name: value[taken] if name in _FIELDS.values() else value for name, value in state.items()}
    return held | {TAKEN: taken.sum(dim=1, dtype=torch.uint8)}


def unpacked(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """With all eight places of every shelf."""
    if TAKEN not in state:
        return dict(state)
    kept = {name: state[name] for name in (TAKEN, *_FIELDS.values()) if name in state}
    lengths = check_state(kept, _expected())
    taken = torch.arange(SHELF) < state[TAKEN].cpu()[:, None]
    told, held = int(taken.sum()), lengths["successors"]
    check_that(told == held, f"'{TAKEN}' tells of {told} successors, and there are {held}")
    places = {name: value for name, value in state.items() if name != TAKEN}
    for field, name in _FIELDS.items():
        places[name] = torch.full(taken.shape, EMPTY.get(field, 0), dtype=state[name].dtype)
        places[name][taken] = state[name].cpu()
    return places


def _expected() -> dict[str, Expected]:
    """Nodes are looked at once they are on their shelves."""
    fields = {name: Expected(torch.float32, ("successors",)) for name in _FIELDS.values()}
    node = {_FIELDS["node"]: Expected(torch.int32, ("successors",), lowest=0)}
    return {TAKEN: Expected(torch.uint8, ("shelves",), 0, SHELF + 1)} | fields | node
