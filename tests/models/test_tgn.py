"""TGN: its parameters, its fast paths against the plain one, and its state."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from keat.errors import InputError
from keat.events import EventStream
from keat.experiments.computed import counts_by_part
from keat.kernels import KERNELS
from keat.models.contract import Queries
from keat.models.registry import build_model
from keat.models.tgn import TGN, TGNConfig
from keat.time_encoding import TIME_ENCODERS

SMALL = TGNConfig(dim=16, neighbors=4)
NODES = 40


def make_stream(events: int = 400, features: int = 3, seed: int = 0) -> EventStream:
    rng = np.random.default_rng(seed)
    return EventStream.from_arrays(
        rng.integers(0, NODES - 5, events),  # the last five never occur
        rng.integers(0, NODES - 5, events),
        np.sort(rng.integers(0, 50_000, events)) + 1_600_000_000,
        rng.standard_normal((events, features), dtype=np.float32),
        num_nodes=NODES,
    )


def fed(config: TGNConfig, stream: EventStream, block: int = 50) -> TGN:
    model: TGN = build_model(stream, config)
    for part in stream.blocks(block):
        model.observe(part)
    return model


def shared_queries(stream: EventStream, number: int = 9) -> Queries:
    """Different sources and times, all nodes as candidates."""
    t = int(stream.t[-1]) + np.arange(number) * 777 + 1
    return Queries(np.arange(number, dtype=np.int32), t, np.arange(NODES, dtype=np.int32))


def own_queries(queries: Queries) -> Queries:
    return replace(queries, candidates=np.tile(queries.candidates, (len(queries.src), 1)))


COUNTS = {  # of the paper's parameter table: memory, attention, predictor, time encoding
    "cosine": (172_400, 67_800, 20_301, 200),
    "fixed": (172_200, 67_600, 20_301, 0),
    "lete-fourier": (272_500, 167_900, 20_301, 100_300),
    "lete-spline": (262_400, 157_800, 20_301, 90_200),
    "lete": (220_250, 115_650, 20_301, 48_050),
}
TOTALS = {
    "cosine": 260_301,
    "fixed": 260_101,
    "lete-fourier": 360_401,
    "lete-spline": 350_301,
    "lete": 308_151,
}


@pytest.mark.parametrize("encoder", COUNTS)
@pytest.mark.parametrize("kernel", ["identity", "laplacian"])
def test_parameter_counts_are_the_papers(encoder: str, kernel: str) -> None:
    model = TGN(9_227, 172, 80_111.6, TGNConfig(time_encoder=encoder, kernel=kernel))
    counts = counts_by_part(model)
    assert (
        tuple(counts[part] for part in ("memory", "attention", "predictor", "time encoding"))
        == COUNTS[encoder]
    )
    assert counts["total"] == TOTALS[encoder]


@pytest.mark.parametrize("delta", ["neighbor", "query"])
@pytest.mark.parametrize("kernel", ["laplacian", "rbf"])
def test_an_infinite_width_is_the_plain_model_to_the_bit(delta: str, kernel: str) -> None:
    stream = make_stream()
    plain = fed(replace(SMALL, delta=delta), stream)  # type: ignore[arg-type]
    wide = fed(replace(SMALL, delta=delta, kernel=kernel, width=float("inf")), stream)  # type: ignore[arg-type]
    wide.load_state_dict(plain.state_dict(), strict=False)
    for queries in (shared_queries(stream), own_queries(shared_queries(stream))):
        with torch.no_grad():
            assert torch.equal(plain.score(queries), wide.score(queries))


@pytest.mark.parametrize("modulate", ["edge", "node", "both", "none"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_all_times_at_once_equals_one_embedding_a_pair(kernel: str, modulate: str) -> None:
    """The factorized path of --delta query against the plain one."""
    stream = make_stream()
    config = replace(SMALL, delta="query", kernel=kernel, modulate=modulate, width=3.0)  # type: ignore[arg-type]
    model = fed(config, stream)
    with torch.no_grad():
        fast, plain = model.score(shared_queries(stream)), model.score(own_queries(shared_queries(stream)))
    torch.testing.assert_close(fast, plain, rtol=2e-4, atol=2e-5)


def test_all_times_at_once_with_separate_value_weights_and_no_features() -> None:
    stream = make_stream(features=0)
    model = fed(replace(SMALL, delta="query", kernel="gated", shared_edge_weights=False), stream)
    with torch.no_grad():
        fast, plain = model.score(shared_queries(stream)), model.score(own_queries(shared_queries(stream)))
    torch.testing.assert_close(fast, plain, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("encoder", TIME_ENCODERS)
@pytest.mark.parametrize("delta", ["neighbor", "query"])
def test_shared_candidates_score_as_own_ones(encoder: str, delta: str) -> None:
    stream = make_stream()
    model = fed(replace(SMALL, delta=delta, time_encoder=encoder, kernel="laplacian"), stream)  # type: ignore[arg-type]
    with torch.no_grad():
        fast, plain = model.score(shared_queries(stream)), model.score(own_queries(shared_queries(stream)))
    torch.testing.assert_close(fast, plain, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("block", [1, 7])
def test_kept_candidates_are_refreshed_exactly(block: int) -> None:
    """Asking after every few events reuses projections of candidates; a model asked once does not."""
    stream = make_stream(events=120)
    often, once = build_model(stream, SMALL), build_model(stream, SMALL)
    candidates = np.arange(NODES, dtype=np.int32)
    with torch.no_grad():
        for part in stream.blocks(block):
            queries = Queries(part.src, part.t, candidates)
            kept = often.score(queries)
            fresh = once.score(replace(queries, candidates=candidates.copy()))  # another list: nothing kept
            torch.testing.assert_close(kept, fresh)
            for model in (often, once):
                model.observe(part)


def test_query_time_matters_only_where_it_should() -> None:
    stream = make_stream()
    for delta, matters in (("neighbor", False), ("query", True)):
        model = fed(replace(SMALL, delta=delta, kernel="laplacian"), stream)  # type: ignore[arg-type]
        now = shared_queries(stream)
        with torch.no_grad():
            later = model.score(replace(now, t=now.t + 10_000))
            assert torch.equal(model.score(now), later) != matters


def test_attention_reaches_the_seeds() -> None:
    """Changing a past event's feature changes the embeddings of its two ends, and only theirs."""
    stream = make_stream()
    model = fed(SMALL, stream)
    everyone = torch.arange(NODES)
    with torch.no_grad():
        before = model.embed(everyone)
        last = model.state._log.length - 1
        model.state._log.features[last] += 5.0
        changed = (model.embed(everyone) - before).abs().amax(dim=1) > 0
    assert set(torch.nonzero(changed)[:, 0].tolist()) == {int(stream.src[-1]), int(stream.dst[-1])}


