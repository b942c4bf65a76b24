"""CRAFT against its formulas for one pair at a time, its exact checks, and nodes that training never saw."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from keat.clock import Clock
from keat.datasets.loading import Dataset
from keat.errors import InputError
from keat.events import EventStream
from keat.kernels import KERNELS
from keat.models.contract import Queries
from keat.models.craft import CRAFT, LADDER, CRAFTConfig, CrossAttention
from keat.training.fit import FitConfig, train_epoch
from keat.training.lessons import LinkLessons
from keat.training.losses import link_loss

NODES, SIGMA = 12, 20.0
SMALL = CRAFTConfig(neighbors=5, dim=8, dropout=0.0, repeats=True)
KEAT = replace(SMALL, kernel="laplacian", width=0.7)


def make_stream(events: int = 60, seed: int = 1) -> EventStream:
    """Sources are partners of others, too; the last node has no event."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, 6, events), rng.integers(3, NODES - 1, events)
    return EventStream.from_arrays(*ends, np.sort(rng.integers(0, 25, events)), num_nodes=NODES)


def build(config: CRAFTConfig, clock: Clock | None = None) -> CRAFT:
    """Weights large enough for differences to show."""
    torch.manual_seed(3)
    model = CRAFT(NODES, 0, SIGMA, config, clock or Clock()).eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    return model


def all_pairs(t: int = 20) -> Queries:
    """A node without events, one that does not exist, the same candidate twice, and every source itself."""
    nodes = np.append(np.arange(NODES), [5, 5, 40]).astype(np.int32)
    return Queries(nodes[:NODES], np.full(NODES, t), nodes)


def norm(x: Tensor, layer: nn.Module) -> Tensor:
    assert isinstance(layer, nn.LayerNorm)
    return functional.layer_norm(x, x.shape[-1:], layer.weight, layer.bias)


def identity(model: CRAFT, node: int) -> Tensor:
    """Nobody has trained, so that every node there is room for is known."""
    return model.nodes.weight[1 + node] if node < NODES else model.nodes.weight[1:].mean(dim=0)


