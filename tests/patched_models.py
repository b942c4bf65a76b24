"""What the tests of `keat.patch` share: layers, a model around them, a graph, and ways to compare."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

pyg = pytest.importorskip("torch_geometric.nn", reason="keat.patch is for torch_geometric")

NODES, EDGES, RELATIONS = 9, 40, 3

Layer = Callable[[], nn.Module]
LAYERS: dict[str, Layer] = {
    "transformer": lambda: pyg.TransformerConv(6, 4, heads=2, edge_dim=5),
    "transformer-mean-beta": lambda: pyg.TransformerConv(6, 4, heads=2, concat=False, beta=True, edge_dim=5),
    "gat": lambda: pyg.GATConv(6, 4, heads=2, edge_dim=5),
    "gat-add": lambda: pyg.GATConv(6, 4, edge_dim=5, fill_value="add", residual=True),
    "gat-constant": lambda: pyg.GATConv(6, 4, edge_dim=5, fill_value=0.5),
    "gat-no-loops": lambda: pyg.GATConv(6, 4, heads=2, edge_dim=5, add_self_loops=False),
    "gatv2": lambda: pyg.GATv2Conv(6, 4, heads=2, edge_dim=5),
    "gatv2-shared": lambda: pyg.GATv2Conv(6, 4, edge_dim=5, share_weights=True, add_self_loops=False),
    "rgat": lambda: pyg.RGATConv(6, 4, RELATIONS, heads=2, edge_dim=5),
    "rgat-within": lambda: pyg.RGATConv(
        6, 4, RELATIONS, num_bases=2, attention_mechanism="within-relation", mod="additive", edge_dim=5
    ),
}


class OneLayer(nn.Module):
    """A user's model: the age is an argument of forward, the layer gets everything but it."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer
        self.head = nn.Linear(1, 1)  # a stranger, not to be touched

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, age: Tensor | None) -> Tensor:  # noqa: ARG002
        types = {"edge_type": edge_index.sum(0) % RELATIONS} if isinstance(self.layer, pyg.RGATConv) else {}
        out: Tensor = self.layer(x, edge_index, edge_attr=edge_attr, **types)
        return out


def graph(seed: int = 0) -> dict[str, Tensor]:
    """Random edges, self loops among them, with Unix-like gaps."""
    draw = torch.Generator().manual_seed(seed)
    return {
        "x": torch.randn(NODES, 6, generator=draw),
        "edge_index": torch.randint(0, NODES, (2, EDGES), generator=draw),
        "edge_attr": torch.randn(EDGES, 5, generator=draw),
        "age": torch.randint(0, 300_000, (EDGES,), generator=draw),
    }


def gradients(model: nn.Module, inputs: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
    """The output, and the gradient of a random projection of it for every parameter and float input."""
    leaves = {name: value.clone().requires_grad_(value.is_floating_point()) for name, value in inputs.items()}
    out = model(**leaves)
    weight = torch.randn(out.shape, generator=torch.Generator().manual_seed(1))
    model.zero_grad()
    (out * weight).sum().backward()
    named = {**dict(model.named_parameters()), **leaves}
    return out.detach(), {name: one.grad for name, one in named.items() if one.grad is not None}


def assert_same(one: dict[str, Tensor], other: dict[str, Tensor]) -> None:
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert torch.equal(value, other[name]), name


def traces(model: nn.Module) -> dict[str, Any]:
    return {
        name: {key: repr(value) for key, value in vars(one).items()} for name, one in model.named_modules()
    }
