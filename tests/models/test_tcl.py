"""TCL against formulas written down as they are, torch's own encoder, its parameters, and its symmetry."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from keat.errors import InputError
from keat.events import EventStream
from keat.kernels import KERNELS
from keat.models.contract import Queries
from keat.models.tcl import TCL, TCLConfig
from keat.models.tcl import tcl_model as tcl_model
from keat.models.tcl import towers as tcl_towers
from keat.models.tcl.towers import Tower
from keat.time_encoding import TIME_ENCODERS
from small_streams import asked_of_all, coarse_stream

NODES = 20
SMALL = TCLConfig(neighbors=4, time_dim=6, channels=8, out_dim=6, dropout=0.0)


def make_stream(events: int = 90, **of_it: int) -> EventStream:
    return coarse_stream(1, NODES, events, unseen=4, **of_it)


def build(stream: EventStream, **changes: Any) -> TCL:
    torch.manual_seed(3)
    dim = 0 if stream.node_features is None else stream.node_features.shape[1]
    model = TCL(NODES, stream.feature_dim, 70.0, replace(SMALL, node_dim=dim, **changes)).eval()
    model.observe(stream)
    return model


def some_queries(shift: int = 0) -> Queries:
    """Sources with and without events, times with and without a past, all nodes and some of them twice."""
    return asked_of_all([0, 3, 5, 6, 3, 19, 0], [0, 100, 200, 200, 395, 401, 9_000], NODES, shift)


def plain_tokens(model: TCL, stream: EventStream, node: int, t: int) -> Tensor:
    """Tokens of one node at one time, the oldest event first, as in the reference."""
    known = np.zeros((NODES, 1)) if stream.node_features is None else stream.node_features
    past = []
    for i in np.flatnonzero(stream.t < t):  # an event with oneself is seen from both of its ends
        ends = (int(stream.src[i]), int(stream.dst[i]))
        past += [(i, ends[1 - end]) for end in (0, 1) if ends[end] == node]
    past = past[-model.config.neighbors :]
    rows = [(node, torch.zeros(stream.feature_dim), 0, torch.ones(()), 0)]
    for place, (i, other) in enumerate(past):
        age = t - int(stream.t[i])
        psi = model.kernel(torch.tensor([age]))[0, 0]
        depth = model.config.neighbors + 1 - len(past) + place
        rows.append((other, torch.tensor(stream.features[i]), age, psi, depth))
    tokens = []
    for other, message, age, psi, depth in rows:
        token = model.node(torch.tensor(known[other], dtype=torch.float32))
        token = token + model.time(psi * model.time_encoder(torch.tensor([age]))[0])
        token = token + (model.edge(psi * message) if stream.feature_dim else model.edge.bias)
        tokens.append(token + model.depth.weight[depth])
    return torch.stack(tokens)


def plain_encoder(layer: Tower, x: Tensor, y: Tensor) -> Tensor:
    """One tower by torch's multi-head attention, of tokens (n, d) and (m, d)."""
    attention = nn.MultiheadAttention(x.shape[1], layer.heads, batch_first=True)
    names = ("in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias")
    values = (layer.in_proj.weight, layer.in_proj.bias, layer.out_proj.weight, layer.out_proj.bias)
    attention.load_state_dict(dict(zip(names, values, strict=True)))
    a = layer.norm1(x + attention(x[None], y[None], y[None])[0][0])
    out: Tensor = layer.norm2(a + layer.linear2(torch.relu(layer.linear1(a))))
    return out


def plain_score(model: TCL, stream: EventStream, u: int, v: int, t: int) -> Tensor:
    one, other = (plain_tokens(model, stream, node, t) for node in (u, v))
    for layer in model.towers.layers:
        assert isinstance(layer, Tower)
        one, other = plain_encoder(layer, one, one), plain_encoder(layer, other, other)
        one, other = plain_encoder(layer, one, other), plain_encoder(layer, other, one)
    logit: Tensor = model.decoder(model.output(one[0]), model.output(other[0]))
    return logit[0]


