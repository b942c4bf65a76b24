"""Where sources go on to: all of it while there is room, the strongest where there is not."""

from __future__ import annotations

import numpy as np
import pytest

from keat.cooccurrence import KernelCooccurrence
from keat.cooccurrence.kept_successors import unpacked
from keat.cooccurrence.pair_records import SHELF, SUCCESSORS
from keat.errors import InputError

MOST_SHELVES = SUCCESSORS // SHELF

NEXT = "next after the last destination"


def moves(pairs: list[tuple[int, int]], nodes: int) -> KernelCooccurrence:
    """For each pair a new source that goes from the one to the other."""
    past = KernelCooccurrence(nodes, 20.0, [20.0])
    for number, (here, there) in enumerate(pairs):
        source = np.full(2, nodes + number, dtype=np.int32)
        past.observe(source, np.array([here, there], np.int32), np.array([number, number]))
    return past


def asked(past: KernelCooccurrence, here: int, there: int) -> float:
    """Of one more source, which is at the first."""
    stranger = len(past.tables.nodes)
    past.observe(np.array([stranger], np.int32), np.array([here], np.int32), np.array([10**4]))
    return past.describe(stranger, there, 10**4 + 1)[NEXT]


def test_all_successors_are_there_while_shelves_have_room() -> None:
    past = moves([(0, there) for there in range(1, 30)], 100)
    number = int(past.tables.nodes[0]["number_of_shelves"])
    assert 4 <= number <= MOST_SHELVES
    held = unpacked(past.state())["shelves.node"]
    assert sorted(held[held >= 0].tolist()) == list(range(1, 30))
    assert asked(past, 0, 17) == pytest.approx(1 / 30)


def test_what_others_have_outgrown_is_used_again() -> None:
    """Each of many destinations goes from one shelf to eight; the smaller blocks do not add up."""
    past = moves([(here, 100 + there) for here in range(20) for there in range(60)], 200)
    assert (past.tables.nodes["number_of_shelves"][:20] == MOST_SHELVES).all()
    assert past.tables.free[0] < 20 * MOST_SHELVES + 2 * MOST_SHELVES
    state = unpacked(past.state())
    assert len(state["shelves.node"]) == 20 * MOST_SHELVES
    empty = state["shelves.node"] < 0
    assert all((state[f"shelves.{name}"][empty] == 0).all() for name in ("short", "long", "steps"))


def test_the_strongest_stay_and_totals_are_of_all() -> None:
    """A crowd of 2,000 that come once each does not push out eight that come all the time."""
    rng, often = np.random.default_rng(0), list(range(1, 9))
    crowd = [(0, int(there)) for there in rng.permutation(np.arange(100, 2100))]
    pairs = [pair for one in crowd for pair in (one, (0, int(rng.choice(often))))]
    past = moves(pairs, 2100)
    held = unpacked(past.state())["shelves.node"]
    assert len(held) == MOST_SHELVES
    assert set(often) <= set(held.flatten().tolist())
    told = sum(asked(past, 0, there) for there in often)
    assert told == pytest.approx(2000 / 4001, rel=0.02)
    assert (held >= 0).sum() == MOST_SHELVES * SHELF


def test_what_keeps_coming_gets_in() -> None:
    """Full of what came once, the shelves give way to what comes later and comes often."""
    crowd = [(0, there) for there in range(100, 400)]
    past = moves(crowd + [(0, 5)] * 10, 400)
    assert asked(past, 0, 5) == pytest.approx(10 / 311, rel=0.3)


def test_a_successor_on_another_shelf_is_refused() -> None:
    past = moves([(0, there) for there in range(1, 30)], 100)
    state = unpacked(past.state())
    nodes = state["shelves.node"].clone()
    wrong = next(v for v in range(1, 30) if v not in nodes[0])
    nodes[0, 0] = wrong
    with pytest.raises(InputError, match="on another one's shelf"):
        KernelCooccurrence(100, 20.0, [20.0]).load_state(state | {"shelves.node": nodes})
    fewer = state["nodes.number_of_shelves"].clone()
    fewer[0] = 3
    with pytest.raises(InputError, match="holds no power of 2"):
        KernelCooccurrence(100, 20.0, [20.0]).load_state(state | {"nodes.number_of_shelves": fewer})


def test_more_can_be_followed_and_kept() -> None:
    """As many successors as are asked for, of as many of the latest destinations."""
    few, many = (
        KernelCooccurrence(700, 20.0, [20.0], followed=followed, successors=successors)
        for followed, successors in ((1, 8), (16, 512))
    )
    src, dst = np.zeros(600, np.int32), np.arange(1, 601, dtype=np.int32)
    for past in (few, many):
        past.observe(src, dst, np.arange(600))
        restored = KernelCooccurrence(700, 20.0, [20.0], followed=past.followed, successors=past.successors)
        restored.load_state(past.state())
        assert restored.describe(0, 300, 700) == past.describe(0, 300, 700)
    assert (few.tables.nodes["number_of_shelves"] <= 1).all()
    shelves = many.tables.nodes[1]["shelf"]
    assert set(range(2, 18)) <= set(many.tables.shelves[shelves : shelves + 8]["node"].ravel().tolist())
