"""Messages of the graph against a loop over edges; subgraphs against PyG's."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
import torch
from contact_streams import contact_stream

from keat.errors import InputError
from keat.models.gearsage import ContactGraph, Delta, SubgraphSampler, build_graph

Message = tuple[int, int, int, int, int]  # receiver, sender, kind, time, age


def messages(graph: ContactGraph) -> list[Message]:
    receiver = torch.repeat_interleave(torch.arange(graph.num_nodes), graph.first.diff().long())
    columns = (receiver, graph.neighbor, graph.kind, graph.times[graph.time], graph.ages[graph.age])
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


@pytest.mark.parametrize("delta", ["target", "end"])
def test_every_edge_is_two_messages(delta: Delta) -> None:
    stream, y = contact_stream(1)
    kind = stream.features[:, 0].astype(int).tolist()
    expected: list[Message] = []
    for u, v, t, k in zip(stream.src.tolist(), stream.dst.tolist(), stream.t.tolist(), kind, strict=True):
        for receiver, sender in ((u, v), (v, u)):
            touches = (stream.src == receiver) | (stream.dst == receiver)
            latest = int(stream.t[touches].max() if delta == "target" else stream.t.max())
            if u != v:
                expected.append((receiver, sender, 2 * k + (sender > receiver), t, latest - t))
    graph = build_graph(stream, y, delta)
    assert messages(graph) == sorted(expected)
    assert len(expected) < 2 * len(stream)  # there was a self-loop to drop


def test_rows_are_the_messages_of_some_nodes() -> None:
    graph = build_graph(*contact_stream(2))
    part = graph.rows(10, 25)
    mine = [(receiver + 10, *rest) for receiver, *rest in messages(part)]
    assert mine == [message for message in messages(graph) if 10 <= message[0] < 25]
    torch.testing.assert_close(part.x, graph.x[10:25])


@pytest.mark.parametrize("hops", [0, 1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_subgraphs_equal_pyg(seed: int, hops: int) -> None:
    utils = pytest.importorskip("torch_geometric.utils")
    graph = build_graph(*contact_stream(seed, nodes=120, edges=110))
    receiver = torch.repeat_interleave(torch.arange(graph.num_nodes), graph.first.diff().long())
    both = torch.stack((graph.neighbor.long(), receiver))
    seeds = np.array([5, 17, 60, 118])
    theirs, edges, _, kept = utils.k_hop_subgraph(torch.from_numpy(seeds), hops, both, num_nodes=120)

    sampler = SubgraphSampler(graph)
    sampler.around(np.array([1, 2, 3]), 2)  # what one cut leaves behind does not show in the next
    subgraph, position, within = sampler.around(seeds, hops)
    assert within == [
        len(utils.k_hop_subgraph(torch.from_numpy(seeds), k, both, num_nodes=120)[0]) for k in range(hops + 1)
    ]
    assert position.tolist() == [0, 1, 2, 3]
    order = sampler_nodes(graph, subgraph, seeds)
    assert sorted(order) == theirs.tolist()
    mine = sorted((order[r], order[s], k, t, a) for r, s, k, t, a in messages(subgraph))
    whole = list(zip(receiver.tolist(), both[0].tolist(), *edge_columns(graph), strict=True))
    assert mine == sorted(message for message, keep in zip(whole, kept.tolist(), strict=True) if keep)
    assert edges.shape[1] == len(mine)


def sampler_nodes(graph: ContactGraph, subgraph: ContactGraph, seeds: npt.NDArray[np.int64]) -> list[int]:
    """Which nodes of the graph those of the subgraph are, told by their features, which all differ."""
    same = (subgraph.x[:, None] == graph.x[None]).all(dim=2)
    assert (same.sum(dim=1) == 1).all()
    nodes: list[int] = same.int().argmax(dim=1).tolist()
    assert nodes[: len(seeds)] == seeds.tolist()
    return nodes


def edge_columns(graph: ContactGraph) -> tuple[list[int], ...]:
    return graph.kind.tolist(), graph.times[graph.time].tolist(), graph.ages[graph.age].tolist()


def test_a_seed_asked_for_twice_is_there_once() -> None:
    graph = build_graph(*contact_stream(3))
    subgraph, position, within = SubgraphSampler(graph).around(np.array([4, 9, 4]), 0)
    assert position.tolist() == [0, 1, 0]
    assert within == [subgraph.num_nodes] == [2]


def test_an_unknown_delta_is_named() -> None:
    with pytest.raises(InputError, match="not 'query'"):
        build_graph(*contact_stream(1), delta="query")  # type: ignore[arg-type]
