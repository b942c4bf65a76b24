"""What `keat.patch` refuses, and the sentence it says why."""

from __future__ import annotations

import builtins
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import keat
from keat.errors import InputError, KeatError, MissingExtraError
from keat.kernels import Laplacian, LearnableLaplacian
from patched_models import LAYERS, NODES, RELATIONS, Layer, OneLayer, graph, pyg, traces


@pytest.fixture
def transformer() -> OneLayer:
    torch.manual_seed(0)
    return OneLayer(LAYERS["transformer"]())


def with_bias() -> nn.Module:
    conv: nn.Module = pyg.TransformerConv(6, 4, edge_dim=5)
    conv.lin_edge = nn.Linear(5, 4)
    return conv


def with_network() -> nn.Module:
    conv: nn.Module = pyg.GATConv(6, 4, edge_dim=5)
    conv.lin_edge = nn.Sequential(nn.Linear(5, 4, bias=False), nn.ReLU())
    return conv


class Bolder(pyg.TransformerConv):  # type: ignore[misc]
    def message(self, *args: Any, **kwargs: Any) -> Tensor:
        out: Tensor = super().message(*args, **kwargs)
        return out


class Homemade(pyg.MessagePassing):  # type: ignore[misc]
    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        out: Tensor = self.propagate(edge_index, x=x, edge_attr=edge_attr)
        return out


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(5, 36), nn.ReLU())


