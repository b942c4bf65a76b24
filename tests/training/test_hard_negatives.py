"""The stratified loss: certain negatives are those of a slow reference, the others stand for all the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from conftest import MakeStream
from every_model import PAIR_TERM, WITH_PAIR_TERM, smaller
from keat.datasets.loading import Dataset
from keat.events import EventStream
from keat.models.architectures import ARCHITECTURES
from keat.models.contract import LearnedLinkModel, Queries
from keat.models.registry import build_model
from keat.training import hard_negatives
from keat.training.fit import FitConfig, train_epoch
from keat.training.hard_negatives import ANYONE, HARD, OWN, PARTNERS, REACHED_BY, HardNegatives
from keat.training.lessons import LinkLessons
from keat.training.losses import link_loss

STREAMS: dict[str, dict[str, int]] = {  # of `random_stream`
    "bipartite": {"sources": 4, "destinations": 60, "times": 150},
    "a coarse clock": {"sources": 6, "destinations": 40, "times": 5},
    "one time": {"sources": 6, "destinations": 40, "times": 1},
    "few destinations": {"sources": 5, "destinations": 7, "times": 60},
}


def among_all(seed: int, nodes: int = 50, times: int = 100, sources: int = 50) -> EventStream:
    """Anyone reaches anyone, also itself, or the first few do; some never are a destination."""
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(0, sources, 400), rng.integers(0, nodes - 8, 400)
    return EventStream.from_arrays(src, dst, np.sort(rng.integers(0, times, 400)), num_nodes=nodes)


@pytest.fixture(params=[*STREAMS, "among all"])
def events(request: pytest.FixtureRequest, random_stream: MakeStream) -> EventStream:
    if request.param == "among all":
        return among_all(3)
    return random_stream(3, **STREAMS[request.param])


@pytest.fixture(params=["partners with the rest", "partners apart"])
def partners(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many are drawn of partners, in catalogues that are small or taken to be large."""
    apart = request.param == "partners apart"
    monkeypatch.setattr(hard_negatives, "SPARSE", 0 if apart else 1 << 30)
    return PARTNERS if apart else 0


def catalogue_of(events: EventStream) -> np.ndarray:
    return np.unique(events.dst)


def drawn(
    events: EventStream, number: int, catalogue: np.ndarray | None = None, seed: int = 1, size: int = 37
) -> tuple[np.ndarray, np.ndarray]:
    """Candidates and weights of all events, walked along in blocks."""
    hard = HardNegatives(events, catalogue_of(events) if catalogue is None else catalogue, number)
    walk, rng = hard.walk(), np.random.default_rng(seed)
    blocks = [walk.candidates(events[start : start + size], rng) for start in range(0, len(events), size)]
    candidates, log_weights = (np.concatenate(part) for part in zip(*blocks, strict=True))
    assert candidates.shape == log_weights.shape == (len(events), 1 + HARD + hard.partners + number)
    assert np.array_equal(candidates[:, 0], events.dst)
    assert not log_weights[:, 0].any()
    return candidates, np.exp(log_weights.astype(np.float64))


def latest(values: np.ndarray, number: int) -> set[int]:
    """The last distinct ones, one by one."""
    found: list[int] = []
    for value in values[::-1].tolist():
        if value not in found:
            found.append(value)
    return set(found[:number])


def true_and_hard(events: EventStream, row: int, catalogue: np.ndarray) -> tuple[set[int], set[int]]:
    src, dst, t = events.src, events.dst, events.t
    u, before = src[row], t < t[row]
    true = set(dst[(src == u) & (t == t[row])].tolist())
    own = latest(dst[before & (src == u)], OWN)
    reached_by = latest(src[before & (dst == u) & np.isin(src, catalogue)], REACHED_BY)
    return true, (own | reached_by | latest(dst[before], ANYONE)) - true


def been_to(events: EventStream, row: int) -> set[int]:
    """To whom the source of an event went before."""
    return set(events.dst[(events.t < events.t[row]) & (events.src == events.src[row])].tolist())


