"""What tells nodes apart where nothing is known of them: random numbers that belong to a node for ever."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from keat.models.tgn_memory import NodeIdentity


class RandomInputs(nn.Module):
    """`NodeIdentity`: a function of the node's number, drawn once with the parameters and then fixed. A node
    that joins has its numbers already, and there is nothing to keep a node. What was computed for the nodes
    that have room is kept; it is no state, since it can be computed again."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.identity = NodeIdentity(dim)
        self._table: tuple[object, Tensor] | None = None

    def forward(self, nodes: Tensor, room: int) -> Tensor:
        """(n,) → (n, dim); the first ``room`` nodes are 0, 1, 2, …"""
        key = room, nodes.device, self.identity.frequency._version
        if self._table is None or self._table[0] != key:
            self._table = key, self.identity(nodes[:room])
        table = self._table[1]
        if len(nodes) == room:
            return table
        return torch.cat((table, self.identity(nodes[room:])))