def test_training_reuses_what_the_scores_computed() -> None:
    """Observing after scoring leaves the same state as observing without having scored."""
    stream = make_stream()
    scored, silent = (build_model(stream, SMALL).train() for _ in range(2))
    for part in stream.blocks(40):
        with torch.no_grad():
            scored.score(Queries(part.src, part.t, np.stack((part.dst, part.dst[::-1]), axis=1)))
        for model in (scored, silent):
            model.observe(part)
    torch.testing.assert_close(scored.state.memory, silent.state.memory)
    assert torch.equal(scored.state.last_update, silent.state.last_update)
    assert torch.equal(scored.state._memory.pending, silent.state._memory.pending)


def test_every_parameter_learns() -> None:
    stream = make_stream()
    for name in KERNELS:
        model = build_model(stream, replace(SMALL, kernel=name)).train()
        model.observe(stream[:200])
        part = stream[200:260]
        logits = model.score(Queries(part.src, part.t, np.stack((part.dst, part.dst[::-1]), axis=1)))
        logits.square().sum().backward()
        silent = [
            key for key, value in model.named_parameters() if value.grad is None or not value.grad.any()
        ]
        assert silent == []


def test_state_round_trips_with_only_the_events_still_pointed_to() -> None:
    stream = make_stream(events=900)
    model = fed(replace(SMALL, kernel="laplacian"), stream)
    state = model.stream_state()
    assert len(state["log.t"]) < 900
    copy = build_model(stream, replace(SMALL, kernel="laplacian"))
    copy.load_stream_state({name: value.clone() for name, value in state.items()})
    more = make_stream(seed=5)
    later = EventStream.from_arrays(more.src, more.dst, more.t + 100_000, more.features, num_nodes=NODES)
    with torch.no_grad():
        for part in later.blocks(60):
            queries = shared_queries(part)
            assert torch.equal(model.score(queries), copy.score(queries))
            for twin in (model, copy):
                twin.observe(part)


def test_unknown_delta_is_refused() -> None:
    with pytest.raises(InputError, match="must be 'neighbor' or 'query'"):
        TGN(3, 0, 1.0, TGNConfig(delta="quer"))  # type: ignore[arg-type]
