"""TPNet: parameters as published, tokens as the formulas, and one product for all candidates."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from keat.clock import Clock
from keat.errors import InputError, KeatError
from keat.events import EventStream
from keat.kernels import KERNELS
from keat.models.contract import LinkModel, Queries
from keat.models.tpnet import TPNet, TPNetConfig
from keat.models.tpnet import tpnet_model as model_file
from keat.models.tpnet.token_encoder import TokenEncoder

NODES, SIGMA = 12, 20.0
SMALL = TPNetConfig(
    decay="2,inf", projection_dim=8, neighbors=4, time_dim=5, channels=6, out_dim=7, dropout=0.0
)
FULL = replace(SMALL, memory_only=False)


def make_stream(events: int = 60, seed: int = 1) -> EventStream:
    rng = np.random.default_rng(seed)
    return EventStream.from_arrays(
        rng.integers(0, 6, events),
        rng.integers(3, NODES - 1, events),
        np.sort(rng.integers(0, 25, events)),
        rng.standard_normal((events, 2), dtype=np.float32),
        num_nodes=NODES,
    )


def build(config: TPNetConfig, clock: Clock | None = None) -> TPNet:
    torch.manual_seed(3)
    return TPNet(NODES, 2, SIGMA, config, clock or Clock()).eval()


def all_pairs(t: int = 30) -> Queries:
    """Strangers, the same candidate twice, and every source itself."""
    nodes = np.append(np.arange(NODES), [5, 5, 40]).astype(np.int32)
    return Queries(nodes[:NODES], np.full(NODES, t), nodes)


@pytest.mark.parametrize(
    ("settings", "features", "number"),
    [
        ({"steps": 3, "node_dim": 172, "memory_only": False}, 172, 836_953),
        ({"steps": 2, "node_dim": 0, "memory_only": False}, 172, 731_509),
        ({"steps": 2}, 172, 17_085),
    ],
)
def test_parameters_are_as_many_as_published(settings: dict[str, int], features: int, number: int) -> None:
    model = TPNet(5, features, 1.0, TPNetConfig(**settings))  # type: ignore[arg-type]
    assert sum(parameter.numel() for parameter in model.parameters()) == number


@pytest.mark.parametrize("projection", ["random", "exact"])
@pytest.mark.parametrize("delta", ["query", "event"])
def test_one_product_for_all_candidates_is_pair_by_pair(projection: str, delta: str) -> None:
    model = build(replace(SMALL, projection=projection, delta=delta))  # type: ignore[arg-type]
    model.observe(make_stream())
    queries = all_pairs()
    shared = model.score(queries)
    own = Queries(queries.src, queries.t, np.tile(queries.candidates, (NODES, 1)))
    torch.testing.assert_close(shared, model.score(own))
    naive = [[plain_logit(model, u, v, 30) for v in queries.candidates.tolist()] for u in range(NODES)]
    torch.testing.assert_close(shared, torch.tensor(naive), rtol=1e-4, atol=1e-5)


def gram_features(model: TPNet, u: int, v: int, t: int) -> Tensor:
    """f_uv from the whole matrix F Fᵀ, at once."""
    walks, config = model.walks, model.config
    walks.make_room(max(u, v) + 1)
    rows = walks._rows_now(np.array([u, v], np.int32))  # (2, M, K, d)
    past = max(t - walks.last_time, 0) if config.delta == "query" else 0
    grams = []
    for m, rate in enumerate(walks.rates.tolist()):
        fading = torch.exp(-rate * past * torch.arange(config.steps + 1))[:, None]
        f = torch.cat((rows[0, m] * fading, rows[1, m] * fading))  # (2K, d)
        grams.append((f @ f.T).flatten())
    r = torch.log1p(torch.cat(grams).clamp(min=0))
    features: Tensor = model.pair.linear2(torch.relu(model.pair.linear1(r)))
    return features


@torch.no_grad()
def plain_logit(model: TPNet, u: int, v: int, t: int, stream: EventStream | None = None) -> float:
    joined = [gram_features(model, u, v, t)]
    if stream is not None:
        assert isinstance(model.encoder, TokenEncoder)
        encoder, m = model.encoder, model.config.neighbors
        embedded = []
        for a in (u, v):
            past = [
                i
                for i in range(len(stream))
                for end in (stream.src[i], stream.dst[i])
                if end == a and stream.t[i] < t
            ]
            tokens = [torch.zeros(model.config.channels)] * (m - len(past[-m:]))
            for i in past[-m:]:
                w, age = int(stream.src[i] + stream.dst[i]) - a, torch.tensor([t - int(stream.t[i])])
                phi = encoder.time_encoder(torch.log1p(age.double()))[0]
                evidence = encoder.kernel(age)[0] * torch.cat((phi, torch.tensor(stream.features[i])))
                pair = (gram_features(model, w, u, t), gram_features(model, w, v, t))
                tokens.append(encoder.token(torch.cat((torch.zeros(1), evidence, *pair))))
            x = torch.stack(tokens)[None]
            for mixer in encoder.mixers:
                x = mixer(x)
            embedded.append(x[0].mean(dim=0))
        joined = [*embedded, *joined]
    hidden = torch.relu(model.decoder.fc1(torch.cat(joined)))
    return float(model.decoder.fc2(hidden))


@pytest.mark.parametrize("kernel", ["identity", "laplacian"])
def test_tokens_are_the_formulas(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where candidates come in pieces."""
    monkeypatch.setattr(model_file, "PAIRS_WITH_TOKENS", 9)
    stream, model = make_stream(), build(replace(FULL, kernel=kernel))
    model.observe(stream)
    queries = all_pairs()
    scores = model.score(queries)
    for u, v in ((0, 4), (3, 3), (5, 11), (11, 5), (2, 40)):
        column = queries.candidates.tolist().index(v)
        assert float(scores[u, column]) == pytest.approx(
            plain_logit(model, u, v, 30, stream), rel=1e-4, abs=1e-5
        )