def test_hard_ones_are_those_of_a_slow_reference(events: EventStream) -> None:
    candidates, weights = drawn(events, 5)
    for row in range(len(events)):
        _, hard = true_and_hard(events, row, catalogue_of(events))
        asked = weights[row, 1 : 1 + HARD] > 0
        found = candidates[row, 1 : 1 + HARD][asked].tolist()
        assert set(found) == hard
        assert len(found) == len(hard), "one of them is there twice"
        assert np.all(weights[row, 1 : 1 + HARD][asked] == 1)


def test_the_drawn_ones_stand_for_all_of_their_kind(events: EventStream, partners: int) -> None:
    candidates, weights = drawn(events, 5)
    everyone, first = set(catalogue_of(events).tolist()), 1 + HARD + partners
    for row in range(len(events)):
        true, hard = true_and_hard(events, row, catalogue_of(events))
        others, known = everyone - true - hard, been_to(events, row)
        apart = partners > 0 and len(others) > 5
        asked = weights[row, first:] > 0
        assert set(candidates[row, first:][asked].tolist()) <= (others - known if apart else others)
        assert weights[row, first:][asked] == pytest.approx(max(1.0, len(others) / 5))
        assert apart or np.sum(asked) == min(5, len(others))
        asked = weights[row, 1 + HARD : first] > 0
        found = candidates[row, 1 + HARD : first][asked].tolist()
        assert set(found) <= (others & known if apart else set())
        assert weights[row, 1 + HARD : first][asked] == pytest.approx(max(1.0, len(known) / PARTNERS))
        if apart and len(known) <= PARTNERS:
            assert set(found) == others & known


def test_partners_are_drawn_apart_where_the_catalogue_is_large() -> None:
    catalogue = np.arange(640, dtype=np.int32)
    events = EventStream.from_arrays([0], [5], [1], num_nodes=640)
    assert HardNegatives(events, catalogue, 10).partners == PARTNERS
    assert HardNegatives(events, catalogue, 11).partners == 0


@pytest.mark.usefixtures("partners")
def test_with_enough_drawn_it_is_the_softmax_of_the_whole_catalogue(events: EventStream) -> None:
    catalogue, rng = catalogue_of(events), np.random.default_rng(0)
    candidates, weights = drawn(events, len(catalogue))
    scores = rng.normal(size=(len(events), events.num_nodes))
    logits = torch.from_numpy(np.take_along_axis(scores, candidates.astype(np.int64), axis=1))
    with np.errstate(divide="ignore"):
        loss = link_loss(logits, loss="stratified", log_weights=torch.from_numpy(np.log(weights)))
    slow = []
    for row in range(len(events)):
        true, _ = true_and_hard(events, row, catalogue)
        others = [v for v in catalogue.tolist() if v not in true]
        positive = scores[row, events.dst[row]]
        slow.append(np.log(np.exp(positive) + np.exp(scores[row, others]).sum()) - positive)
    assert loss.item() == pytest.approx(np.mean(slow))


@pytest.mark.usefixtures("partners")
@pytest.mark.parametrize("number", [1, 7, 20])
@pytest.mark.parametrize("sources", [2, 50])
def test_each_of_the_others_weighs_one_on_average(number: int, sources: int) -> None:
    """So the sum over them is not biased, whatever the scores are."""
    events = among_all(4, times=400, sources=sources)
    row, times = 300, 4_000
    catalogue = catalogue_of(events)
    true, hard = true_and_hard(events, row, catalogue)
    rest = sorted(set(catalogue.tolist()) - true - hard)
    assert len(rest) > 7
    assert sources > 2 or len(been_to(events, row)) > PARTNERS
    walk, rng = HardNegatives(events, catalogue, number).walk(), np.random.default_rng(5)
    total = np.zeros(events.num_nodes)
    for _ in range(times):
        candidates, log_weights = walk.candidates(events[row : row + 1], rng)
        np.add.at(total, candidates[0, 1 + HARD :], np.exp(log_weights[0, 1 + HARD :]))
    weight = max(1.0, len(rest) / number, len(been_to(events, row)) / PARTNERS)
    error = np.sqrt(weight / times)  # at most: how often one is drawn is a sum of chances, 1 / weight in all
    assert np.abs(total[rest] / times - 1).max() <= 5 * error
    assert total.sum() == pytest.approx(total[rest].sum())


