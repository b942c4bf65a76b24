"""GEARSage against message after message; KEAT's factor; subgraph ≡ whole graph; blocks ≡ at once."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from contact_streams import contact_stream
from torch import Tensor
from torch.nn import functional

from keat.errors import UnknownNameError
from keat.kernels import KERNELS
from keat.models.gearsage import (
    GEARSAGE_CONFIGS,
    ContactGraph,
    GEARSage,
    GEARSageConfig,
    SubgraphSampler,
    build_graph,
)


def build(sigma: float = 4.0, seed: int = 0, **changes: object) -> GEARSage:
    torch.manual_seed(seed)
    return GEARSage(sigma, GEARSageConfig(**changes))  # type: ignore[arg-type]


def slow_forward(model: GEARSage, graph: ContactGraph) -> Tensor:
    """Every message written out: [h_j ‖ ψ e ‖ ψ τ], summed, then one matrix."""
    receiver = torch.repeat_interleave(torch.arange(graph.num_nodes), graph.first.diff().long())
    kind, t = graph.kind.long(), graph.times[graph.time.long()]
    edge = model.type_embedding(kind // 2) + model.direction_embedding(kind % 2)
    time = torch.cos(torch.log(1 + t.to(edge.dtype))[:, None] * model.frequency + model.offset)
    faded = model.kernel(graph.ages[graph.age.long()]) * torch.cat((edge, time), dim=1)
    h = graph.x
    for layer in model._layers():
        message = torch.cat((h[graph.neighbor.long()], faded), dim=1)
        total = h.new_zeros(len(h), message.shape[1]).index_add(0, receiver, message)
        h = functional.elu(layer.norm(0.5 * layer.neighbors(total) + layer.own(h)))
    return h.log_softmax(-1)


def doubled(graph: ContactGraph) -> ContactGraph:
    columns = {name: getattr(graph, name) for name in graph.__slots__}
    return ContactGraph(**columns | {"x": graph.x.double()})


@pytest.mark.parametrize("name", GEARSAGE_CONFIGS)
def test_has_the_published_number_of_parameters(name: str) -> None:
    model = GEARSage(1.0, GEARSAGE_CONFIGS[name])
    assert sum(parameter.numel() for parameter in model.parameters()) == 50_544


def test_time_encoding_starts_as_published() -> None:
    model = build()
    torch.testing.assert_close(model.frequency[[0, -1]], torch.tensor([1.0, 10**-1.5]))
    assert not model.offset.any()


@pytest.mark.parametrize("kernel", KERNELS)
def test_equals_message_after_message_with_gradients(kernel: str) -> None:
    graph = doubled(build_graph(*contact_stream(1)))
    model = build(kernel=kernel, dropout=0.0).double().train()
    weight = torch.randn(graph.num_nodes, 2, dtype=torch.float64)
    gradients = []
    outputs = []
    for forward in (model, lambda g: slow_forward(model, g)):
        model.zero_grad()
        out = forward(graph)
        (out * weight).sum().backward()
        outputs.append(out)
        gradients.append({name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None})
    torch.testing.assert_close(*outputs)
    assert gradients[0].keys() == dict(model.named_parameters()).keys()
    torch.testing.assert_close(gradients[0], gradients[1])


def test_an_infinite_width_is_the_plain_model_bit_for_bit() -> None:
    graph = build_graph(*contact_stream(2))
    plain, kernelized = build().eval(), build(kernel="laplacian", width=float("inf")).eval()
    assert torch.equal(plain(graph), kernelized(graph))


def test_the_kernel_fades_edges_and_nothing_else() -> None:
    graph = build_graph(*contact_stream(2))
    plain, faded = build().edge_sums(graph), build(kernel="laplacian").edge_sums(graph)
    receiver = torch.repeat_interleave(torch.arange(graph.num_nodes), graph.first.diff().long())
    fresh = torch.zeros(graph.num_nodes).index_add(0, receiver, graph.ages[graph.age.long()].float()) == 0
    assert fresh.any()
    assert (~fresh).any()
    torch.testing.assert_close(plain[fresh], faded[fresh])
    assert ((plain[~fresh] - faded[~fresh]).abs().sum(dim=1) > 1e-4).all()


@pytest.mark.parametrize("name", GEARSAGE_CONFIGS)
def test_a_subgraph_of_three_hops_tells_the_same_of_its_seeds(name: str) -> None:
    graph = build_graph(*contact_stream(4, nodes=300, edges=280))
    model = GEARSage(3.0, GEARSAGE_CONFIGS[name]).eval()
    seeds = np.array([3, 50, 120, 299])
    around = SubgraphSampler(graph).around(seeds, 3)
    assert around.graph.num_nodes < graph.num_nodes
    expected = model(graph)[torch.from_numpy(seeds)]
    torch.testing.assert_close(model(around.graph)[around.position], expected)
    scores = model.predict(around.graph, around.within)
    assert scores.shape == (4,)
    torch.testing.assert_close(scores[around.position], expected[:, 1] - expected[:, 0])


def test_predict_is_forward_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = build_graph(*contact_stream(5))
    model = build(kernel="rbf").eval()
    log_probability = model(graph)
    monkeypatch.setattr("keat.models.gearsage.gearsage_model.NODES_AT_ONCE", 7)
    torch.testing.assert_close(model.predict(graph), log_probability[:, 1] - log_probability[:, 0])


def test_an_unknown_kernel_is_named() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'laplacian'"):
        build(kernel="laplace")
