"""TGAT against a recursion written down as the formulas are, its parameters, and what is embedded once."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from keat.errors import KeatError
from keat.events import EventStream
from keat.models.contract import Queries
from keat.models.decoders import MergeLayer
from keat.models.temporal_attention import TemporalAttention
from keat.models.tgat import TGAT, TGATConfig
from keat.ops import compiling

NODES = 14
SMALL = TGATConfig(neighbors=3, time_dim=5, out_dim=6, dropout=0.0)


def make_stream(events: int = 60, features: int = 2, node_features: int = 3, times: int = 25) -> EventStream:
    rng = np.random.default_rng(1)
    return EventStream.from_arrays(
        rng.integers(0, 6, events),
        rng.integers(6, NODES - 1, events),
        np.sort(rng.integers(0, times, events)) * 10,
        rng.standard_normal((events, features), dtype=np.float32),
        num_nodes=NODES,
        node_features=rng.standard_normal((NODES, node_features)) if node_features else None,
    )


def build(stream: EventStream, config: TGATConfig) -> TGAT:
    torch.manual_seed(3)
    dim = 0 if stream.node_features is None else stream.node_features.shape[1]
    model = TGAT(NODES, stream.feature_dim, 70.0, replace(config, node_dim=dim))
    model.observe(stream)
    return model


def plain_embedding(model: TGAT, stream: EventStream, node: int, t: int, layer: int) -> Tensor:
    """hˡ of one node at one time, with nothing shared and nothing rearranged."""
    config = model.config
    raw = torch.zeros(1) if stream.node_features is None else torch.tensor(stream.node_features[node])
    if layer == 0:
        return raw
    attention, merge = model.attentions[layer - 1], model.merges[layer - 1]
    assert isinstance(attention, TemporalAttention)
    assert isinstance(merge, MergeLayer)
    h = plain_embedding(model, stream, node, t, layer - 1)
    asked = torch.cat((h, model.time_encoder(torch.zeros(1, dtype=torch.int64))[0]))
    asked = torch.cat((asked, torch.zeros(-len(asked) % config.heads)))
    query = (attention.lin_query.weight @ asked).view(config.heads, -1)
    past = [i for i in range(len(stream)) if node in (stream.src[i], stream.dst[i]) and stream.t[i] < t][
        -config.neighbors :
    ]
    logits, values = [], []
    for i in past:
        other = int(stream.dst[i] if stream.src[i] == node else stream.src[i])
        age = torch.tensor([t - int(stream.t[i])])
        psi = model.kernel(age)[0].expand(config.heads)  # (H,)
        on_node = psi if config.modulate in ("node", "both") else torch.ones(config.heads)
        on_edge = psi if config.modulate in ("edge", "both") else torch.ones(config.heads)
        about_node = plain_embedding(model, stream, other, int(stream.t[i]), layer - 1)
        about_edge = torch.cat((model.time_encoder(age)[0], torch.tensor(stream.features[i])))
        rows = torch.stack(
            [
                torch.cat((on_node[head] * about_node, on_edge[head] * about_edge))
                for head in range(config.heads)
            ]
        )
        keys = attention.lin_key.weight.view(config.heads, -1, rows.shape[1])
        logits.append(torch.einsum("hc,hcd,hd->h", query, keys, rows) / math.sqrt(query.shape[1]))
        values.append(torch.einsum("hcd,hd->hc", attention.lin_value.weight.view_as(keys), rows))
    mixed = torch.zeros_like(query)
    if past:
        alpha = torch.stack(logits).softmax(dim=0)  # (K, H)
        mixed = torch.einsum("kh,khc->hc", alpha, torch.stack(values))
    out = attention.norm(attention.lin_out(mixed.flatten()) + asked)
    hidden = torch.relu(merge.fc1(torch.cat((out, raw))))
    final: Tensor = merge.fc2(hidden)
    return final


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("modulate", ["edge", "node", "both", "none"])
@pytest.mark.parametrize("kernel", ["identity", "laplacian", "learnable"])
def test_embeddings_and_gradients_are_the_formulas(
    kernel: str, modulate: str, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not compiled:  # what other devices do
        monkeypatch.setattr(compiling, "DEVICES", frozenset())
    stream = make_stream()
    model = build(stream, replace(SMALL, kernel=kernel, modulate=modulate))  # type: ignore[arg-type]
    moments = [(0, 130), (0, 131), (7, 250), (7, 251), (5, 0), (NODES - 1, 90), (9, 60)]
    nodes, t = (np.array(part) for part in zip(*moments, strict=True))
    grads = []
    for z in (
        model.embed(nodes, t),
        torch.stack([plain_embedding(model, stream, *moment, layer=2) for moment in moments]),
    ):
        model.zero_grad()
        (z * torch.arange(z.numel()).view_as(z)).sum().backward()  # type: ignore[no-untyped-call]
        grads.append([z.detach(), *(p.grad.clone() for p in model.parameters() if p.grad is not None)])
    for fast, plain in zip(*grads, strict=True):
        torch.testing.assert_close(fast, plain, rtol=2e-4, atol=1e-4 * float(plain.abs().max()) + 1e-6)


@pytest.mark.parametrize("layers", [1, 3])
def test_other_depths_without_any_features(layers: int) -> None:
    stream = make_stream(features=0, node_features=0)
    model = build(stream, replace(SMALL, layers=layers, kernel="rbf")).eval()
    nodes, t = np.arange(NODES), np.full(NODES, 200)
    with torch.no_grad():
        plain = torch.stack([plain_embedding(model, stream, i, 200, layers) for i in range(NODES)])
        torch.testing.assert_close(model.embed(nodes, t), plain, rtol=1e-4, atol=1e-5)


def test_a_moment_is_embedded_once() -> None:
    """The lower layer sees every (neighbour, event time) once, however many events and seeds lead to it."""
    stream = make_stream(events=400, times=6)
    model = build(stream, replace(SMALL, neighbors=10)).eval()
    seen: list[int] = []
    inner = model.attentions[0]
    inner.register_forward_hook(lambda _module, inputs, _out: seen.append(len(inputs[0])))
    queries = Queries(np.array([0, 1], np.int32), np.array([55, 55]), np.arange(NODES, dtype=np.int32))
    model.score(queries)
    candidates = [(node, 55) for node in range(NODES)]
    below = {
        (int(stream.dst[i] if stream.src[i] == node else stream.src[i]), int(stream.t[i]))
        for node, _ in candidates
        for i in [j for j in range(400) if node in (stream.src[j], stream.dst[j])][-10:]
    }
    assert seen[-1] == len(candidates) + len(below)
    assert len(below) < 10 * NODES / 2


def test_parameters_are_those_of_the_reference() -> None:
    """One zero node feature, wikipedia's 172 event features; [h ‖ φ(0)] of 101 is rounded up to 102."""
    model = TGAT(9_227, 172, 80_111.6, TGATConfig())
    shapes = {name: tuple(value.shape) for name, value in model.named_parameters()}
    assert shapes["attentions.0.lin_query.weight"] == (102, 102)
    assert shapes["attentions.0.lin_key.weight"] == (102, 1 + 100 + 172)
    assert shapes["merges.0.fc1.weight"] == (172, 102 + 1)
    assert shapes["attentions.1.lin_query.weight"] == (272, 272)
    assert shapes["attentions.1.lin_value.weight"] == (272, 172 + 100 + 172)
    assert shapes["merges.1.fc1.weight"] == (172, 272 + 1)
    assert shapes["decoder.fc1.weight"] == (172, 344)
    first = 2 * 102 * 102 + 2 * 273 * 102 + 102 + 2 * 102 + 172 * 103 + 172 + 172 * 172 + 172
    second = 2 * 272 * 272 + 2 * 444 * 272 + 272 + 2 * 272 + 172 * 273 + 172 + 172 * 172 + 172
    decoder = 344 * 172 + 172 + 172 + 1
    assert sum(value.numel() for value in model.parameters()) == 200 + first + second + decoder


def test_unknown_modulation_is_refused() -> None:
    with pytest.raises(KeatError, match="modulation"):
        TGAT(3, 0, 1.0, TGATConfig(modulate="edges"))  # type: ignore[arg-type]
