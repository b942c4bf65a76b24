"""What is known of nodes from the start, for models that can use it."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from keat.errors import InputError
from keat.events import EventStream
from keat.state.checking import Expected, check_that
from keat.state.tensors import as_tensor


class NodeFeatures(nn.Module):
    """The table of node features a stream brings along; a node that is not in it has zeros.

    ``dim`` 0 says that features are not used. Then every node has one zero, as in the reference models, so
    that parameters have the same shapes there and here.
    """

    table: Tensor  # (nodes + 1, width); the last row is zero

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.used = dim > 0
        self.width = max(dim, 1)
        self.register_buffer("table", torch.zeros(1, self.width), persistent=False)

    def clear(self) -> None:
        self.table = self.table[-1:]

    def learn(self, events: EventStream) -> None:
        """Take the table over from the first events after a reset; all slices of a stream have the same."""
        if not self.used or len(self.table) > 1:
            return
        if events.node_features is None or events.node_features.shape[1] != self.width:
            there = 0 if events.node_features is None else events.node_features.shape[1]
            raise InputError(
                f"{events.name} has {there} features a node, but the model was made for {self.width}."
            )
        known = as_tensor(events.node_features, self.table.device)
        self.table = torch.cat((known, self.table[-1:]))

    def expected(self) -> Expected:
        """What a kept table has to be."""
        return Expected(self.table.dtype, ("rows of nodes" if self.used else 1, self.width))

    def load(self, table: Tensor) -> None:
        """Hold a table that is as `expected`."""
        check_that(len(table) > 0 and not bool(table[-1].any()), "'node_features' has no last row of zeros")
        self.table = table.to(self.table.device)

    def rows(self, nodes: Tensor) -> Tensor:
        """Where in ``table`` these nodes are."""
        return nodes.clamp(max=len(self.table) - 1)

    def of(self, nodes: Tensor) -> Tensor:
        """(n,) → (n, width)"""
        return self.table.index_select(0, self.rows(nodes))