@pytest.mark.usefixtures("partners")
def test_nothing_is_known_of_the_same_time_or_later(events: EventStream) -> None:
    """Other events from some time on change no hard one up to that time."""
    now = int(events.t[len(events) // 2])
    kept = int(np.searchsorted(events.t, now))
    rng = np.random.default_rng(8)
    order = kept + rng.permutation(len(events) - kept)
    dst = events.dst.copy()
    same_time = events.t[kept:] == now
    dst[kept:] = np.where(same_time, dst[kept:], dst[order])
    other = EventStream.from_arrays(events.src, dst, events.t, num_nodes=events.num_nodes)
    rows = slice(0, int(np.searchsorted(events.t, now, side="right")))
    catalogue = catalogue_of(events)
    one, two = (drawn(each, 4, catalogue)[0][rows] for each in (events, other))
    assert np.array_equal(one, two)


def test_blocks_do_not_matter(events: EventStream) -> None:
    one, two = (drawn(events, 3, size=size)[0][:, : 1 + HARD] for size in (1, 1_000))
    assert np.array_equal(one, two)


def test_where_everything_is_true_nothing_is_learned() -> None:
    dst = np.arange(3, 9)
    events = EventStream.from_arrays(np.zeros(6, np.int64), dst, np.full(6, 5), num_nodes=9)
    _, weights = drawn(events, 4)
    assert not weights[:, 1:].any()
    logits = torch.randn(6, 1 + HARD + 4, requires_grad=True)
    with np.errstate(divide="ignore"):
        log_weights = torch.from_numpy(np.log(weights).astype(np.float32))
    loss = link_loss(logits, loss="stratified", log_weights=log_weights)
    loss.backward()  # type: ignore[no-untyped-call]
    assert loss.item() == 0
    assert logits.grad is not None
    assert not logits.grad.any()


@pytest.mark.parametrize("in_turn", [False, True])
def test_lessons_are_a_function_of_seed_and_epoch(random_stream: MakeStream, in_turn: bool) -> None:
    data = Dataset(random_stream(2, events=500, destinations=60, times=9))
    lessons = LinkLessons(data, 20, in_turn=in_turn, loss="stratified", negatives=6)

    def asked(epoch: int) -> np.ndarray:
        queries = [lesson.queries for lesson in lessons.epoch(7, epoch)]
        return np.concatenate([each.candidates for each in queries if isinstance(each, Queries)])

    first, again, other = asked(1), asked(1), asked(2)
    assert first.shape == (len(data.train), 1 + HARD + 6)
    assert np.array_equal(first, again)
    assert np.array_equal(first[:, : 1 + HARD], other[:, : 1 + HARD])
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("name", [*ARCHITECTURES, *WITH_PAIR_TERM])
def test_every_model_trains_with_it_the_same_way_twice(name: str, random_stream: MakeStream) -> None:
    data = Dataset(random_stream(5, events=160, sources=20, destinations=15, times=40))
    config: Any = ARCHITECTURES[name.removesuffix(PAIR_TERM)].config
    if name.endswith(PAIR_TERM):
        config = replace(config, pair_term="kernel")
    config = smaller(config)

    def trained() -> tuple[float, dict[str, torch.Tensor]]:
        model: LearnedLinkModel = build_model(data.train, config, seed=1)
        fit = FitConfig(batch_size=40, loss="stratified", negatives=3)
        lessons = LinkLessons(data, 40, in_turn=model.trains_in_turn, loss=fit.loss, negatives=3)
        loss = train_epoch(model, torch.optim.Adam(model.parameters(), lr=1e-2), lessons, fit, epoch=1)
        return loss, model.state_dict()

    (loss, one), (again, two) = trained(), trained()
    assert np.isfinite(loss)
    assert loss == again
    assert all(torch.equal(one[key], two[key]) for key in one)
