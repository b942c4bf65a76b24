"""slm against its formulas written with dicts, and its one table of known numbers."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

from keat.clock import Clock
from keat.errors import InputError, KeatError
from keat.events import EventStream
from keat.models.contract import LearnedLinkModel, LinkModel, Queries
from keat.models.registry import build_model
from keat.models.slm import SLM, SLMConfig

NODES, SIGMA = 14, 9.0


def make_stream(seed: int = 1, events: int = 150, times: int = 40) -> EventStream:
    """Sources are destinations, too; node 13 has no event."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, 7, events), rng.integers(4, NODES - 1, events)
    return EventStream.from_arrays(*ends, np.sort(rng.integers(0, times, events)), num_nodes=NODES)


def build(config: SLMConfig, clock: Clock | None = None) -> SLM:
    return SLM(NODES, 0, SIGMA, config, clock or Clock()).eval()


def plain_columns(past: EventStream, config: SLMConfig, u: int, z: int, t: int) -> list[float]:
    """All columns of a pair, from a list of events."""
    events = list(zip(past.src.tolist(), past.dst.tolist(), past.t.tolist(), strict=True))
    c: Counter[tuple[str, int, int]] = Counter()
    n: Counter[tuple[str, int]] = Counter()
    before: dict[int, list[int]] = {}

    def count(kind: str, a: int, b: int, when: int) -> None:
        weight = math.exp(-(t - when) / (config.width * SIGMA))
        c[kind, a, b] += weight  # type: ignore[assignment]
        n[kind, a] += weight  # type: ignore[assignment]

    for src, dst, when in events:
        history = before.setdefault(src, [])
        if history:
            count("step", history[0], dst, when)
        for v in history[: config.history]:
            count("near", v, dst, when)
        count("visit", src, dst, when)
        count("all", 0, dst, when)
        history.insert(0, dst)
    alpha, number = config.smoothing, max(len(set(past.dst.tolist())), 1)
    marginal = base = (c["all", 0, z] + alpha) / (n["all", 0] + alpha * number)
    if config.base == "continuation":
        into = Counter(b for kind, _, b in c if kind == "step")
        base = (into[z] + alpha) / (into.total() + alpha * number)
    found = [marginal, (c["visit", u, z] + alpha * base) / (n["visit", u] + alpha)]
    latest = before.get(u, [])[: config.history]
    found += [(c["step", v, z] + alpha * base) / (n["step", v] + alpha) for v in latest]
    found += [1.0] * (config.history - len(latest))
    met = [when for src, dst, when in events if (src, dst) == (u, z)]
    anybody = [when for _, dst, when in events if dst == z]
    age, age_of_all = (
        (t - lasts[-1]) / (config.recency * SIGMA) if lasts else math.inf for lasts in (met, anybody)
    )
    near = sum(c["near", v, z] for v in latest), sum(n["near", v] for v in latest)
    near_share = (near[0] + alpha * base) / (near[1] + alpha)
    recencies = [math.exp(-age_of_all), math.exp(-10 * age), math.exp(-age / 10)]
    return [*map(math.log, found), math.exp(-age), math.log(near_share), *recencies]


@pytest.mark.parametrize("base", ["marginal", "continuation"])
@pytest.mark.parametrize("width", [2.0, math.inf])
def test_columns_are_the_formulas(base: str, width: float) -> None:
    config = SLMConfig(history=3, width=width, smoothing=0.7, recency=0.6, base=base)  # type: ignore[arg-type]
    stream = make_stream()
    model = build(config)
    nodes = np.append(np.arange(NODES), [5, 5]).astype(np.int32)  # twice the same, and each source itself
    src, t = nodes[:NODES], np.full(NODES, 45)
    for past in (stream[:0], stream[:3], stream):
        model.reset()
        model.observe(past)
        found, _ = model.past.read_in_turn(src, t, nodes, past.src[:0], past.dst[:0], past.t[:0])
        expected = [[plain_columns(past, config, u, z, 45) for z in nodes.tolist()] for u in range(NODES)]
        assert found.numpy() == pytest.approx(np.array(expected), rel=2e-6, abs=1e-6)


def test_the_table_of_known_numbers() -> None:
    """A source goes to a, b, c, b, c at times 1 … 5, another to d at 6; K = 2, α = 1, nothing fades."""
    a, b, c, d = 0, 1, 2, 3
    stream = EventStream.from_arrays([4, 4, 4, 4, 4, 5], [a, b, c, b, c, d], [1, 2, 3, 4, 5, 6], num_nodes=6)
    read = {}
    for base in ("marginal", "continuation"):
        config = SLMConfig(history=2, width=math.inf, base=base)
        model = SLM(6, 0, 1.0, config)
        model.observe(stream)
        who, candidates = np.array([4, 5], np.int32), np.arange(4, dtype=np.int32)
        none = stream[:0]
        columns = model.past.read_in_turn(who, np.array([7, 7]), candidates, none.src, none.dst, none.t)[0]
        read[base] = columns.exp()
    known = {
        0: (0.20, 0.30, 0.30, 0.20),  # P
        1: (0.2000, 0.3833, 0.3833, 0.0333),  # P(·|u)
        2: (0.10, 0.65, 0.15, 0.10),  # P(·|v₁ = c)
        3: (0.0667, 0.10, 0.7667, 0.0667),  # P(·|v₂ = b)
        5: (0.0333, 0.3833, 0.55, 0.0333),  # P_co(·|c, b)
    }
    for column, expected in known.items():
        assert read["marginal"][0, :, column].tolist() == pytest.approx(expected, abs=6e-5)
    empty = read["continuation"][1, :, 2].tolist()  # nobody went on from d: the base itself
    assert empty == pytest.approx((0.1429, 0.4286, 0.2857, 0.1429), abs=6e-5)
    assert read["marginal"][1, :, 2].tolist() == pytest.approx(known[0])


