"""keat-rank: the freshest state at full speed, the same by every road, and it learns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import keat.models.rank as rank_module
from keat.cooccurrence import Numbers
from keat.cooccurrence.pair_columns import groups_of
from keat.errors import InputError, UnknownNameError
from keat.events import EventStream
from keat.models.contract import LinkModel, Queries
from keat.models.rank import KeatRank, RankConfig

NODES = 15


def make_stream(seed: int, events: int = 200) -> EventStream:
    rng = np.random.default_rng(seed)
    return EventStream.from_arrays(
        rng.integers(0, NODES, events),
        rng.integers(0, NODES, events),
        np.sort(rng.integers(0, 90, events)),
        num_nodes=NODES,
    )


def make_model(seed: int = 0, config: RankConfig | None = None) -> KeatRank:
    """Of the second edition, unless a configuration says which."""
    torch.manual_seed(seed)
    return KeatRank(NODES, 0, 10.0, config or RankConfig(edition=2)).eval()


def everyone() -> np.ndarray:
    return np.arange(NODES, dtype=np.int32)


@pytest.mark.parametrize("lists", ["one shared", "one own", "two own", "two shared"])
def test_in_turn_equals_the_plain_loop(lists: str) -> None:
    stream, rng = make_stream(1), np.random.default_rng(1)
    history, block = stream[:100], stream[100:]
    own = Queries(block.src, block.t, rng.integers(0, NODES, (len(block), 3)).astype(np.int32))
    half = own.rows(0, 40)
    shared = Queries(block.src, block.t, everyone())
    queries = {
        "one shared": [shared],
        "one own": [own],
        "two own": [own, half],
        "two shared": [shared, own],
    }[lists]
    quick, plain = make_model(), make_model()
    for model in (quick, plain):
        model.observe(history)
    with torch.no_grad():
        ours, wanted = quick.score_in_turn(queries, block), LinkModel.score_in_turn(plain, queries, block)
        for a, b in zip(ours, wanted, strict=True):
            torch.testing.assert_close(a, b)
        later = Queries(everyone(), np.full(NODES, 100), everyone())
        torch.testing.assert_close(quick.score(later), plain.score(later))


def test_pieces_of_evaluation_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = make_stream(2)
    queries = Queries(stream.src[100:], stream.t[100:], everyone())
    scores = []
    for at_once in (1 << 20, 40):
        monkeypatch.setattr(rank_module, "PAIRS_AT_ONCE", at_once)
        model = make_model()
        model.observe(stream[:100])
        with torch.no_grad():
            scores.append(model.score_in_turn([queries], stream[100:])[0])
    torch.testing.assert_close(scores[0], scores[1])


def test_state_of_a_checkpoint_goes_on_the_same() -> None:
    stream = make_stream(3)
    one, other = make_model(), make_model()
    one.observe(stream[:120])
    other.load_stream_state(one.stream_state())
    ask = Queries(everyone(), np.full(NODES, 95), everyone())
    for model in (one, other):
        model.observe(stream[120:])
    assert torch.equal(one.score(ask), other.score(ask))
    assert other.last_time() == int(stream.t[-1])
    assert set(other.destinations()) == set(stream.dst)


@pytest.mark.parametrize("widths", ["geometric", "learned", "2,20"])
def test_it_learns_that_sources_return(widths: str) -> None:
    """Each source goes on where it was, but for one event in ten; a few steps suffice to rank that first."""
    rng = np.random.default_rng(0)
    src = rng.integers(0, 5, 600)
    where, dst = rng.integers(5, NODES, 5), []
    for u in src:
        if rng.random() < 0.1:
            where[u] = rng.integers(5, NODES)
        dst.append(where[u])
    stream = EventStream.from_arrays(src, dst, np.arange(600) * 3, num_nodes=NODES)
    model = make_model(config=RankConfig(widths=widths)).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(3):
        model.reset()
        for block in stream[:400].blocks(50):
            (logits,) = model.score_in_turn([Queries(block.src, block.t, everyone())], block)
            loss = torch.nn.functional.cross_entropy(logits, torch.from_numpy(block.dst).long())
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    model.eval()
    test = stream[400:]
    with torch.no_grad():
        (logits,) = model.score_in_turn([Queries(test.src, test.t, everyone())], test)
    assert (logits.argmax(dim=1).numpy() == test.dst).mean() > 0.8


def test_widths_in_human_units() -> None:
    model = make_model(config=RankConfig(widths="60,21600,777600"))
    assert model.remembers("s") == "remembers about 1 min, 6 h and 9 days"
    learned = make_model(config=RankConfig(widths="learned", learned=2))
    assert len(learned.widths()) == 2
    assert min(model.widths()) == 60.0


@pytest.mark.parametrize("widths", ["", "wide", "60,-1", "60,inf"])
def test_widths_that_are_none(widths: str) -> None:
    with pytest.raises(InputError, match="Widths must be"):
        make_model(config=replace(RankConfig(), widths=widths))


@pytest.mark.parametrize("edition", [1, 2, 3])
def test_a_model_reads_and_keeps_the_numbers_of_its_edition(edition: int) -> None:
    """An edition neither has parameters for, nor keeps, nor explains what came with a later one."""
    stream, model = make_stream(4), make_model(config=RankConfig(edition=edition))
    model.observe(stream)
    told = model.explain_pair(int(stream.src[-1]), int(stream.dst[-1]), int(stream.t[-1]) + 4)
    assert tuple(told.effects) == tuple(groups_of(edition))
    assert ("pairs.unanswered" in model.stream_state()) == (edition > 1)
    assert ("events to answer" in told.numbers) == (edition > 1)
    assert ("noted.message" in model.stream_state()) == (edition > 2)
    assert ("messages of the source" in told.numbers) == (edition > 2)
    assert model.term.lin_pair.linear.in_features == len(model.past.columns.pair)
    with pytest.raises(InputError, match="edition must be at least 1 and at most 3"):
        RankConfig(edition=4)


def test_groups_that_are_none() -> None:
    with pytest.raises(UnknownNameError, match="Unknown group of numbers 'replies'"):
        make_model(config=RankConfig(without="replies"))
    with pytest.raises(UnknownNameError, match="did you mean 'the source'"):
        make_model(config=RankConfig(without="recency rank, the sources"))


def test_an_explanation_is_of_the_score() -> None:
    stream = make_stream(5)
    model = make_model()
    model.observe(stream)
    u, v, t = int(stream.src[-1]), int(stream.dst[-1]), int(stream.t[-1]) + 4
    told = model.explain_pair(u, v, t)
    ask = Queries(np.array([u], np.int32), np.array([t]), np.array([v], np.int32))
    assert told.logit == pytest.approx(model.score(ask).item(), rel=1e-5)
    assert told.numbers["events of the source"] == (stream.src == u).sum()
    assert told.numbers["age of the last meeting"] == pytest.approx(4)
    assert told.effects["meetings of the pair"] != 0.0
    assert told.widths == pytest.approx(model.past.widths.tolist())
    assert told.sums["source to candidate"][-1] == pytest.approx(
        sum(np.exp(-(t - s) / told.widths[-1]) for s in stream.t[(stream.src == u) & (stream.dst == v)]),
        rel=1e-4,
    )
    blind = make_model(config=RankConfig(without="meetings of the pair"))
    blind.observe(stream)
    assert blind.explain_pair(u, v, t).effects["meetings of the pair"] == 0.0


def test_the_effect_of_a_width_is_the_score_without_its_sums() -> None:
    """Of learned widths, whose sums the state does not keep."""
    stream = make_stream(6)
    model = make_model(config=RankConfig(widths="learned", learned=3))
    with torch.no_grad():
        assert model.term.mix is not None
        model.term.mix.place.copy_(torch.tensor([6.0, 1.0, 3.5]))  # not in order
    model.observe(stream)
    u, v, t = int(stream.src[-1]), int(stream.dst[-1]), int(stream.t[-1]) + 4
    told = model.explain_pair(u, v, t)
    assert told.widths == sorted(model.widths())
    asked = np.array([u], np.int32), np.array([t]), np.array([v], np.int32)
    with torch.no_grad():
        seen = model.term.mixed(model.past.read(*asked))
        for place, kernel in enumerate((1, 2, 0)):
            source, pair = seen.source.clone(), seen.pair.clone()
            source[:, kernel : 2 * 3 : 3] = 0.0
            pair[..., kernel : 6 * 3 : 3] = 0.0
            without = model.term.judge(Numbers(source, pair)).item()
            assert told.width_effects[place] == pytest.approx(told.logit - without, abs=1e-5)
    assert told.remembers("s") == model.remembers("s")
