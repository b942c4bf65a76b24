"""NAT against sums over dictionaries, written down as they are; its hash, its parameters, its parity."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from keat.errors import InputError
from keat.events import EventStream
from keat.kernels import KERNELS
from keat.models.contract import Queries
from keat.models.nat import NAT, NATConfig
from keat.models.nat import nat_model as nat_model
from keat.state import hash_slot
from keat.time_encoding import TIME_ENCODERS
from small_streams import asked_of_all, coarse_stream

NODES = 40
SMALL = NATConfig(
    slots=8, far_slots=4, memory_dim=5, slot_dim=3, code_dim=4, channels=6, time_dim=3, dropout=0.0
)


def make_stream(events: int = 160, **of_it: int) -> EventStream:
    return coarse_stream(2, NODES, events, unseen=5, ticks=50, **of_it)


def build(stream: EventStream, block: int = 15, **changes: Any) -> NAT:
    torch.manual_seed(3)
    dim = 0 if stream.node_features is None else stream.node_features.shape[1]
    model = NAT(NODES, stream.feature_dim, 70.0, replace(SMALL, node_dim=dim, **changes)).eval()
    for part in stream.blocks(block):
        model.observe(part)
    return model


def some_queries(shift: int = 0) -> Queries:
    """More than 200 pairs: sources with and without events, all nodes and some of them twice."""
    return asked_of_all([0, 3, 5, 39, 0], [491, 500, 500, 801, 90_000], NODES, shift)


@cache
def plain_holding(model: NAT, node: int, t: int) -> tuple[Tensor, dict[int, dict[int, tuple[Tensor, int]]]]:
    """s' of a node, and of every node it holds, by hop: rep' and age; one slot after the other."""
    state, refresh, config = model.state, model.refresh, model.config
    log = state._log

    def encoded(event: int) -> Tensor:
        happened = int(log.t[event])
        at = (
            torch.tensor([float(happened)])
            if config.parity
            else torch.tensor([t - happened]).double().log1p()
        )
        phi: Tensor = refresh.time_encoder(at)[0]
        return phi

    holding: dict[int, dict[int, tuple[Tensor, int]]] = {}
    for slot in range(config.sizes.total):
        key, event = int(state.key[node, slot]), int(state.event[node, slot])
        if key < 0:
            continue
        hop = 0 if slot == 0 else 1 if slot <= config.slots else 2
        rep, age = torch.zeros(config.slot_dim), 0
        if event >= 0:
            message = refresh.lin_slot(torch.cat((state.memory[key], log.features[event], encoded(event))))
            rep = refresh.slot_cell(message[None], state.rep[node, slot][None])[0]
            age = t - int(log.t[event])
        holding.setdefault(key, {})[hop] = (rep, age)
    memory, last = state.memory[node], int(state.event[node, 0])
    if last >= 0:
        other = int(log.src[last] + log.dst[last]) - node
        message = refresh.lin_memory(torch.cat((state.memory[other], log.features[last], encoded(last))))
        memory = refresh.memory_cell(message[None], memory[None])[0]
    return memory, holding


def plain_score(model: NAT, stream: EventStream, u: int, v: int, t: int) -> Tensor:
    config, table = model.config, model.code.weight
    (s_u, of_u), (s_v, of_v) = (plain_holding(model, node, t) for node in (u, v))

    def psi(hop: int, age: int) -> Tensor:
        return torch.ones(()) if hop == 0 else model.kernel(torch.tensor([age]))[0, 0]

    total = torch.zeros(model.pooling.in_features)
    for w in of_u.keys() | of_v.keys():
        known = torch.zeros(1) if stream.node_features is None else torch.tensor(stream.node_features[w])
        features = torch.zeros(len(known) + config.slot_dim)
        cases = []  # of each side: codes and their weights
        for node, holding in ((u, of_u), (v, of_v)):
            hops = holding.get(w, {})
            for hop, (rep, age) in hops.items():
                features = features + psi(hop, age) * torch.cat((known.float(), rep))
            ages = [age for hop, (_, age) in hops.items() if hop > 0]
            p = psi(1, min(ages)) if ages else torch.ones(())
            cases.append([(sum(2**hop for hop in hops), p), (int(w == node), 1 - p)])
        e = torch.zeros(config.code_dim)
        for (b_u, p), (b_v, q) in product(*cases):
            e = e + (p * q * table[b_u + 8 * b_v] if b_u or b_v else 0)
        total = total + torch.cat((features, e))
    heads = model.pooling(total).view(config.heads, -1).mean(dim=0) + model.pooling_bias
    hidden = torch.relu(model.hidden(torch.cat((heads, s_u, s_v))))
    logit: Tensor = model.output(hidden)[0]
    return logit


@pytest.mark.parametrize(
    "changes", [{}, {"parity": True}, {"kernel": "laplacian"}, {"kernel": "mlp-unbounded", "heads": 1}]
)
@pytest.mark.parametrize("features", [(2, 0), (0, 3)])
def test_scores_are_the_sums_pair_by_pair(
    changes: dict[str, Any], features: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = make_stream(features=features[0], node_features=features[1])
    model, queries = build(stream, **changes), some_queries()
    monkeypatch.setattr(nat_model, "PAIRS_AT_ONCE", 90)
    with torch.no_grad():
        plain = torch.stack(
            [
                torch.stack([plain_score(model, stream, int(u), int(v), int(t)) for v in queries.candidates])
                for u, t in zip(queries.src, queries.t, strict=True)
            ]
        )
        torch.testing.assert_close(model.score(queries), plain, rtol=1e-4, atol=1e-5)
        own = replace(queries, candidates=np.tile(queries.candidates, (len(queries.src), 1)))
        torch.testing.assert_close(model.score(own), plain, rtol=1e-4, atol=1e-5)
    assert plain.std() > 1e-3


@pytest.mark.parametrize(("size", "reached"), [(32, 7), (16, 4), (64, 12)])
def test_an_even_hash_reaches_few_slots_and_an_odd_one_all(size: int, reached: int) -> None:
    nodes = torch.arange(10_000)
    for multiplier in range(100):
        slots = hash_slot(nodes, multiplier, size)
        assert len(set(slots.tolist())) == (size if multiplier % 2 else reached)
        assert int(slots.min()) >= 0
    large = torch.tensor([2**31 - 1, 2**31 - 2])
    exact = [(3 * w + 4 * w * w) % size for w in large.tolist()]
    assert hash_slot(large, 3, size).tolist() == exact


def test_parity_is_the_even_hash_and_absolute_time() -> None:
    assert NATConfig().sizes.multiplier % 2 == 1
    assert NATConfig(parity=True).sizes.multiplier % 2 == 0
    shifted, queries = make_stream(shift=12_345), some_queries()
    moved = replace(queries, t=queries.t + 12_345)
    later = replace(queries, t=queries.t + 99)
    sound, parity = (
        [build(make_stream(), parity=parity), build(shifted, parity=parity)] for parity in (False, True)
    )
    assert torch.equal(sound[0].score(queries), sound[1].score(moved))
    assert not torch.allclose(parity[0].score(queries), parity[1].score(moved))
    assert not torch.allclose(sound[0].score(queries), sound[0].score(later))
    assert torch.equal(parity[0].score(queries), parity[0].score(later))


def test_parameters_are_those_of_the_reference_that_have_an_effect() -> None:
    model = NAT(100, 172, 80_111.6, NATConfig(node_dim=172))
    assert sum(value.numel() for value in model.parameters()) == 218_011


def test_ids_with_the_same_slots_give_the_same_scores() -> None:
    stream, queries = make_stream(), some_queries()
    moved = replace(
        stream, src=stream.src + np.int32(64), dst=stream.dst + np.int32(64), num_nodes=NODES + 64
    )
    there = replace(queries, src=queries.src + np.int32(64), candidates=queries.candidates + np.int32(64))
    torch.testing.assert_close(build(stream).score(queries), build(moved).score(there))


@pytest.mark.parametrize("kernel", ["laplacian", "rbf"])
def test_an_infinite_width_is_the_plain_model_to_the_bit(kernel: str) -> None:
    stream, queries = make_stream(), some_queries()
    plain, wide = build(stream), build(stream, kernel=kernel, width=float("inf"))
    assert torch.equal(plain.score(queries), wide.score(queries))
    assert not torch.equal(plain.score(queries), build(stream, kernel=kernel).score(queries))


def test_a_slot_that_has_faded_is_as_an_empty_one() -> None:
    faded, empty = (build(make_stream(), kernel="laplacian") for _ in range(2))
    empty.state.key[:, 1:] = empty.state.event[:, 1:] = -1
    everyone = np.arange(NODES, dtype=np.int32)
    soon, late = (Queries(everyone, np.full(NODES, t), everyone) for t in (500, 10**9))
    torch.testing.assert_close(faded.score(late), empty.score(late))
    assert not torch.allclose(faded.score(soon), empty.score(soon))


def test_learning_and_evaluation_score_alike() -> None:
    stream, queries = make_stream(), some_queries()
    model = build(stream, kernel="laplacian")
    learning = model.train().score(queries)
    torch.testing.assert_close(learning, model.eval().score(queries))
    dropping = build(stream, kernel="laplacian", dropout=1e-9).train()  # takes the way of dropout
    torch.testing.assert_close(dropping.score(queries), learning)
    dropping = build(stream, kernel="laplacian", dropout=0.5).train()
    assert not torch.equal(dropping.score(queries), dropping.score(queries))


@pytest.mark.parametrize("encoder", TIME_ENCODERS)
def test_every_time_encoder_and_kernel_learns(encoder: str) -> None:
    stream = make_stream(node_features=3)
    part = stream[100:]
    for kernel in KERNELS:
        model = build(stream[:100], kernel=kernel, time_encoder=encoder, time_dim=6, dropout=0.1).train()
        logits = model.score(Queries(part.src, part.t, np.stack((part.dst, part.dst[::-1]), axis=1)))
        logits.square().sum().backward()  # type: ignore[no-untyped-call]
        learning = {key: value for key, value in model.named_parameters() if value.requires_grad}
        silent = [key for key, value in learning.items() if value.grad is None or not value.grad.any()]
        assert silent == []
        assert all(torch.isfinite(value.grad).all() for value in learning.values() if value.grad is not None)


def test_a_state_is_kept_to_the_bit_and_goes_on_alike() -> None:
    stream, queries = make_stream(node_features=2), some_queries()
    whole, first, second = build(stream), build(stream[:90]), build(stream[:30])
    second.load_stream_state(first.stream_state())
    for part in stream[90:].blocks(15):
        second.observe(part)
    assert torch.equal(whole.score(queries), second.score(queries))
    assert second.sources().tolist() == sorted(set(stream.src.tolist()))
    with pytest.raises(InputError, match="'node_features' is missing"):
        second.load_stream_state({k: v for k, v in whole.stream_state().items() if k != "node_features"})


def test_settings_that_cannot_be_are_refused() -> None:
    with pytest.raises(InputError, match="far_slots must be a power of two, and 12 is none"):
        NATConfig(far_slots=12)
    with pytest.raises(InputError, match="overwrite must be at least 0 and at most 1, not 2"):
        NATConfig(overwrite=2.0)