@pytest.mark.parametrize(
    ("extras", "number"), [((0, 0, 0), 9), ((1, 0, 0), 10), ((0, 1, 0), 10), ((0, 0, 1), 11), ((1, 1, 1), 13)]
)
def test_it_has_nine_to_thirteen_parameters(extras: tuple[int, int, int], number: int) -> None:
    near, global_recency, scales = map(bool, extras)
    model = build(SLMConfig(near=near, global_recency=global_recency, scales=scales))
    assert sum(parameter.numel() for parameter in model.parameters()) == number
    model.observe(make_stream())
    nodes = np.arange(NODES, dtype=np.int32)
    columns = model.past.read_in_turn(
        nodes, np.full(NODES, 50), nodes, nodes[:0], nodes[:0], np.empty(0, np.int64)
    )[0]
    wanted = [*range(8), *[8] * near, *[9] * global_recency, *[10, 11] * scales]
    logits = columns[..., wanted] @ model.weights.weight[0] + model.weights.bias
    torch.testing.assert_close(model.score(Queries(nodes, np.full(NODES, 50), nodes)), logits)


def test_in_turn_is_one_time_after_the_other() -> None:
    stream = make_stream(3)
    rng = np.random.default_rng(0)
    quick, plain = (build(SLMConfig(history=2)) for _ in range(2))
    for part in stream.blocks(30):
        candidates = rng.integers(0, NODES, (len(part), 6)).astype(np.int32)
        queries = Queries(part.src, part.t, candidates)
        (scores,) = quick.score_in_turn([queries], part)
        (expected,) = LinkModel.score_in_turn(plain, [queries], part)
        assert torch.equal(scores, expected)
        two = [queries.rows(0, 10), queries.rows(10, 30)]
        assert [len(each) for each in quick.score_in_turn(two, part[:0])] == [10, 20]
    assert all(torch.equal(quick.stream_state()[name], kept) for name, kept in plain.stream_state().items())


def test_times_may_be_shifted_and_read_by_any_clock() -> None:
    stream = make_stream()
    later = replace(stream, t=stream.t + 1_700_000_000)
    finer = replace(stream, t=1000 * stream.t)
    nodes = np.arange(NODES, dtype=np.int32)
    scores = []
    for events, clock, now in (
        (stream, Clock(), 50),
        (later, Clock(), 1_700_000_050),
        (finer, Clock(1, 1000), 50_000),
    ):
        model = build(SLMConfig(), clock)
        model.observe(events)
        scores.append(model.score(Queries(nodes, np.full(NODES, now), nodes)))
    assert torch.equal(scores[0], scores[1])
    assert torch.equal(scores[0], scores[2])


def test_a_kept_state_goes_on_and_a_wrong_one_is_refused() -> None:
    stream, config = make_stream(), SLMConfig()
    whole, other = build(config), build(config)
    whole.observe(stream[:90])
    state = whole.stream_state()
    other.load_stream_state(state)
    for model in (whole, other):
        model.observe(stream[90:])
    assert all(torch.equal(kept, other.stream_state()[name]) for name, kept in whole.stream_state().items())
    assert (other.last_time(), other.sources().tolist()) == (stream.t[-1], np.unique(stream.src).tolist())
    assert other.destinations().tolist() == np.unique(stream.dst).tolist()
    for wrong, sentence in (
        (state | {"latest": state["latest"] + 99}, "'latest' holds"),
        (state | {"latest": state["latest"][:3].clamp(max=2)}, "fewer nodes than there are"),
        ({name: kept for name, kept in state.items() if name != "latest"}, "'latest' is missing"),
        (state | {"other": state["latest"]}, "'other' is not known"),
    ):
        with pytest.raises(InputError, match=sentence):
            build(config).load_stream_state(wrong)


def test_what_cannot_be_is_refused() -> None:
    for settings in (
        {"width": 0.0},
        {"smoothing": 0.0},
        {"history": 0},
        {"recency": -1.0},
        {"base": "other"},
    ):
        with pytest.raises(KeatError):
            SLMConfig(**settings)


def test_weights_are_learned() -> None:
    stream = make_stream(2)
    model: LearnedLinkModel = build_model(stream, SLMConfig())
    model.train()
    model.observe(stream[:100])
    rest = stream[100:]
    candidates = np.stack((rest.dst, np.full(len(rest), 13)), axis=1).astype(np.int32)
    (logits,) = model.score_in_turn([Queries(rest.src, rest.t, candidates)], rest)
    (logits[:, 0] - logits[:, 1]).sum().backward()  # type: ignore[no-untyped-call]
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in model.parameters())
    assert model.eval().score(Queries(rest.src, rest.t, candidates)).requires_grad is False
