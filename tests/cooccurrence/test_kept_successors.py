"""Successors are kept without empty places, files of before are read, and unsound ones are refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from keat.cooccurrence import KernelCooccurrence
from keat.cooccurrence.kept_successors import TAKEN, packed, unpacked
from keat.errors import InputError


def make_past(events: int = 400) -> KernelCooccurrence:
    rng = np.random.default_rng(0)
    past = KernelCooccurrence(40, 20.0)
    src, dst = rng.integers(0, 40, (2, events)).astype(np.int32)
    past.observe(src, dst, np.arange(events))
    return past


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("events", [0, 1, 400])
def test_nothing_is_lost(events: int) -> None:
    state = make_past(events).state()
    assert same(packed(unpacked(state)), state)
    assert state["shelves.node"].min() >= 0 if events > 1 else len(state["shelves.node"]) == 0
    assert int(state[TAKEN].sum()) == len(state["shelves.node"])


def test_a_file_of_before_is_read() -> None:
    state = make_past().state()
    before = unpacked(state)
    assert before["shelves.node"].shape == (len(state[TAKEN]), 8)
    assert (before["shelves.node"] == -1).any()
    assert TAKEN not in before
    past = KernelCooccurrence(40, 20.0)
    past.load_state(before)
    assert same(past.state(), state)


@pytest.mark.parametrize(
    ("name", "change", "sentence"),
    [
        (TAKEN, lambda taken: taken.clamp(max=1), "tells of"),
        (TAKEN, lambda taken: taken + 9, "must stay below 9"),
        (TAKEN, lambda taken: taken.long(), "is of type int64, not uint8"),
        (TAKEN, lambda taken: taken[:-1], "tells of"),
        ("shelves.node", lambda node: node - 50, "below 0"),
        ("shelves.node", lambda node: node + 40, "must stay below 40"),
        ("shelves.node", lambda node: node[1:], "has the shape"),
        ("shelves.long", lambda long: long.double(), "is of type float64"),
        ("shelves.long", lambda long: -long, "below zero"),
        ("shelves.steps", lambda steps: steps * torch.inf, "not finite"),
    ],
)
def test_what_does_not_fit_is_refused(name: str, change: object, sentence: str) -> None:
    assert callable(change)
    state = make_past().state()
    with pytest.raises(InputError, match=sentence):
        make_past().load_state(state | {name: change(state[name])})


def test_a_field_that_is_missing_is_named() -> None:
    state = make_past().state()
    del state["shelves.short"]
    with pytest.raises(InputError, match=r"'shelves\.short' is missing"):
        make_past().load_state(state)