@pytest.mark.parametrize("kernel", [name for name in KERNELS if "mlp" not in name])
def test_every_kernel_fades_the_tokens_and_an_infinite_width_does_not(kernel: str) -> None:
    stream, plain = make_stream(), build(FULL)
    plain.observe(stream)
    model = build(replace(FULL, kernel=kernel))
    model.load_state_dict(plain.state_dict(), strict=False)
    model.observe(stream)
    differs = not torch.equal(model.score(all_pairs()), plain.score(all_pairs()))
    assert differs == (kernel != "identity")
    if kernel in ("laplacian", "rbf", "gated"):
        never = build(replace(FULL, kernel=kernel, width=math.inf))
        never.load_state_dict(plain.state_dict(), strict=False)
        never.observe(stream)
        assert torch.equal(never.score(all_pairs()), plain.score(all_pairs()))


@pytest.mark.parametrize("config", [SMALL, FULL], ids=["walks", "full"])
def test_learning_in_turn_is_one_time_after_the_other(config: TPNetConfig) -> None:
    stream, rng = make_stream(), np.random.default_rng(0)
    quick, plain = build(config).train(), build(config)
    for part in stream.blocks(20):
        queries = Queries(part.src, part.t, rng.integers(0, NODES, (len(part), 3)).astype(np.int32))
        (scores,) = quick.score_in_turn([queries], part)
        (expected,) = LinkModel.score_in_turn(plain, [queries], part)
        torch.testing.assert_close(scores, expected)
    scores.sum().backward()  # type: ignore[no-untyped-call]
    used = {name for name, p in quick.named_parameters() if p.grad is not None}
    assert used == {name for name, _ in quick.named_parameters()}
    assert all(torch.equal(kept, quick.stream_state()[name]) for name, kept in plain.stream_state().items())


@pytest.mark.parametrize("config", [SMALL, FULL], ids=["walks", "full"])
def test_a_loaded_model_goes_on(config: TPNetConfig) -> None:
    stream, first, second = make_stream(), build(config), build(config)
    first.observe(stream[:31])
    second.grow(NODES)
    second.load_stream_state(first.stream_state())
    for model in (first, second):
        model.observe(stream[31:])
    assert torch.equal(first.score(all_pairs()), second.score(all_pairs()))
    assert second.last_time() == stream.t[-1]
    assert second.sources().tolist() == np.unique(stream.src).tolist()
    assert second.destinations().tolist() == np.unique(stream.dst).tolist()
    with pytest.raises(InputError, match="is not known"):
        second.load_stream_state(first.stream_state() | {"other": torch.zeros(1)})


@pytest.mark.parametrize("config", [SMALL, FULL], ids=["walks", "full"])
def test_times_may_be_shifted_and_read_by_any_clock(config: TPNetConfig) -> None:
    stream, scores = make_stream(), []
    later, finer = replace(stream, t=stream.t + 1_700_000_000), replace(stream, t=1000 * stream.t)
    for events, clock, now in (
        (stream, Clock(), 30),
        (later, Clock(), 1_700_000_030),
        (finer, Clock(1, 1000), 30_000),
    ):
        model = build(config, clock)
        model.observe(events)
        scores.append(model.score(all_pairs(now)))
    assert torch.equal(scores[0], scores[1])
    assert torch.equal(scores[0], scores[2])


def test_parity_observes_a_batch_at_once_and_asks_before_it() -> None:
    stream = make_stream()
    parity, strict = build(replace(SMALL, parity=True)), build(replace(SMALL, delta="event"))
    assert parity.cuts_matter
    assert not strict.cuts_matter
    for part in stream.blocks(1):
        for model in (parity, strict):
            model.observe(part)
    at_once = len(np.unique(stream.t)) == len(stream)
    assert at_once == torch.equal(parity.score(all_pairs()), strict.score(all_pairs()))
    parity.reset()
    queries = Queries(stream.src, stream.t, stream.dst[:, None])
    (asked,) = parity.score_in_turn([queries], stream)
    again = build(replace(SMALL, parity=True))
    assert torch.equal(asked, again.score(queries))
    again.observe(stream)
    assert torch.equal(parity.score(all_pairs()), again.score(all_pairs()))


def test_what_cannot_be_is_refused() -> None:
    for settings in ({"decay": ""}, {"decay": "1,-2"}, {"steps": 0}, {"steps": 9}, {"projection": "none"}):
        with pytest.raises(KeatError):
            TPNetConfig(**settings)