REFUSED: dict[str, tuple[Layer, str]] = {
    "bias": (with_bias, "TransformerConv .*its edge projection has a bias"),
    "network": (with_network, "GATConv .*its edge projection is of type Sequential"),
    "edge_dim": (lambda: pyg.GATConv(6, 4), "GATConv .*it has no edge part, since its edge_dim is None"),
    "edge_dim-2": (lambda: pyg.GATv2Conv(6, 4), "GATv2Conv .*since its edge_dim is None"),
    "edge_dim-3": (lambda: pyg.TransformerConv(6, 4), "TransformerConv .*since its edge_dim is None"),
    "edge_dim-4": (lambda: pyg.RGATConv(6, 4, RELATIONS), "RGATConv .*since its edge_dim is None"),
    "product": (
        lambda: pyg.RGATConv(6, 4, 3, attention_mode="multiplicative-self-attention", dim=2, edge_dim=5),
        "RGATConv .*multiplicative attention is a product of node and edge part",
    ),
    "subclass": (
        lambda: Bolder(6, 4, edge_dim=5),
        "Bolder .*it has its own message, which may use edge_attr",
    ),
    "unknown": (Homemade, "Homemade .*keat does not know what it does with edge_attr"),
    "gine": (lambda: pyg.GINEConv(nn.Linear(6, 4), edge_dim=5), "GINEConv .*inside a ReLU"),
    "gen": (lambda: pyg.GENConv(6, 4, edge_dim=5), "GENConv .*inside a ReLU"),
    "nn": (lambda: pyg.NNConv(6, 6, network()), "NNConv .*a weight matrix of edge_attr"),
    "general": (lambda: pyg.GeneralConv(6, 4, in_edge_channels=5), "GeneralConv .*with a bias"),
    "cg": (lambda: pyg.CGConv(6, dim=5), "CGConv .*it gates with edge_attr"),
    "gated": (lambda: pyg.ResGatedGraphConv(6, 4, edge_dim=5), "ResGatedGraphConv .*it gates with edge_attr"),
    "pna": (
        lambda: pyg.PNAConv(6, 4, ["mean"], ["identity"], torch.ones(5).long(), edge_dim=5),
        "PNAConv .*with a bias",
    ),
    "gmm": (lambda: pyg.GMMConv(6, 4, dim=5, kernel_size=2), "GMMConv .*as coordinates"),
    "pdn": (
        lambda: pyg.PDNConv(6, 4, edge_dim=5, hidden_channels=4),
        "PDNConv .*an edge weight of edge_attr",
    ),
    "heat": (lambda: pyg.HEATConv(6, 4, 2, 2, 3, 5, 3), "HEATConv .*edge types beside edge_attr"),
    "hyper": (lambda: pyg.HypergraphConv(6, 4), "HypergraphConv .*does not know"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_not_be_exact_is_refused_with_the_reason(name: str) -> None:
    build, reason = REFUSED[name]
    good = pyg.TransformerConv(6, 4, edge_dim=5)
    model = nn.ModuleDict({"good": good, "bad": build()})
    before = traces(model)
    with pytest.raises(InputError, match=f"{reason}.*") as error:
        keat.patch(model, Laplacian(1.0), delta="age")
    assert "'bad' cannot be patched exactly: " in str(error.value)
    assert str(error.value).count(".") == 1  # one sentence
    assert traces(model) == before  # nothing half done


@pytest.mark.parametrize("model", [nn.Linear(2, 2), pyg.GCNConv(2, 2), pyg.GraphSAGE(2, 2, 1)], ids=repr)
def test_a_model_without_a_layer_to_patch(model: nn.Module) -> None:
    with pytest.raises(InputError, match=r"has no layer to patch; keat\.patch knows TransformerConv"):
        keat.patch(model, Laplacian(1.0), delta=lambda x: x)


def test_nothing_is_patched_twice(transformer: OneLayer) -> None:
    keat.patch(transformer.layer, Laplacian(1.0), delta=lambda edge_attr: edge_attr[:, 0])
    with pytest.raises(InputError, match="TransformerConv 'layer' is patched already; undo that first"):
        keat.patch(transformer, Laplacian(1.0), delta="age")
    keat.patch(keat.unpatch(transformer), Laplacian(1.0), delta="age")
    with pytest.raises(InputError, match=r"^OneLayer is patched already"):
        keat.patch(transformer, Laplacian(1.0), delta="age")
    with pytest.raises(InputError, match=r"^TransformerConv is patched already"):
        keat.patch(transformer.layer, Laplacian(1.0), delta=lambda edge_attr: edge_attr[:, 0])
    keat.unpatch(transformer.layer)  # a part undoes the whole: never half a patch
    with pytest.raises(InputError, match="OneLayer is not patched, so there is nothing to undo"):
        keat.unpatch(transformer)


def test_bad_kernels_and_unknown_arguments(transformer: OneLayer) -> None:
    cases: list[tuple[Any, Any, str]] = [
        ("laplacian", "age", "The kernel must be one of keat.kernels, such as Laplacian"),
        (LearnableLaplacian(1.0, heads=2), "age", "share ψ, but the kernel has 2; make it with heads=1"),
        (Laplacian(1.0), "ages", "Unknown argument of OneLayer.forward 'ages'; did you mean 'age'"),
        (Laplacian(1.0), lambda when: when, "OneLayer.forward 'when'; known: age, edge_attr, edge_index, x"),
    ]
    before = traces(transformer)
    for kernel, delta, message in cases:
        with pytest.raises(KeatError, match=message):
            keat.patch(transformer, kernel, delta=delta)
    assert traces(transformer) == before
    assert keat.patch(transformer, Laplacian(1.0, heads=2), delta="age")  # has heads, but one ψ for all


def test_ages_that_do_not_fit_are_told(transformer: OneLayer) -> None:
    inputs, layer = graph(), transformer.layer
    keat.patch(transformer, Laplacian(1.0), delta="age")
    bad: list[tuple[Any, str]] = [
        (inputs["age"][:-1], "called with 40 edges, but delta gave 39 ages"),
        (inputs["edge_attr"], r"one age for each edge, \(E,\), but gave shape \(40, 5\)"),
        (torch.tensor(3), r"but gave shape \(\)"),
        (None, "but gave a NoneType"),
    ]
    for age, message in bad:
        with pytest.raises(InputError, match=message):
            transformer(**{**inputs, "age": age})
    with pytest.raises(InputError, match="called outside the forward of the patched model"):
        layer(inputs["x"], inputs["edge_index"], inputs["edge_attr"])  # ψ of a failed call is gone, too
    sparse = torch.sparse_coo_tensor(
        inputs["edge_index"], inputs["edge_attr"], (NODES, NODES, 5), check_invariants=True
    )
    with pytest.raises(
        InputError, match="called with a sparse matrix, whose edges have an order of their own"
    ):
        transformer(**{**inputs, "edge_index": sparse, "edge_attr": None})
    assert transformer(**inputs).shape == (NODES, 8)


def test_without_pyg_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_pyg(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("torch_geometric"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_pyg)
    with pytest.raises(MissingExtraError, match=r"pip install 'keat\[pyg\]'"):
        keat.patch(nn.Linear(2, 2), Laplacian(1.0), delta="input")
