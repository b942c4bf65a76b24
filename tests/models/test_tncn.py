"""TNCN: its size, its decoder pair by pair, and what depends on what."""

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
from keat.models.registry import build_model
from keat.models.tgn import TGN, TGNConfig
from keat.models.tncn import TNCN, TNCNConfig
from keat.runs.spec import configuration
from keat.state import AROUND_BOTH
from small_streams import dated_stream, one_by_one

SMALL = TNCNConfig(dim=6, neighbors=3, heads=2, hidden=10, dropout=0.0)
NODES = 24
MODES = (0, 1, 2)


def make_stream(seed: int = 0, events: int = 90) -> EventStream:
    return dated_stream(seed, NODES, events)


def fed(config: TNCNConfig, stream: EventStream) -> TNCN:
    model: TNCN = build_model(stream, config)
    for part in stream.blocks(15):
        model.observe(part)
    return model


def asked(stream: EventStream, number: int = 7) -> Queries:
    """Everybody is a candidate, some twice."""
    t = int(stream.t[-1]) + 1 + 400 * np.arange(number)
    candidates = np.concatenate((np.arange(NODES), [3, 3, 5])).astype(np.int32)
    return Queries(np.arange(number, dtype=np.int32) * 3, t, candidates)


def by_hand(model: TNCN, u: int, v: int, t: int) -> Tensor:
    """The logit of a pair from all of x, whose parts are sums over the entries of one kind."""
    nodes, mode = torch.arange(NODES), model.config.mode
    z = model.embed(nodes, torch.full((NODES,), t)) if model.at_query else model.embed(nodes)

    def psi(when: int) -> Tensor:
        weight: Tensor = model.pair_kernel(torch.tensor([t - when]))[0, 0]
        return weight

    common = model.state.graph().common(np.array([u]), np.array([[v]]), far=mode == 2)
    sums = torch.zeros(5, 6)
    for kind, _, w, source, candidate, onward in zip(*(part.tolist() for part in common[:6]), strict=True):
        weight = psi(source) * psi(candidate) * (psi(onward) if kind == AROUND_BOTH else 1.0)
        sums[kind] += weight * z[w]
    met = psi(int(common.when_met[0])) if len(common.met) else torch.zeros(())
    ends = [] if mode == 1 else [met * z[u], met * z[v]]
    x = torch.cat((z[u] * z[v], *ends, *(sums if mode == 2 else sums[:1])))
    logit: Tensor = model.predictor.lin_final(torch.relu(model.predictor.lin_hidden(x)))
    return logit


@pytest.mark.parametrize(
    ("mode", "decoder", "dead"), [(1, 51_713, 201), (0, 102_913, 401), (2, 205_313, 801)]
)
def test_parameters_are_as_many_as_in_the_authors_code(mode: int, decoder: int, dead: int) -> None:
    """Without a layer there that nothing reads."""
    model = TNCN(10, 172, 1.0, TNCNConfig(mode=mode))
    published = {1: 291_914, 0: 343_314, 2: 446_114}[mode]
    assert sum(p.numel() for p in model.predictor.parameters()) == decoder
    assert sum(p.numel() for p in model.parameters()) == 240_000 + decoder == published - dead


