"""What a network of snapshots remembers from one to the next: tables with a row for each node, and others."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

from keat.state import Expected, check_that

Memory = Mapping[str, Tensor]


class SnapshotMemory(nn.Module):
    """Tables by name. Those ``of_nodes`` have a row for each node, zero until its first snapshot has been
    read; others are as they are given. A table is never written into: what the gradient has to go back
    through stays as it was."""

    def __init__(self) -> None:
        super().__init__()
        self._of_nodes: dict[str, tuple[int, ...]] = {}
        self._others: dict[str, tuple[int, ...]] = {}

    def add_of_nodes(self, name: str, *shape: int) -> None:
        self._of_nodes[name] = shape
        self.register_buffer(name, torch.zeros(0, *shape), persistent=False)

    def add(self, name: str, *shape: int) -> None:
        self._others[name] = shape
        self.register_buffer(name, torch.zeros(shape), persistent=False)

    def clear(self) -> None:
        for name in self._of_nodes:
            setattr(self, name, getattr(self, name)[:0])
        for name in self._others:
            setattr(self, name, torch.zeros_like(getattr(self, name)))

    def grow(self, nodes: int) -> None:
        """Make room for nodes that have appeared."""
        for name in self._of_nodes:
            setattr(self, name, _longer(getattr(self, name), nodes))

    def tables(self, strangers: int = 0) -> dict[str, Tensor]:
        """All of them, with empty rows at the end for nodes that have no room."""
        found: dict[str, Tensor] = {name: getattr(self, name) for name in (*self._of_nodes, *self._others)}
        for name in self._of_nodes:
            found[name] = _longer(found[name], len(found[name]) + strangers)
        return found

    def keep(self, after: Memory, seen: Tensor) -> None:
        """Remember what a step left: of nodes, of those alone that have been ``seen``."""
        for name, table in after.items():
            before = getattr(self, name)
            rows = seen.view(-1, *(1 for _ in self._of_nodes.get(name, ())))
            new = table.to(before.dtype)
            setattr(self, name, torch.where(rows, new, before) if name in self._of_nodes else new)

    def expected(self) -> dict[str, Expected]:
        """What a kept state has to be, of ``nodes`` nodes."""
        of_nodes = {
            name: Expected(torch.float32, ("nodes", *shape)) for name, shape in self._of_nodes.items()
        }
        return of_nodes | {name: Expected(torch.float32, shape) for name, shape in self._others.items()}

    def load(self, tables: Memory, nodes: int) -> None:
        """Remember tables that are as `expected`, with a row for each of ``nodes``."""
        for name in self._of_nodes:
            check_that(len(tables[name]) == nodes, f"'memory.{name}' does not have {nodes} rows")
        for name, table in tables.items():
            setattr(self, name, table)


def _longer(table: Tensor, rows: int) -> Tensor:
    """With zeros at the end; itself where it is long enough."""
    more = rows - len(table)
    return functional.pad(table, (0, 0) * (table.dim() - 1) + (0, more)) if more > 0 else table
