"""What TGAT and GraphMixer share: one embedding for each (node, time), and nothing but the past in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from keat.errors import InputError
from keat.events import EventStream
from keat.kernels import KERNELS
from keat.models import node_time
from keat.models.contract import Queries
from keat.models.graphmixer import GraphMixer, GraphMixerConfig
from keat.models.node_time import NodeTimeModel, distinct_moments
from keat.models.tgat import TGAT, TGATConfig
from keat.time_encoding import TIME_ENCODERS

NODES = 30
SIGMA = 400.0
CONFIGS: dict[str, tuple[Callable[..., NodeTimeModel], Any]] = {
    "tgat": (TGAT, TGATConfig(neighbors=4, time_dim=6, out_dim=8)),
    "graphmixer": (GraphMixer, GraphMixerConfig(neighbors=6, time_dim=6, channels=8, out_dim=8)),
}
both = pytest.mark.parametrize("name", CONFIGS)


def make_stream(events: int = 250, seed: int = 0, node_features: int | None = None) -> EventStream:
    """A coarse clock, so that times tie; the last five nodes never occur."""
    rng = np.random.default_rng(seed)
    return EventStream.from_arrays(
        rng.integers(0, NODES - 5, events),
        rng.integers(0, NODES - 5, events),
        np.sort(rng.integers(0, 300, events)) * 20 + 1_600_000_000,
        rng.standard_normal((events, 3), dtype=np.float32),
        num_nodes=NODES,
        node_features=None if node_features is None else rng.standard_normal((NODES, node_features)),
    )


def build(name: str, stream: EventStream | None = None, **changes: Any) -> NodeTimeModel:
    kind, config = CONFIGS[name]
    torch.manual_seed(0)
    model = kind(NODES, 3, SIGMA, replace(config, **changes)).eval()
    if stream is not None:
        for first in range(0, len(stream) + 1, 40):
            model.observe(stream[first : first + 40])
    return model


def some_queries(stream: EventStream) -> Queries:
    """Sources and times all over the stream, two at the time of an event; all nodes as candidates."""
    t = np.array([0, *stream.t[[40, 90, 90, 170]], stream.t[-1] + 1, stream.t[-1] + 10_000])
    return Queries(np.array([0, 3, 5, 6, 3, 29, 0], np.int32), t, np.arange(NODES, dtype=np.int32))


def own(queries: Queries) -> Queries:
    return replace(queries, candidates=np.tile(queries.candidates, (len(queries.src), 1)))


def test_distinct_moments_are_found_once_in_order() -> None:
    rng = np.random.default_rng(0)
    nodes, t = rng.integers(0, 5, 200), rng.integers(0, 4, 200) * (2**60)  # node · span would overflow
    first, place = distinct_moments(nodes, t)
    moments = list(zip(nodes.tolist(), t.tolist(), strict=True))
    assert [moments[i] for i in first] == sorted(set(moments))
    assert [moments[i] for i in first[place]] == moments


@both
def test_observing_more_changes_no_score(name: str) -> None:
    """A score at t reads events strictly before t, however much was observed."""
    stream = make_stream()
    whole = build(name, stream)
    for time in np.unique(stream.t)[[0, 1, 40, 120, -1]]:
        queries = Queries(np.arange(9, dtype=np.int32), np.full(9, time), np.arange(NODES, dtype=np.int32))
        before = build(name, stream[: int(np.searchsorted(stream.t, time))])
        assert torch.equal(whole.score(queries), before.score(queries))


@both
def test_an_event_counts_from_the_next_instant(name: str) -> None:
    stream = make_stream()
    t, node = int(stream.t[-1]) + 5, np.array([2], np.int32)
    model = build(name, stream)
    ask = [Queries(node, np.array([at]), np.array([[3, 4]], np.int32)) for at in (t, t + 1)]
    before = [model.score(queries) for queries in ask]
    model.observe(EventStream.from_arrays([2], [3], [t], np.ones((1, 3), np.float32), num_nodes=NODES))
    assert torch.equal(model.score(ask[0]), before[0])
    assert not torch.equal(model.score(ask[1]), before[1])


@both
@pytest.mark.parametrize("at_once", [7, 1000])
def test_scores_are_those_of_each_pair_alone(
    name: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = make_stream()
    model = build(name, stream, kernel="laplacian")
    queries = some_queries(stream)
    with torch.no_grad():
        alone = torch.empty(queries.shape)
        for i, (source, t) in enumerate(zip(queries.src, queries.t, strict=True)):
            for j, candidate in enumerate(queries.candidates):
                u, v = (model.embed(np.array([node]), np.array([t])) for node in (source, candidate))
                alone[i, j] = model.decoder(u, v)
    for part in ("MOMENTS_AT_ONCE", "PAIRS_AT_ONCE"):
        monkeypatch.setattr(node_time, part, at_once)
    torch.testing.assert_close(model.score(queries), alone)
    torch.testing.assert_close(model.score(own(queries)), alone)


@both
def test_learning_and_evaluation_score_alike(name: str) -> None:
    stream = make_stream()
    model = build(name, stream, dropout=0.0)
    for queries in (some_queries(stream), own(some_queries(stream))):
        torch.testing.assert_close(model.train().score(queries), model.eval().score(queries))


@both
@pytest.mark.parametrize("kernel", ["laplacian", "rbf"])
def test_an_infinite_width_is_the_plain_model_to_the_bit(name: str, kernel: str) -> None:
    stream = make_stream()
    plain, wide = build(name, stream), build(name, stream, kernel=kernel, width=float("inf"))
    finite = build(name, stream, kernel=kernel)
    queries = some_queries(stream)
    assert torch.equal(plain.score(queries), wide.score(queries))
    assert not torch.equal(plain.score(queries), finite.score(queries))


@both
@pytest.mark.parametrize("encoder", TIME_ENCODERS)
def test_every_time_encoder_and_kernel_learns(name: str, encoder: str) -> None:
    stream = make_stream(node_features=4)
    for kernel in KERNELS:
        model = build(name, stream, kernel=kernel, time_encoder=encoder, node_dim=4).train()
        part = stream[200:240]
        logits = model.score(Queries(part.src, part.t, np.stack((part.dst, part.dst[::-1]), axis=1)))
        logits.square().sum().backward()  # type: ignore[no-untyped-call]
        learning = {key: value for key, value in model.named_parameters() if value.requires_grad}
        silent = [key for key, value in learning.items() if value.grad is None or not value.grad.any()]
        assert silent == []
        assert all(torch.isfinite(value.grad).all() for value in learning.values() if value.grad is not None)


@both
@pytest.mark.usefixtures("bfloat16")
def test_products_in_bfloat16_stay_close(name: str) -> None:
    stream = make_stream()
    model = build(name, stream, kernel="laplacian", dropout=0.0).train()
    queries = own(some_queries(stream))
    exact = model.score(queries)
    with torch.autocast("cpu", torch.bfloat16):
        rough = model.score(queries)
    rough.float().sum().backward()  # type: ignore[no-untyped-call]
    assert (rough.float() - exact).abs().max() < 0.05
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in model.decoder.parameters())


@both
def test_nodes_never_seen_before_are_served(name: str) -> None:
    model = build(name, make_stream(node_features=4), node_dim=4)
    queries = Queries(np.array([0, 900], np.int32), np.full(2, 2_000_000_000), np.array([3, 901], np.int32))
    assert torch.isfinite(model.score(queries)).all()
    later = EventStream.from_arrays([900], [901], [1_999_999_999], np.ones((1, 3), np.float32))
    before = model.score(queries)
    model.observe(later)
    after = model.score(queries)
    assert not torch.equal(after[1], before[1])


@both
def test_state_round_trips(name: str) -> None:
    stream = make_stream(node_features=4)
    model, copy = build(name, stream[:150], node_dim=4), build(name, node_dim=4)
    copy.load_stream_state({key: value.clone() for key, value in model.stream_state().items()})
    for part in stream[150:].blocks(30):
        queries = some_queries(stream)
        assert torch.equal(model.score(queries), copy.score(queries))
        for twin in (model, copy):
            twin.observe(part)
    model.reset()
    assert torch.equal(model.score(queries), build(name, node_dim=4).score(queries))


@both
def test_node_features_of_another_width_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="has 0 features a node, but the model was made for 4"):
        build(name, make_stream(), node_dim=4)
    with pytest.raises(InputError, match="has 2 features a node, but the model was made for 4"):
        build(name, make_stream(node_features=2), node_dim=4)


@both
def test_what_prediction_asks_of_the_state(name: str) -> None:
    stream = make_stream()
    model = build(name, stream[:60])
    assert model.last_time() == stream.t[59]
    assert model.destinations().tolist() == sorted(set(stream.dst[:60].tolist()))