@torch.no_grad()
def plain_logit(model: CRAFT, stream: EventStream, u: int, v: int, t: int) -> float:
    config = model.config

    def past_of(node: int) -> list[int]:
        return [
            i
            for i in range(len(stream))
            for end in (stream.src[i], stream.dst[i])
            if end == node and stream.t[i] < t
        ]

    partners, tokens = [], []
    for place, i in enumerate(past_of(u)[-config.neighbors :]):
        partners.append(int(stream.src[i] + stream.dst[i]) - u)
        position = model.positions.weight[place]
        if not model.plain:
            position = model.kernel(torch.tensor(t - int(stream.t[i]))) * position
        tokens.append(norm(identity(model, partners[-1]) + position, model.norm))
    q = norm(identity(model, v), model.norm)
    for layer in model.layers:
        assert isinstance(layer, CrossAttention)
        heads = []
        for head in range(config.heads):
            part = slice(head * config.dim // config.heads, (head + 1) * config.dim // config.heads)
            asked = layer.query(q)[part] / math.sqrt(config.dim / config.heads)
            mixed = torch.zeros(config.dim // config.heads)
            if tokens:
                keys, values = (
                    torch.stack([side(k)[part] for k in tokens]) for side in (layer.key, layer.value)
                )
                mixed = (keys @ asked).softmax(dim=0) @ values
            heads.append(mixed)
        q = q + norm(layer.out(torch.cat(heads)), layer.norm1)
        q = q + norm(layer.linear2(functional.gelu(layer.linear1(q))), layer.norm2)
    last = [int(stream.t[i]) for i in past_of(v)]
    if model.plain:
        since = torch.tensor([float(t - last[-1]) if last else -100_000.0])
        c = norm(model.elapsed(since), model.elapsed_norm)
    else:
        psi = [
            torch.exp(torch.tensor(-(t - last[-1]) / (s * config.width * SIGMA)))
            if last
            else torch.tensor(0.0)
            for s in LADDER
        ]
        c = model.elapsed(torch.stack(psi).float())
    assert isinstance(model.repeats, nn.Sequential)
    r = norm(model.repeats[0](torch.tensor([float(partners.count(v))])), model.repeats[1])
    return float(model.decoder(torch.cat((q, c, r))))


@pytest.mark.parametrize("config", [SMALL, KEAT], ids=["craft-r", "keat-craft-r"])
def test_all_candidates_at_once_are_pair_by_pair(config: CRAFTConfig) -> None:
    stream, model = make_stream(), build(config)
    model.observe(stream)  # events at and after the question are not read
    for t in (0, 3, 20):
        queries = all_pairs(t)
        shared = model.score(queries)
        own = Queries(queries.src, queries.t, np.tile(queries.candidates, (NODES, 1)))
        torch.testing.assert_close(shared, model.score(own))
        naive = [
            [plain_logit(model, stream, u, v, t) for v in queries.candidates.tolist()] for u in range(NODES)
        ]
        torch.testing.assert_close(shared, torch.tensor(naive), rtol=1e-4, atol=1e-4)


def test_the_authors_model_of_mooc_has_as_many_parameters() -> None:
    """97 destinations, d = 64, L = 30, two layers, with repeats."""
    model = CRAFT(97, 0, 1.0, CRAFTConfig(repeats=True))
    assert sum(parameter.numel() for parameter in model.parameters()) == 146_050


def test_permuted_candidates_have_permuted_scores() -> None:
    model, queries = build(SMALL), all_pairs()
    model.observe(make_stream())
    order = np.random.default_rng(0).permutation(len(queries.candidates))
    permuted = model.score(Queries(queries.src, queries.t, queries.candidates[order]))
    torch.testing.assert_close(permuted, model.score(queries)[:, order])


def test_without_a_past_positions_do_not_matter() -> None:
    model = build(SMALL)
    model.observe(make_stream())
    lonely = Queries(
        np.array([NODES - 1, 40], np.int32), np.array([20, 20]), np.arange(NODES, dtype=np.int32)
    )
    before, others = model.score(lonely), model.score(all_pairs())
    nn.init.normal_(model.positions.weight)
    assert torch.equal(model.score(lonely), before)
    assert not torch.equal(model.score(all_pairs()), others)


def test_repeats_are_counted() -> None:
    """A candidate that is two of the three last partners, and one that is one of them."""
    stream = EventStream.from_arrays([0, 0, 0], [5, 7, 5], [1, 2, 3], num_nodes=NODES)
    model = build(SMALL)
    seen: list[Tensor] = []
    assert model.repeats is not None
    model.repeats.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    model.observe(stream)
    model.score(Queries(np.array([0], np.int32), np.array([4]), np.array([5, 7, 0, 40], np.int32)))
    assert seen[0][0, :, 0].tolist() == [2, 1, 0, 0]


def test_one_negative_of_the_listwise_loss_is_bpr() -> None:
    logits = torch.tensor([[0.3, 0.3], [1.0, -1.0]])
    assert float(link_loss(logits[:1], loss="listwise")) == pytest.approx(math.log(2))
    bpr = -torch.log(torch.sigmoid(logits[:, 0] - logits[:, 1])).mean()
    assert float(link_loss(logits, loss="listwise")) == pytest.approx(float(bpr))


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_is_learned_through_and_an_infinite_width_is_the_plain_model(kernel: str) -> None:
    stream = make_stream()
    model = build(replace(SMALL, kernel=kernel)).train()
    model.observe(stream)
    model.score(all_pairs()).sum().backward()  # type: ignore[no-untyped-call]
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
    if kernel in ("identity", "laplacian", "rbf"):
        plain, never = build(SMALL), build(replace(SMALL, kernel=kernel, width=math.inf))
        for each in (plain, never):
            each.observe(stream)
        assert torch.equal(plain.score(all_pairs()), never.score(all_pairs()))


def test_elapsed_time_is_told_apart_only_by_kernels() -> None:
    """The plain model's norm leaves little more than a sign of a long time: a minute and a day look alike."""
    ages = np.array([[60, 86_400]])
    found = {}
    for name, config in (("plain", SMALL), ("keat", replace(KEAT, width=1.0))):
        model = CRAFT(3, 0, 3600.0, config)
        nn.init.normal_(model.elapsed.weight, std=0.02)
        nn.init.constant_(model.elapsed.bias, 0.01)
        stream = EventStream.from_arrays([0, 0], [1, 2], (86_400 - ages[0])[::-1].copy(), num_nodes=3)
        model.observe(stream)
        asked = Queries(np.array([0], np.int32), np.array([86_400]), np.array([1, 2], np.int32))
        bias = model.elapsed.bias.detach()
        one, other = model._since_last(asked)[0].detach()
        found[name] = float(functional.cosine_similarity(one - bias, other - bias, dim=0))
    assert found["plain"] > 0.999
    assert found["keat"] < 0.9


def test_strangers_are_given_the_mean_of_those_that_training_knew() -> None:
    data = Dataset(make_stream(200))
    model = CRAFT(NODES, 0, SIGMA, SMALL)
    fit = FitConfig(batch_size=50)
    train_epoch(
        model, torch.optim.Adam(model.parameters(), lr=1e-2), LinkLessons(data, 50, in_turn=True), fit, 1
    )
    model.eval()
    assert model.known.tolist() == [node < NODES - 1 for node in range(NODES)]
    own = model._identities(torch.tensor([2, NODES - 1, 500]))
    mean = model.nodes.weight[1:NODES].mean(dim=0)
    assert torch.equal(own[0], model.nodes.weight[3])
    torch.testing.assert_close(own[1], mean)
    torch.testing.assert_close(own[2], mean)
    later = EventStream.from_arrays([NODES + 3, 0], [500, NODES - 1], [9_000, 9_001])
    model.observe(later)  # known to the state, and still a stranger to what was learned
    scores = model.score(
        Queries(np.array([500, 0], np.int32), np.array([9_002, 9_002]), np.array([2, 500, 501], np.int32))
    )
    assert torch.isfinite(scores).all()
    assert not torch.equal(scores[:, 1], scores[:, 2])  # one has been active lately
    assert not model.known[NODES - 1]
    again = CRAFT(NODES, 0, SIGMA, SMALL).eval()
    again.load_state_dict(model.state_dict())
    torch.testing.assert_close(again._identities(torch.tensor([500]))[0], mean)


@pytest.mark.parametrize("config", [SMALL, KEAT], ids=["craft-r", "keat-craft-r"])
def test_times_may_be_shifted_and_read_by_any_clock(config: CRAFTConfig) -> None:
    stream, scores = make_stream(), []
    later, finer = replace(stream, t=stream.t + 1_700_000_000), replace(stream, t=1000 * stream.t)
    for events, clock, now in (
        (stream, Clock(), 20),
        (later, Clock(), 1_700_000_020),
        (finer, Clock(1, 1000), 20_000),
    ):
        model = build(config, clock)
        model.observe(events)
        scores.append(model.score(all_pairs(now)))
    assert torch.equal(scores[0], scores[1])
    assert torch.equal(scores[0], scores[2])


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="3 heads cannot share"):
        CRAFTConfig(heads=3)
    with pytest.raises(InputError, match="width must be positive"):
        CRAFTConfig(width=0.0)
