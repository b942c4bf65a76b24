"""CTAN: its size, its flow, its embeddings against PyG's, and what a node remembers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from keat.errors import InputError
from keat.events import EventStream
from keat.kernels import KERNELS
from keat.models.contract import Queries
from keat.models.ctan import CTAN, Antisymmetric, CTANConfig
from keat.models.registry import build_model
from keat.runs.spec import configuration
from keat.time_encoding import TIME_ENCODERS
from small_streams import dated_stream, one_by_one

SMALL = CTANConfig(dim=6, neighbors=3, layers=2)
NODES = 20


def make_stream(seed: int = 0, events: int = 90) -> EventStream:
    return dated_stream(seed, NODES, events)


def fed(config: CTANConfig, stream: EventStream) -> CTAN:
    model: CTAN = build_model(stream, config)
    for part in stream.blocks(15):
        model.observe(part)
    return model


def asked(stream: EventStream) -> Queries:
    t = int(stream.t[-1]) + 1 + 500 * np.arange(6)
    return Queries(np.arange(6, dtype=np.int32), t, np.arange(NODES, dtype=np.int32))


def test_parameters_are_as_many_as_in_the_authors_code() -> None:
    """Without the skip that PyG makes and CTAN does not use, 65,792."""
    model = CTAN(10, 172, 1.0, CTANConfig())
    parts = (model.input, model.attention, model.flow, model.time_encoder, model.predictor)
    found = [sum(p.numel() for p in part.parameters()) for part in parts]
    assert found == [66_048, 306_944, 65_792, 512, 131_841]
    assert sum(p.numel() for p in model.parameters()) == sum(found) == 571_137


@pytest.mark.parametrize("damping", [0.1, 0.7])
def test_all_eigenvalues_have_the_same_real_part(damping: float) -> None:
    flow = Antisymmetric(7, damping).double()
    torch.nn.init.normal_(flow.weight, std=3.0)
    real = torch.linalg.eigvals(flow.matrix().detach()).real
    torch.testing.assert_close(real, torch.full_like(real, -damping))


def test_eigenvalues_by_hand() -> None:
    flow = Antisymmetric(2, 0.1)
    with torch.no_grad():
        flow.weight.copy_(torch.tensor([[0.0, 1.0], [0.0, 0.0]]))
    found = sorted(torch.linalg.eigvals(flow.matrix().detach()).tolist(), key=lambda value: value.imag)
    assert found == pytest.approx([-0.1 - 1j, -0.1 + 1j])


def test_a_step_by_hand() -> None:
    """One number, no neighbours: 1 + ½ tanh(-0.1)."""
    model = CTAN(1, 0, 1.0, CTANConfig(dim=1, heads=1)).eval()
    past = model.state.near(torch.tensor([0]))
    h = model._step(torch.ones(1, 1), past, past.other, past.happened).detach()
    assert float(h) == pytest.approx(0.950166, abs=1e-6)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_embeddings_are_those_of_pyg(layers: int) -> None:
    pyg = pytest.importorskip("torch_geometric.nn")
    stream, dim = make_stream(), SMALL.dim
    model = fed(replace(SMALL, layers=layers), stream)
    conv = pyg.TransformerConv(dim, dim, heads=1, edge_dim=dim + 2, root_weight=False)
    theirs = pyg.AntiSymmetricConv(dim, phi=conv, num_iters=layers, epsilon=0.5, gamma=0.1, act="tanh")
    with torch.no_grad():
        theirs.W.copy_(model.flow.weight)
        theirs.bias.copy_(model.flow.bias)
        for name in ("lin_query", "lin_key", "lin_value", "lin_edge"):
            getattr(conv, name).load_state_dict(getattr(model.attention, name).state_dict())
        everyone = torch.arange(NODES)
        past = model.state.near(everyone)
        into = everyone.repeat_interleave(past.first.diff())
        age = model.state.last_update[past.other] - past.happened
        edge = torch.cat((model.time_encoder(model.gaps(age)), model.state.messages[past.event]), dim=1)
        h = model.input(torch.cat((model.state.memory, torch.ones(NODES, 1)), dim=1))
        expected = theirs(h, torch.stack((past.other, into)), edge_attr=edge)
        torch.testing.assert_close(model.embed(everyone), expected, rtol=1e-4, atol=1e-6)


def test_a_node_remembers_its_embedding_before_its_last_event() -> None:
    stream = make_stream()
    model = fed(SMALL, stream[:60])
    part = stream[60:70]
    ends = torch.from_numpy(np.unique(np.concatenate((part.src, part.dst)))).long()
    with torch.no_grad():
        expected = model.embed(ends)
    kept = model.state.memory.clone()
    model.observe(part)
    torch.testing.assert_close(model.state.memory[ends], expected)
    others = np.setdiff1d(np.arange(NODES), ends.numpy())
    assert torch.equal(model.state.memory[others], kept[others])


def test_playing_the_stream_again_gives_the_same_state() -> None:
    stream = make_stream()
    model = fed(SMALL, stream)
    once = {key: value.clone() for key, value in model.stream_state().items()}
    model.reset()
    for part in stream.blocks(15):
        model.observe(part)
    again = model.stream_state()
    assert all(torch.equal(once[key], again[key]) for key in once)


def test_training_advances_the_state_as_evaluation_does() -> None:
    stream = make_stream()
    settled, learning = build_model(stream, SMALL), build_model(stream, SMALL).train()
    for part in stream.blocks(15):
        queries = Queries(part.src, part.t, np.stack((part.dst, part.dst[::-1]), axis=1))
        torch.testing.assert_close(learning.score(queries).detach(), settled.score(queries))
        settled.observe(part)
        learning.observe(part)


@pytest.mark.parametrize("delta", ["neighbor", "query"])
@pytest.mark.parametrize("kernel", ["laplacian", "rbf"])
def test_an_infinite_width_is_the_plain_model_to_the_bit(kernel: str, delta: str) -> None:
    stream = make_stream()
    config = replace(SMALL, delta=delta)  # type: ignore[arg-type]
    plain, wide = fed(config, stream), fed(replace(config, kernel=kernel, width=float("inf")), stream)
    assert torch.equal(plain.score(asked(stream)), wide.score(asked(stream)))
    narrow = fed(replace(config, kernel=kernel, width=0.5), stream)
    assert not torch.equal(plain.score(asked(stream)), narrow.score(asked(stream)))


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_kernel_fades_the_edge_part_alone(kernel: str) -> None:
    """Attention by hand, of one layer, for every kernel."""
    stream = make_stream()
    model = fed(replace(SMALL, layers=1, heads=2, kernel=kernel, width=2.0), stream)
    everyone = torch.arange(NODES)
    past, last = model.state.near(everyone), model.state.last_update
    with torch.no_grad():
        h = model.input(torch.cat((model.state.memory, torch.ones(NODES, 1)), dim=1))
        expected = torch.stack([_by_hand(model, h, past, last, node) for node in range(NODES)])
        torch.testing.assert_close(model.embed(everyone), expected, rtol=1e-4, atol=1e-5)


def _by_hand(model: CTAN, h: Tensor, past: object, last: Tensor, node: int) -> Tensor:
    first, other, event, happened = (getattr(past, name) for name in ("first", "other", "event", "happened"))
    here = slice(int(first[node]), int(first[node + 1]))
    near, age = other[here], last[other[here]] - happened[here]
    attention, mixed = model.attention, torch.zeros(2, 3)
    if len(near):
        psi = model.kernel(age).expand(-1, 2).unsqueeze(2)  # (k, heads, 1)
        raw = torch.cat((model.time_encoder(model.gaps(age)), model.state.messages[event[here]]), dim=1)
        edge = psi * attention.lin_edge(raw).view(-1, 2, 3)
        key = attention.lin_key(h[near]).view(-1, 2, 3) + edge
        value = attention.lin_value(h[near]).view(-1, 2, 3) + edge
        weight = ((attention.lin_query(h[node]).view(2, 3) * key).sum(2) / 3**0.5).softmax(0)
        mixed = (weight.unsqueeze(2) * value).sum(0)
    return h[node] + 0.5 * torch.tanh(model.flow(h[node]) + mixed.flatten())


@pytest.mark.parametrize("time_encoder", TIME_ENCODERS)
@pytest.mark.parametrize("squash", [False, True])
def test_the_time_that_is_asked_about_matters_where_it_should(time_encoder: str, squash: bool) -> None:
    stream = make_stream()
    for delta, matters in (("neighbor", False), ("query", True)):
        config = replace(SMALL, delta=delta, time_encoder=time_encoder, squash=squash)  # type: ignore[arg-type]
        model = fed(config, stream)
        now = asked(stream)
        later = model.score(replace(now, t=now.t + 3_000))
        assert torch.allclose(model.score(now), later, atol=1e-6) != matters
        torch.testing.assert_close(model.score(now), model.score(one_by_one(now)), rtol=1e-4, atol=1e-5)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="delta must be 'neighbor' or 'query'"):
        configuration("ctan", delta="both")
    with pytest.raises(InputError, match="step must be above 0"):
        configuration("ctan", step=0.0)
    with pytest.raises(InputError, match="5 heads cannot share a dim of 256"):
        configuration("ctan", heads=5)
