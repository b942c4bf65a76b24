"""Neighbours by the last events, and what two nodes have in common, against sets."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from conftest import MakeStream
from keat.events import EventStream
from keat.models.tgn_memory import MemoryUpdate
from keat.state import AROUND_BOTH, BOTH, Common, NeighborGraph, NodeState
from keat.state.neighbor_graph import ONE_TWO, TWO_ONE, TWO_TWO
from keat.time_encoding import Cosine

NODES, K = 20, 3
Entry = tuple[int, ...]


def graph_of(stream: EventStream) -> tuple[NeighborGraph, list[dict[int, int]]]:
    """The graph of a state that observed a stream, and the same as a dict for every node."""
    state = NodeState(NODES, 0, K, MemoryUpdate(0, 4, Cosine(4))).eval()
    for part in stream.blocks(13):
        state.observe(part)
    last: list[list[int]] = [[] for _ in range(NODES)]
    ends = list(zip(stream.src.tolist(), stream.dst.tolist(), strict=True))
    for number, (a, b) in enumerate(ends):
        last[a].append(number)
        last[b].append(number)
    met: list[dict[int, int]] = [{} for _ in range(NODES)]
    for numbers in last:
        for number in numbers[-K:]:
            a, b = ends[number]
            for one, other in ((a, b), (b, a)):
                met[one][other] = max(met[one].get(other, 0), int(stream.t[number]))
    return state.graph(), met


def ways(met: list[dict[int, int]], a: int, avoided: int) -> dict[int, int]:
    """Where two steps from a lead to without the other of the pair: of each way the older step, of all the
    youngest."""
    found: dict[int, int] = {}
    for middle, then in met[a].items():
        if middle not in (a, avoided):
            for w, onward in met[middle].items():
                found[w] = max(found.get(w, 0), min(then, onward))
    return found


def expected(met: list[dict[int, int]], src: list[int], candidates: list[list[int]], far: bool) -> set[Entry]:
    entries: list[Entry] = []
    for i, u in enumerate(src):
        for j, v in enumerate(candidates[i]):
            pair, one, two = i * len(candidates[i]) + j, met[u], met[v]
            both = [(w, one[w], two[w]) for w in one.keys() & two.keys()]
            entries += [(BOTH, pair, w, a, b, 0) for w, a, b in both]
            if far:
                from_u, from_v = ways(met, u, v), ways(met, v, u)
                steps = ((ONE_TWO, one, from_v), (TWO_ONE, from_u, two), (TWO_TWO, from_u, from_v))
                for kind, left, right in steps:
                    shared = (left.keys() & right.keys()) - {u, v}
                    entries += [(kind, pair, w, left[w], right[w], 0) for w in shared]
                entries += [(AROUND_BOTH, pair, w, a, b, t) for m, a, b in both for w, t in met[m].items()]
    return {(*entry, entries.count(entry)) for entry in entries}


def found_in(common: Common) -> set[Entry]:
    entries = list(zip(*(column.tolist() for column in common[:6]), strict=True))
    return {(*entry, entries.count(entry)) for entry in entries}


@pytest.mark.parametrize("seed", range(4))
def test_neighbours_are_mutual_and_by_the_last_events_of_either(seed: int, random_stream: MakeStream) -> None:
    graph, met = graph_of(random_stream(seed, events=60))
    for node in range(NODES):
        assert sorted(graph.neighbors(node).tolist()) == sorted(met[node])
        assert all(node in met[other] for other in met[node])
    assert any(len(each) > K for each in met)


@pytest.mark.parametrize("far", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_in_common_is_what_sets_say(seed: int, far: bool) -> None:
    """Candidates twice, sources among them, nodes without events, events of a node with itself."""
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(0, NODES - 4, (2, 40))
    graph, met = graph_of(
        EventStream.from_arrays(src, dst, np.sort(rng.integers(1, 30, 40)), num_nodes=NODES)
    )
    asked, candidates = rng.integers(0, NODES, 6), rng.integers(0, NODES, 15)
    each = np.tile(candidates, (6, 1))
    wanted = expected(met, asked.tolist(), each.tolist(), far)
    assert wanted
    for given in (candidates, each):
        common = graph.common(asked, given, far=far)
        assert found_in(common) == wanted
        meetings = dict(zip(common.met.tolist(), common.when_met.tolist(), strict=True))
        pairs = enumerate(product(asked.tolist(), candidates.tolist()))
        assert meetings == {pair: met[u][v] for pair, (u, v) in pairs if v in met[u]}


def test_neighbours_do_not_depend_on_who_is_asked_about() -> None:
    """0 has had events with 2 and 3, 1 with 3 and 4; that 5 is a candidate, too, changes nothing."""
    ring = np.array([[0, 1], [2, 3], [0, -1], [1, 2], [3, -1], [-1, -1]])
    src, dst, t = np.array([0, 0, 1, 1]), np.array([2, 3, 3, 4]), np.arange(4)
    graph = NeighborGraph(ring, src, dst, t)
    alone = graph.common(np.array([0]), np.array([[1]]))
    assert alone.node.tolist() == [3]
    assert (alone.from_source.tolist(), alone.from_candidate.tolist()) == ([1], [2])
    beside = graph.common(np.array([0]), np.array([[1, 5]]))
    assert beside.node.tolist() == [3]
    assert sorted(graph.neighbors(0).tolist()) == [2, 3]


def test_a_path_of_three() -> None:
    """a - b - c, asked about (a, c): b is common, nothing is further away, and around b are both ends."""
    ring = np.array([[0, -1], [0, 1], [1, -1]])
    graph = NeighborGraph(ring, np.array([0, 1]), np.array([1, 2]), np.array([5, 7]))
    common = graph.common(np.array([0]), np.array([[2]]), far=True)
    entries = list(zip(common.kind.tolist(), common.node.tolist(), strict=True))
    assert sorted(entries) == [(BOTH, 1), (AROUND_BOTH, 0), (AROUND_BOTH, 2)]
    assert len(common.met) == 0


def test_the_graph_is_made_anew_when_something_was_observed(random_stream: MakeStream) -> None:
    state = NodeState(NODES, 0, K, MemoryUpdate(0, 4, Cosine(4))).eval()
    assert len(state.graph().neighbors(0)) == 0
    state.observe(random_stream(2, events=60))
    once = state.graph()
    assert state.graph() is once
    kept = {key: value.clone() for key, value in state.save().items()}
    state.clear()
    assert len(state.graph().neighbors(0)) == 0
    state.load(kept)
    assert [sorted(state.graph().neighbors(n)) for n in range(NODES)] == [
        sorted(once.neighbors(n)) for n in range(NODES)
    ]
