"""The part of a graph that can reach given nodes in a few steps, with all edges inside it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from keat.models.gearsage.graph import ContactGraph
from keat.ops import compiled

Indices = npt.NDArray[np.int32]


class Neighborhood(NamedTuple):
    """Nodes within some hops of seeds, numbered in order of discovery: distinct seeds are 0, 1, 2 …"""

    graph: ContactGraph
    position: Tensor  # (seeds,) int64, the number of each seed
    within: list[int]  # how many nodes are within 0, 1, 2 … hops: those are the first ones


class SubgraphSampler:
    """Cuts subgraphs out of one graph. Time and memory of a cut follow its size, not that of the graph;
    only a place for each node (4 bytes) is kept between cuts."""

    def __init__(self, graph: ContactGraph) -> None:
        self.graph = graph
        self.first, self.neighbor = graph.first.numpy(), graph.neighbor.numpy()
        self.place = np.full(graph.num_nodes, -1, np.int32)

    def around(self, seeds: npt.NDArray[np.integer[Any]], hops: int) -> Neighborhood:
        """All nodes within ``hops`` of the seeds and all edges between them."""
        nodes, within = _reach(self.first, self.neighbor, seeds.astype(np.int32), hops, self.place)
        position = torch.from_numpy(self.place[seeds].astype(np.int64))
        first, neighbor, which = _inside(self.first, self.neighbor, nodes, self.place)
        self.place[nodes] = -1
        graph, message = self.graph, torch.from_numpy(which)
        subgraph = ContactGraph(
            graph.x[torch.from_numpy(nodes)],
            torch.from_numpy(first),
            torch.from_numpy(neighbor),
            graph.kind[message],
            graph.time[message],
            graph.age[message],
            graph.times,
            graph.ages,
        )
        return Neighborhood(subgraph, position, within.tolist())


@compiled
def _reach(
    first: Indices, neighbor: Indices, seeds: Indices, hops: int, place: Indices
) -> tuple[Indices, Indices]:
    """The nodes within ``hops`` of the seeds, nearest first, and how many are within each number of hops;
    writes into ``place`` where each node is."""
    nodes = np.empty(len(place), np.int32)
    count = 0
    for seed in seeds:
        if place[seed] < 0:
            place[seed] = count
            nodes[count] = seed
            count += 1
    within = np.full(hops + 1, count, np.int32)
    begin = 0
    for hop in range(hops):
        end = count
        for i in range(begin, end):
            for message in range(first[nodes[i]], first[nodes[i] + 1]):
                other = neighbor[message]
                if place[other] < 0:
                    place[other] = count
                    nodes[count] = other
                    count += 1
        begin = end
        within[hop + 1] = count
    return nodes[:count].copy(), within


@compiled
def _inside(
    first: Indices, neighbor: Indices, nodes: Indices, place: Indices
) -> tuple[Indices, Indices, npt.NDArray[np.int64]]:
    """The messages between ``nodes``: where those to each begin, who sends, and which ones they were."""
    begins = np.zeros(len(nodes) + 1, np.int32)
    for i in range(len(nodes)):
        count = 0
        for message in range(first[nodes[i]], first[nodes[i] + 1]):
            count += place[neighbor[message]] >= 0
        begins[i + 1] = begins[i] + count
    sender = np.empty(begins[-1], np.int32)
    which = np.empty(begins[-1], np.int64)
    k = 0
    for node in nodes:
        for message in range(first[node], first[node + 1]):
            if place[neighbor[message]] >= 0:
                sender[k] = place[neighbor[message]]
                which[k] = message
                k += 1
    return begins, sender, which