@pytest.mark.parametrize("delta", ["neighbor", "query"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kernel", ["identity", "laplacian"])
def test_scores_are_those_of_one_pair_after_the_other(kernel: str, mode: int, delta: Any) -> None:
    stream = make_stream()
    model = fed(replace(SMALL, kernel=kernel, mode=mode, delta=delta), stream)
    queries = asked(stream)
    found = model.score(queries)
    with torch.no_grad():
        expected = torch.tensor(
            [
                [float(by_hand(model, u, v, t)) for v in queries.candidates.tolist()]
                for u, t in zip(queries.src.tolist(), queries.t.tolist(), strict=True)
            ]
        )
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(model.score(one_by_one(queries)), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_weighs_both_legs(kernel: str) -> None:
    stream = make_stream()
    model = fed(replace(SMALL, kernel=kernel, mode=2, width=3.0), stream)
    queries = asked(stream, 2)
    with torch.no_grad():
        expected = [float(by_hand(model, 3, v, int(queries.t[1]))) for v in queries.candidates.tolist()]
    torch.testing.assert_close(model.score(queries)[1], torch.tensor(expected), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", MODES)
def test_the_shortcut_is_exact_in_every_mode(mode: int) -> None:
    """210 random queries, some of whom share nothing with anybody."""
    stream, rng = make_stream(events=210), np.random.default_rng(4)
    model = build_model(stream, replace(SMALL, mode=mode, kernel="laplacian"))
    everybody = np.arange(NODES, dtype=np.int32)
    for part in stream.blocks(15):
        queries = Queries(rng.integers(0, NODES, 15).astype(np.int32), part.t, everybody)
        torch.testing.assert_close(
            model.score(queries), model.score(one_by_one(queries)), rtol=1e-4, atol=1e-5
        )
        model.observe(part)


@pytest.mark.parametrize("delta", ["neighbor", "query"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kernel", ["laplacian", "rbf"])
def test_an_infinite_width_is_the_plain_model_to_the_bit(kernel: str, mode: int, delta: Any) -> None:
    stream = make_stream()
    config = replace(SMALL, mode=mode, delta=delta)
    plain, wide = fed(config, stream), fed(replace(config, kernel=kernel, width=float("inf")), stream)
    assert torch.equal(plain.score(asked(stream)), wide.score(asked(stream)))
    narrow = fed(replace(config, kernel=kernel), stream)
    assert not torch.equal(plain.score(asked(stream)), narrow.score(asked(stream)))


@pytest.mark.parametrize("mode", MODES)
def test_a_score_does_not_depend_on_who_else_is_asked_about(mode: int) -> None:
    stream = make_stream()
    model = fed(replace(SMALL, mode=mode), stream)
    queries = asked(stream)
    together = model.score(queries)
    for j, candidate in enumerate(queries.candidates):
        alone = model.score(replace(queries, candidates=np.array([candidate], np.int32)))
        torch.testing.assert_close(alone[:, 0], together[:, j], rtol=1e-4, atol=1e-5)


def test_embeddings_are_those_of_tgn() -> None:
    """But for the clock, which starts with the first event here and with 0 there."""
    stream = make_stream()
    shifted = EventStream.from_arrays(
        stream.src, stream.dst, stream.t - stream.t[0], stream.features, num_nodes=NODES
    )
    ours = build_model(shifted, SMALL)
    theirs: TGN = build_model(shifted, TGNConfig(dim=6, neighbors=3, heads=2, dropout=0.0))
    theirs.memory.load_state_dict(ours.memory.state_dict())
    theirs.attention.load_state_dict(ours.attention.state_dict())
    theirs.reset()
    ours.reset()
    for part in shifted.blocks(15):
        ours.observe(part)
        theirs.observe(part)
    with torch.no_grad():
        assert torch.equal(ours.embed(torch.arange(NODES)), theirs.embed(torch.arange(NODES)))


@pytest.mark.parametrize("kernel", ["learnable", "mixture"])
def test_every_parameter_learns_in_the_widest_mode(kernel: str) -> None:
    stream = make_stream()
    model: TNCN = build_model(stream, replace(SMALL, mode=2, kernel=kernel)).train()
    for part in stream.blocks(15):
        model.zero_grad()
        queries = Queries(part.src, part.t, np.stack((part.dst, part.dst[::-1]), axis=1))
        model.score(queries).square().sum().backward()  # type: ignore[no-untyped-call]
        model.observe(part)
    without = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert without == []


def test_a_mode_that_there_is_not_is_refused() -> None:
    with pytest.raises(InputError, match="mode must be 0, 1 or 2, not 3"):
        configuration("tncn", mode=3)
    with pytest.raises(InputError, match="heads cannot share"):
        configuration("keat-tncn", heads=3)