@pytest.mark.parametrize(
    "changes",
    [{}, {"kernel": "laplacian"}, {"kernel": "gated", "layers": 1}, {"layers": 3, "time_encoder": "lete"}],
)
@pytest.mark.parametrize("features", [(2, 0), (0, 3)])
def test_scores_are_the_formulas_pair_by_pair(
    changes: dict[str, Any], features: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = make_stream(features=features[0], node_features=features[1])
    model, queries = build(stream, **changes), some_queries()
    with torch.no_grad():
        plain = torch.stack(
            [
                torch.stack([plain_score(model, stream, int(u), int(v), int(t)) for v in queries.candidates])
                for u, t in zip(queries.src, queries.t, strict=True)
            ]
        )
        torch.testing.assert_close(model.score(queries), plain, rtol=1e-4, atol=1e-5)
        monkeypatch.setattr(tcl_model, "PAIRS_AT_ONCE", 13)
        monkeypatch.setattr(tcl_towers, "TOKENS_AT_ONCE", 40)
        torch.testing.assert_close(model.score(queries), plain, rtol=1e-4, atol=1e-5)


def test_a_tower_over_its_own_tokens_is_torchs_encoder_layer() -> None:
    torch.manual_seed(0)
    ours = Tower(12, 3, 0.0)
    theirs = nn.TransformerEncoderLayer(12, 3, 48, 0.0, batch_first=True, norm_first=False)
    names = {"self_attn.in_proj_": "in_proj.", "self_attn.out_proj.": "out_proj."}
    renamed = {}
    for name, value in theirs.state_dict().items():
        for old, new in names.items():
            name = name.replace(old, new)
        renamed[name] = value
    ours.load_state_dict(renamed)
    x, mask = torch.randn(5, 7, 12), torch.arange(7) < torch.tensor([7, 1, 3, 7, 5])[:, None]
    expected = theirs(x, src_key_padding_mask=~mask)
    torch.testing.assert_close(ours(x, mask)[mask], expected[mask], rtol=1e-5, atol=1e-6)


def test_swapping_the_ends_swaps_their_embeddings() -> None:
    model = build(make_stream(), kernel="rbf")
    u, v, t = np.array([0, 1, 2, 18, 5]), np.array([7, 1, 19, 3, 6]), np.array([390, 200, 300, 100, 0])
    with torch.no_grad():
        (z_u, z_v), (swapped_u, swapped_v) = model.embed_pairs(u, v, t), model.embed_pairs(v, u, t)
    torch.testing.assert_close(z_u, swapped_v)
    torch.testing.assert_close(z_v, swapped_u)
    assert not torch.allclose(z_u, z_v)


def test_parameters_are_those_of_the_reference() -> None:
    model = TCL(9_227, 172, 80_111.6, TCLConfig(node_dim=172))
    assert sum(value.numel() for value in model.parameters()) == 824_940 + 59_513


@pytest.mark.parametrize("kernel", ["laplacian", "rbf"])
def test_an_infinite_width_is_the_plain_model_to_the_bit(kernel: str) -> None:
    stream, queries = make_stream(), some_queries()
    plain, wide = build(stream), build(stream, kernel=kernel, width=float("inf"))
    assert torch.equal(plain.score(queries), wide.score(queries))
    assert not torch.equal(plain.score(queries), build(stream, kernel=kernel).score(queries))


def test_only_ages_count_and_not_when_the_clock_began() -> None:
    there = build(make_stream(shift=1_700_000_000), kernel="laplacian").score(some_queries(1_700_000_000))
    assert torch.equal(build(make_stream(), kernel="laplacian").score(some_queries()), there)


def test_learning_and_evaluation_score_alike() -> None:
    stream, queries = make_stream(), some_queries()
    model = build(stream, kernel="laplacian")
    learning = model.train().score(queries)
    torch.testing.assert_close(learning, model.eval().score(queries))
    assert learning.requires_grad


@pytest.mark.parametrize("encoder", TIME_ENCODERS)
def test_every_time_encoder_and_kernel_learns(encoder: str) -> None:
    stream = make_stream(node_features=3)
    part = stream[50:]
    for kernel in KERNELS:
        model = build(stream, kernel=kernel, time_encoder=encoder, dropout=0.1).train()
        logits = model.score(Queries(part.src, part.t, np.stack((part.dst, part.dst[::-1]), axis=1)))
        logits.square().sum().backward()  # type: ignore[no-untyped-call]
        learning = {key: value for key, value in model.named_parameters() if value.requires_grad}
        silent = [key for key, value in learning.items() if value.grad is None or not value.grad.any()]
        assert silent == []
        assert all(torch.isfinite(value.grad).all() for value in learning.values() if value.grad is not None)


def test_a_state_is_kept_to_the_bit() -> None:
    model, queries = build(make_stream(node_features=2)), some_queries()
    other = build(make_stream(events=5, node_features=2))
    other.load_stream_state(model.stream_state())
    assert torch.equal(model.score(queries), other.score(queries))
    with pytest.raises(InputError, match="'t' is missing"):
        other.load_stream_state({k: v for k, v in model.stream_state().items() if k != "t"})


def test_heads_that_do_not_divide_a_token_are_refused() -> None:
    with pytest.raises(InputError, match="3 heads cannot share a token of 172; choose a divisor"):
        TCLConfig(heads=3)
