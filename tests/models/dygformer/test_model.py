"""DyGFormer beside its formulas, written out pair by pair; and what must hold of it whatever the stream."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from pair_by_pair import Reference, as_multihead
from torch import Tensor

from keat.errors import InputError, KeatError
from keat.events import EventStream
from keat.models.contract import Queries
from keat.models.dygformer import READINGS, DyGFormer, DyGFormerConfig
from keat.models.dygformer.encoder import Layer

SMALL = DyGFormerConfig(length=8, channel=10, time_dim=12, out_dim=14, dropout=0.0)
NODES = 14


def stream(seed: int, events: int = 90, features: int = 3, start: int = 0, span: int = 60) -> EventStream:
    """Nodes repeat, times tie, some events are of a node with itself, and two nodes never appear."""
    rng = np.random.default_rng(seed)
    return EventStream.from_arrays(
        rng.integers(0, NODES - 2, events),
        rng.integers(0, NODES - 2, events),
        start + np.sort(rng.integers(0, span, events)),
        features=rng.normal(size=(events, features)).astype(np.float32),
        num_nodes=NODES,
    )


def build(config: DyGFormerConfig, events: EventStream, sigma: float = 20.0) -> DyGFormer:
    torch.manual_seed(1)
    model = DyGFormer(NODES, events.feature_dim, sigma, config).eval()
    model.observe(events)
    return model


def questions(events: EventStream, candidates: int = 5, seed: int = 0) -> Queries:
    rng = np.random.default_rng(seed)
    ask = np.sort(rng.choice(len(events), 7, replace=False))
    return Queries(events.src[ask], events.t[ask], rng.integers(0, NODES, (7, candidates)).astype(np.int32))


def in_reference(model: DyGFormer, events: EventStream, queries: Queries) -> Tensor:
    candidates = np.broadcast_to(queries.candidates, queries.shape)
    with torch.no_grad():
        return Reference(model, events).score(queries.src.tolist(), queries.t.tolist(), candidates)


def test_parameters_are_as_many_as_in_the_reference() -> None:
    model = DyGFormer(9_227, 172, 1.0, DyGFormerConfig())
    assert sum(p.numel() for p in model.parameters()) == 1_078_485


@pytest.mark.parametrize("patch", [1, 4])
@pytest.mark.parametrize("cooccurrence", ["kernel", "both"])
def test_fading_cooccurrence_is_that_of_the_formulas(cooccurrence: Any, patch: int) -> None:
    events = stream(1)
    model = build(replace(SMALL, cooccurrence=cooccurrence, patch=patch), events)
    queries = questions(events)
    torch.testing.assert_close(
        model.score(queries), in_reference(model, events, queries), atol=1e-5, rtol=1e-5
    )


def test_fading_at_infinite_widths_is_counting() -> None:
    events = stream(2)
    counts, fading = build(SMALL, events), build(replace(SMALL, cooccurrence="kernel"), events)
    parameters = counts.state_dict()
    weight = parameters.pop("channels.count.0.weight")
    for name in ("0.bias", "2.weight", "2.bias"):
        parameters[f"channels.fading.{name}"] = parameters.pop(f"channels.count.{name}")
    kernels = len(fading.widths)
    parameters["channels.fading.0.weight"] = weight.expand(-1, kernels) / kernels
    fading.load_state_dict(parameters)
    queries = questions(events)
    assert not torch.allclose(counts.score(queries), fading.score(queries), atol=1e-4)
    fading.widths = np.full(kernels, np.inf)
    torch.testing.assert_close(counts.score(queries), fading.score(queries), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("patch", [1, 2, 4])
@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("features", [0, 3])
def test_plain_scores_are_those_of_the_formulas(patch: int, legacy: bool, features: int) -> None:
    events = stream(0, features=features)
    model = build(replace(SMALL, patch=patch, legacy_padding=legacy), events)
    queries = questions(events)
    torch.testing.assert_close(
        model.score(queries), in_reference(model, events, queries), atol=1e-5, rtol=1e-5
    )


@pytest.mark.parametrize("kernel", ["laplacian", "rbf", "mlp", "mixture", "gated"])
@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("patch", [1, 4])
def test_readings_are_those_of_the_formulas(kernel: str, reading: Any, patch: int) -> None:
    """The reference divides the query by ψ in float64; ages are a few σ, so that it can."""
    events = stream(1)
    model = build(replace(SMALL, kernel=kernel, reading=reading, patch=patch), events)
    with torch.no_grad():
        for parameter in model.kernel.parameters():  # a different shape for each head
            parameter.add_(torch.randn_like(parameter), alpha=0.3)
    queries = questions(events)
    torch.testing.assert_close(
        model.score(queries), in_reference(model, events, queries), atol=2e-4, rtol=1e-4
    )


def test_legacy_padding_of_the_release_has_the_age_of_time_zero() -> None:
    events = stream(2)
    config = replace(SMALL, kernel="laplacian", legacy_padding=True, patch=2)
    model = build(config, events)
    queries = questions(events)
    torch.testing.assert_close(
        model.score(queries), in_reference(model, events, queries), atol=2e-4, rtol=1e-4
    )


def test_attention_is_that_of_torch() -> None:
    events = stream(3)
    model = build(SMALL, events)
    layer = model.encoder.layers[0]
    assert isinstance(layer, Layer)
    x = torch.randn(3, 6, 40)
    z = layer.attention.norm(x)
    expected, _ = as_multihead(layer, 40, 2)(z, z, z)
    pieces = [layer.attention.project(x.view(18, 40), None)[0].view(3, 6, -1)]
    ours = layer.attention.out_proj(layer.attention.attend(pieces, None, None))
    torch.testing.assert_close(ours, expected)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("kernel", ["laplacian", "rbf", "gated"])
def test_an_infinite_width_is_the_plain_model_bit_for_bit(kernel: str, reading: Any) -> None:
    events = stream(4)
    plain = build(SMALL, events)
    wide = build(replace(SMALL, kernel=kernel, width=float("inf"), reading=reading), events)
    wide.load_state_dict(plain.state_dict(), strict=False)
    queries = questions(events)
    assert torch.equal(plain.score(queries), wide.score(queries))


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("width", [1e-6, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("kernel", ["laplacian", "rbf", "mlp-unbounded"])
def test_a_billion_seconds_overflow_nothing(kernel: str, reading: Any, width: float) -> None:
    """Nor does the gradient, whatever σ is."""
    events = stream(5, start=10**9, span=10**9)
    model = build(replace(SMALL, kernel=kernel, reading=reading, width=width), events, sigma=80_000.0)
    queries = questions(events)
    assert torch.isfinite(model.score(queries)).all()
    model.train()
    model.score(queries).square().sum().backward()  # type: ignore[no-untyped-call]
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("kernel", ["identity", "laplacian"])
def test_a_score_depends_on_no_other_pair(kernel: str, reading: Any) -> None:
    events = stream(6)
    model = build(replace(SMALL, kernel=kernel, reading=reading, patch=2), events)
    queries = questions(events)
    together = model.score(queries)
    for i in range(len(queries.src)):
        for j in range(queries.shape[1]):
            alone = Queries(
                queries.src[i : i + 1], queries.t[i : i + 1], queries.candidates[i : i + 1, j : j + 1]
            )
            torch.testing.assert_close(model.score(alone)[0, 0], together[i, j], atol=1e-6, rtol=1e-5)


def test_shared_candidates_are_own_candidates() -> None:
    events = stream(7)
    model = build(SMALL, events)
    queries = questions(events)
    everyone = np.arange(NODES + 3, dtype=np.int32)  # some never heard of
    shared = Queries(queries.src, queries.t, everyone)
    own = Queries(queries.src, queries.t, np.tile(everyone, (len(queries.src), 1)))
    assert torch.equal(model.score(shared), model.score(own))
    torch.testing.assert_close(model.score(shared), in_reference(model, events, own), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("cooccurrence", ["counts", "kernel"])
def test_candidates_without_a_past_tie_exactly(cooccurrence: Any) -> None:
    events = stream(8)
    model = build(replace(SMALL, cooccurrence=cooccurrence), events)
    scores = model.score(Queries(events.src[60:62], events.t[60:62], np.array([12, 13, 90], dtype=np.int32)))
    assert torch.equal(scores[:, 0], scores[:, 1])
    assert torch.equal(scores[:, 0], scores[:, 2])


@pytest.mark.parametrize("cooccurrence", ["counts", "both"])
def test_the_future_changes_nothing(cooccurrence: Any) -> None:
    events = stream(9)
    model = build(replace(SMALL, cooccurrence=cooccurrence), events)
    queries = questions(events)
    knowing = model.score(queries)
    for i, now in enumerate(queries.t):
        model.reset()
        model.observe(events[: int(np.searchsorted(events.t, now))])
        alone = Queries(queries.src[i : i + 1], queries.t[i : i + 1], queries.candidates[i : i + 1])
        torch.testing.assert_close(model.score(alone)[0], knowing[i], atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("kernel", ["identity", "laplacian", "mixture"])
@pytest.mark.parametrize("cooccurrence", ["counts", "kernel", "both"])
def test_fast_evaluation_is_the_training_forward(
    kernel: str, reading: Any, cooccurrence: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without dropout both are one function, whatever is bundled with what."""
    events = stream(10)
    model = build(replace(SMALL, kernel=kernel, reading=reading, cooccurrence=cooccurrence), events)
    queries = questions(events, candidates=12)
    monkeypatch.setattr("keat.models.dygformer.model.PAIRS_AT_ONCE", 10)
    monkeypatch.setattr("keat.models.dygformer.model.TOKENS_SCORING", 30)
    fast = model.score(queries)
    model.train()
    torch.testing.assert_close(fast, model.score(queries).detach(), atol=1e-5, rtol=1e-5)


