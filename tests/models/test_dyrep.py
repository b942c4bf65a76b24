"""DyRep: its size, its messages against a plain loop, and who gets a gradient."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from keat.errors import InputError
from keat.events import EventStream
from keat.kernels import KERNELS
from keat.models.contract import Queries
from keat.models.dyrep import DyRep, DyRepConfig, NeighborhoodUpdate
from keat.models.jodie_model import JODIEConfig
from keat.models.recurrent_memory import RecurrentUpdate
from keat.models.registry import build_model
from keat.runs.spec import configuration

SMALL = DyRepConfig(dim=6, neighbors=3, heads=2, dropout=0.0)
NODES = 12


def make_stream(seed: int = 0, events: int = 80) -> EventStream:
    rng = np.random.default_rng(seed)
    return EventStream.from_arrays(
        rng.integers(0, NODES, events),
        rng.integers(0, NODES, events),
        np.sort(rng.integers(0, 4000, events)) + 1_600_000_000,
        rng.standard_normal((events, 2), dtype=np.float32),
    )


def everybody_in_every_block(blocks: int = 10) -> EventStream:
    rng = np.random.default_rng(1)
    src = np.concatenate([rng.permutation(5) for _ in range(blocks)])
    dst = np.concatenate([rng.permutation(5) + 5 for _ in range(blocks)])
    features = rng.standard_normal((5 * blocks, 2), dtype=np.float32)
    return EventStream.from_arrays(src, dst, np.arange(5 * blocks) * 31, features)


def fed(config: DyRepConfig, stream: EventStream, block: int = 10) -> DyRep:
    model: DyRep = build_model(stream, config, sigma=500.0)
    for part in stream.blocks(block):
        model.observe(part)
    return model


def test_parameters_are_as_many_as_in_tgb() -> None:
    model = DyRep(10, 172, 1.0, DyRepConfig())
    cell, attention, encoder = model.memory.cell, model.memory.attention, model.memory.time_encoder
    found = [
        sum(p.numel() for p in part.parameters()) for part in (cell, encoder, attention, model.predictor)
    ]
    assert found == [57_400, 200, 67_600, 20_301]
    assert sum(p.numel() for p in model.parameters()) == sum(found) == 145_501


def _learn(config: DyRepConfig) -> DyRep:
    stream = make_stream()
    model: DyRep = build_model(stream, config, sigma=500.0).train()
    for part in stream.blocks(10):
        model.zero_grad()
        queries = Queries(part.src, part.t, np.stack((part.dst, part.dst[::-1]), axis=1))
        model.score(queries).square().sum().backward()  # type: ignore[no-untyped-call]
        model.observe(part)
    return model


@pytest.mark.parametrize("kernel", ["identity", "learnable"])
def test_the_attention_learns_unless_parity_is_asked_for(kernel: str) -> None:
    intended = _learn(replace(SMALL, kernel=kernel)).memory
    for part in (intended.attention, intended.kernel, intended.cell, intended.time_encoder):
        assert all(p.grad is not None and p.grad.any() for p in part.parameters())
    parity = _learn(replace(SMALL, kernel=kernel, parity=True)).memory
    for part in (parity.attention, parity.kernel):
        assert all(p.grad is None for p in part.parameters())
    for part in (parity.cell, parity.time_encoder):
        assert all(p.grad is not None and p.grad.any() for p in part.parameters())


def test_parity_changes_no_score() -> None:
    stream = make_stream()
    assert torch.equal(fed(SMALL, stream).state.memory, fed(replace(SMALL, parity=True), stream).state.memory)


def test_told_the_memory_of_the_other_end_it_is_the_memory_of_jodie(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = make_stream()
    monkeypatch.setattr(NeighborhoodUpdate, "of_other", RecurrentUpdate.of_other)
    ours = build_model(stream, SMALL, sigma=1.0)
    plain = build_model(stream, JODIEConfig(dim=6, time_dim=6, time_encoder="cosine"), sigma=1.0)
    for name in ("cell", "time_encoder"):
        getattr(plain.memory, name).load_state_dict(getattr(ours.memory, name).state_dict())
    for part in stream.blocks(10):
        ours.observe(part)
        plain.observe(part)
    assert torch.equal(ours.state.memory, plain.state.memory)


def _by_hand(model: DyRep, stream: EventStream, block: int) -> Tensor:
    """Memories after a stream, node by node and event by event."""
    update, attention = model.memory, model.memory.attention
    s, last = torch.zeros(NODES, 6), [int(stream.t[0])] * NODES
    past: list[list[int]] = [[] for _ in range(NODES)]
    for part in stream.blocks(block):
        first = part.offset - stream.offset
        newest: dict[int, int] = {}
        for number, ends in enumerate(zip(part.src.tolist(), part.dst.tolist(), strict=True), first):
            newest.update(dict.fromkeys(ends, number))
        after, then = s.clone(), list(last)
        for node, number in newest.items():
            t = int(stream.t[number])
            other = int(stream.src[number] + stream.dst[number]) - node
            near = past[other][-3:]
            far = [int(stream.src[e] + stream.dst[e]) - other for e in near]
            now = t if model.config.delta == "query" else 0
            age = torch.tensor(
                [(now or last[end]) - int(stream.t[e]) for e, end in zip(near, far, strict=True)]
            )
            g = attention.lin_skip(s[other])
            if near:
                raw = torch.cat((update.time_encoder(age), torch.tensor(stream.features[near])), dim=1)
                edge = update.kernel(age).expand(-1, 2)[..., None] * attention.lin_edge(raw).view(-1, 2, 3)
                key = attention.lin_key(s[far]).view(-1, 2, 3) + edge
                weight = (key * attention.lin_query(s[other]).view(2, 3)).sum(2).div(3**0.5).softmax(0)
                value = attention.lin_value(s[far]).view(-1, 2, 3) + edge
                g = g + (weight[..., None] * value).sum(0).flatten()
            encoded = update.time_encoder(torch.tensor([t - last[node]]))[0]
            message = torch.cat((s[node], g, torch.tensor(stream.features[number]), encoded))
            after[node] = update.cell(message[None], s[node][None])[0]
            then[node] = t
        s, last = after, then
        for number in range(first, first + len(part)):
            for node in (int(stream.src[number]), int(stream.dst[number])):
                past[node].append(number)
    return s


@pytest.mark.parametrize("delta", ["query", "neighbor"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_memories_are_those_of_a_plain_loop(kernel: str, delta: Any) -> None:
    stream = make_stream()
    model = fed(replace(SMALL, kernel=kernel, delta=delta, width=2.0), stream)
    with torch.no_grad():
        torch.testing.assert_close(model.state.memory, _by_hand(model, stream, 10), rtol=1e-4, atol=1e-5)


def test_training_says_what_evaluation_says() -> None:
    """Where everybody is asked about in every block; else memories of neighbours lag behind in training."""
    stream = everybody_in_every_block()
    settled = build_model(stream, SMALL, sigma=1.0)
    learning = build_model(stream, SMALL, sigma=1.0).train()
    for part in stream.blocks(5):
        queries = Queries(part.src, part.t, np.stack((part.dst, part.dst[::-1]), axis=1))
        torch.testing.assert_close(learning.score(queries).detach(), settled.score(queries))
        settled.observe(part)
        learning.observe(part)


def test_a_waiting_message_reads_the_neighbourhood_of_its_own_time() -> None:
    """Later events of the other end are not in it, even when they pushed earlier ones out of its last K."""
    features = np.ones((6, 2), dtype=np.float32)
    stream = EventStream.from_arrays([0, 1, 2, 0, 3, 4], [5, 5, 5, 5, 5, 5], [0, 1, 2, 3, 4, 5], features)
    model: DyRep = build_model(stream, replace(SMALL, neighbors=2), sigma=1.0).train()
    for part in stream.blocks(1):
        model.observe(part)
    around = model.state.save()["around"]
    assert sorted(around[0].tolist()) == [1, 2]  # what 5 had had when 0 met it last
    assert sorted(around[4].tolist()) == [3, 4]


@pytest.mark.parametrize("kernel", ["laplacian", "rbf"])
def test_an_infinite_width_is_the_plain_model_to_the_bit(kernel: str) -> None:
    stream = make_stream()
    plain, wide = fed(SMALL, stream), fed(replace(SMALL, kernel=kernel, width=float("inf")), stream)
    assert torch.equal(plain.state.memory, wide.state.memory)
    assert not torch.equal(plain.state.memory, fed(replace(SMALL, kernel=kernel), stream).state.memory)


def test_a_state_with_the_neighbourhood_of_somebody_else_is_refused() -> None:
    stream = make_stream()
    model: DyRep = build_model(stream, SMALL, sigma=1.0).train()
    model.observe(stream[:40])
    model.observe(stream[40:])
    state = model.stream_state()
    with pytest.raises(InputError, match="'around' holds an event of other nodes for a node"):
        model.load_stream_state({**state, "around": state["around"].roll(1, 0)})


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="delta must be 'neighbor' or 'query'"):
        configuration("dyrep", delta="both")