def test_state_brings_scores_back() -> None:
    events = stream(11)
    model = build(SMALL, events)
    again = build(SMALL, events[:10])
    again.load_state_dict(model.state_dict())
    again.load_stream_state({name: part.clone() for name, part in model.stream_state().items()})
    queries = questions(events)
    assert torch.equal(again.score(queries), model.score(queries))


def test_node_features_are_a_channel() -> None:
    events = stream(12)
    known = EventStream.from_arrays(
        events.src,
        events.dst,
        events.t,
        features=events.features,
        num_nodes=NODES,
        node_features=np.random.default_rng(0).normal(size=(NODES, 2)).astype(np.float32),
    )
    model = build(replace(SMALL, node_dim=2, patch=2), known)
    scores = model.score(Queries(events.src[60:61], events.t[60:61], np.array([12, 13], dtype=np.int32)))
    assert scores[0, 0] != scores[0, 1]


def test_bad_choices_are_named() -> None:
    with pytest.raises(InputError, match="a multiple of the patch, and 8 is none of 3"):
        build(replace(SMALL, patch=3), stream(0))
    with pytest.raises(KeatError, match="Unknown reading 'edge'"):
        build(replace(SMALL, reading="edge"), stream(0))  # type: ignore[arg-type]
    with pytest.raises(KeatError, match="Unknown co-occurrence 'count'"):
        build(replace(SMALL, cooccurrence="count"), stream(0))  # type: ignore[arg-type]


def test_training_is_reproducible_and_drops() -> None:
    events = stream(13)
    model = build(replace(SMALL, dropout=0.3), events).train()
    queries = questions(events)
    torch.manual_seed(3)
    first, second = model.score(queries), model.score(queries)
    torch.manual_seed(3)
    assert torch.equal(model.score(queries), first)
    assert not torch.equal(first, second)
