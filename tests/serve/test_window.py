"""Events that come out of order within the window are observed in the order of their times; later ones count
as of the earliest time that is not over."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from live_runs import checked, later_events, live_run

from keat.errors import InputError
from keat.models.contract import LearnedLinkModel, Queries
from keat.runs.run import open_kept
from keat.serve.engine import Engine
from keat.serve.events import Checked
from keat.serve.explaining import explain_event
from keat.serve.happened import FEW, Happened, Waiting
from keat.serve.live_state import in_unit, observe_by_time, stream_of
from keat.serve.log_rows import columns_of
from keat.serve.micro_batch import Wanted
from keat.serve.swapping import Shadow, catch_up, open_beside

WINDOW = 2_000  # seconds


def known_nodes(engine: Engine, number: int, seed: int) -> list[Checked]:
    """Later events among nodes that the run knows: newcomers would be numbered in the order they come in."""
    rng = np.random.default_rng(seed)
    known = set(engine.ids.labels)
    events = [one for one in later_events(engine, number, seed) if {one.source, one.destination} <= known]
    for event in events:
        assert isinstance(event.time, int)
        event.time = max(event.time, engine.state.last_time) + int(rng.integers(0, 500))
    return checked(engine, events)


def shuffled(events: list[Checked], seed: int) -> list[Checked]:
    """Each delayed by at most the window."""
    delays = np.random.default_rng(seed).integers(0, WINDOW + 1, len(events))
    return [
        events[at] for at in np.argsort([e.t + d for e, d in zip(events, delays, strict=True)], kind="stable")
    ]


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(["keat-rank", "keat-tgn"]),
    seed=st.integers(0, 1_000),
    cuts=st.lists(st.integers(1, 59), max_size=4, unique=True),
)
def test_any_order_within_the_window_gives_the_state_of_the_sorted_order(
    name: str, seed: int, cuts: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """With restarts, from snapshots and without."""
    straight = Engine(live_run(name, tmp_path_factory.mktemp("straight")), "process", window=WINDOW)
    events = shuffled(known_nodes(straight, 60, seed), seed)
    flush = Checked(3, 44, max(one.t for one in events) + 2 * WINDOW, None, events[0].features)
    straight.take([*sorted(events, key=lambda one: one.t), flush])
    run = live_run(name, tmp_path_factory.mktemp("winding"))
    engine, late = Engine(run, "process", window=WINDOW), 0
    for start, stop in pairwise([0, *sorted(cuts), 60]):
        late += sum(answer.late is not None for answer in engine.take(events[start:stop]))
        if stop % 2:
            engine.snapshot()
        engine.close()
        engine = Engine(run, "process", window=WINDOW)
    engine.take([flush])
    assert late == 0
    assert engine.digest() == straight.digest()
    assert straight.counts.reordered == 0
    engine.close()
    straight.close()


@pytest.mark.parametrize("name", ["keat-rank", "keat-tgn"])
def test_live_scores_are_those_of_a_replay_that_is_a_window_behind(name: str, tmp_path: Path) -> None:
    """By the models of the library alone: what is over is observed time by time, the rest not yet."""
    run = live_run(name, tmp_path)
    engine = Engine(run, "process", window=WINDOW)
    events = checked(engine, later_events(engine, 120))
    cuts = [0, 1, 2, 50, 51, 100, 120]
    answers = [answer for start, stop in pairwise(cuts) for answer in engine.take(events[start:stop])]
    rows = [row for _, row in engine.log.rows()]
    every, unit, last = engine.model.happened_in(rows, len(engine.ids)), engine.state.unit, 0
    assert engine.counts.late == sum(answer.late is not None for answer in answers) > 0
    assert engine.counts.reordered > 0
    engine.close()
    model = open_kept(run).model
    assert isinstance(model, LearnedLinkModel)
    observed = np.zeros(len(every), dtype=bool)
    for place, answer in enumerate(answers):
        last = max(last, int(every.t[place]))
        over = (every.t < last - WINDOW) & ~observed & (np.arange(len(every)) <= place)
        observed |= over
        with torch.no_grad():
            observe_by_time(model, stream_of(every[over].in_order(), unit))
            asked = Queries(every.src[[place]], every.t[[place]], every.dst[[place]][:, None])
            assert model.score(asked).item() == pytest.approx(answer.logit, abs=2e-6)


def test_what_is_later_than_the_window_counts_as_of_its_begin(tmp_path: Path) -> None:
    engine = Engine(live_run("keat-rank", tmp_path), window=100)
    last = engine.state.last_time
    features = tuple(0.0 for _ in engine.served.features.columns)
    times = [last + 500, last + 400, last + 399, last + 450, last + 500]
    answers = engine.take([Checked(1, 50, t, None, features) for t in times])
    assert [answer.late for answer in answers] == [None, None, last + 399, None, None]
    ((_, row),) = engine.log.rows()
    assert columns_of([row]).t.tolist() == [last + 500, last + 400, last + 400, last + 450, last + 500]
    assert (engine.counts.late, engine.counts.reordered) == (1, 2)
    assert len(engine.state.waiting) == 5
    engine.take([Checked(1, 50, last + 501, None, features)])
    assert len(engine.state.waiting) == 4


def test_a_window_may_change_and_what_is_over_stays_over(tmp_path: Path) -> None:
    """A restart from nothing but the log goes the same way."""
    run = live_run("keat-rank", tmp_path)
    engine = Engine(run, "process")
    events = checked(engine, later_events(engine, 100, seed=3))
    engine.close()
    for start, window in zip(range(0, 100, 20), (WINDOW, 0, 3 * WINDOW, WINDOW // 2, 0), strict=True):
        engine = Engine(run, "process", window=window)
        before = engine.state.horizon
        engine.take(events[start : start + 20])
        assert engine.state.horizon == max(before, engine.state.last_time - window)
        digest = engine.digest()
        engine.close()
        assert Engine(run, write=False).digest() == digest
    with pytest.raises(InputError, match="shorter than the unit"):
        in_unit(60, "day")


@pytest.mark.parametrize("name", ["keat-rank", "keat-tgn"])
def test_a_question_is_answered_as_an_event_would_be(name: str, tmp_path: Path) -> None:
    quiet = Engine(live_run(name, tmp_path / "a"), "process", window=WINDOW)
    asked = Engine(live_run(name, tmp_path / "b"), "process", window=WINDOW)
    events = checked(quiet, later_events(quiet, 40, seed=2))
    none = np.zeros((1, quiet.served.features.dim), np.float32)
    for place, event in enumerate(events):
        t = max(event.t, asked.state.horizon)
        later = asked.state.last_time + (1, WINDOW // 2, 5 * WINDOW)[place % 3]
        times: list[int | None] = [None, t, later]
        pairs = asked.judge.score([event.source] * 3, [event.destination] * 3, times, none.repeat(3, axis=0))
        answer = asked.take([event])[0]
        assert pairs[1].logit == pytest.approx(answer.logit, abs=1e-6)
        other = quiet.take([event])[0]
        assert (other.logit, other.late) == (answer.logit, answer.late)
    assert asked.digest() == quiet.digest()
    with pytest.raises(InputError, match="which is over"):
        asked.judge.score([3], [44], [asked.state.horizon - 1], none)
    if name == "keat-rank":
        found = explain_event(asked.base.run.folder, 30)
        assert found["seq"] == 30


def test_rank_and_reasons_are_of_the_state_of_the_score(tmp_path: Path) -> None:
    one = Engine(live_run("keat-rank", tmp_path / "a"), "process", window=WINDOW)
    other = Engine(live_run("keat-rank", tmp_path / "b"), "process", window=WINDOW)
    events = checked(one, later_events(one, 30))
    with_rank, plain = one.take(events, Wanted(rank=True)), other.take(events)
    assert all(answer.rank is not None for answer in with_rank)
    assert [a.logit for a in with_rank] == pytest.approx([a.logit for a in plain], abs=1e-6)
    assert one.digest() == other.digest()


def test_another_model_follows_a_log_with_a_window(tmp_path: Path) -> None:
    run, next_run = live_run("keat-tgn", tmp_path / "a"), live_run("keat-rank", tmp_path / "b")
    engine = Engine(run, "process", window=WINDOW)
    events = checked(engine, later_events(engine, 60))
    engine.take(events[:20])
    model, ids, tail = open_beside(engine.base, engine.folder, next_run)
    catch_up(model, engine.log, ids, tail)
    engine.shadow = Shadow(model, "next")
    engine.take(events[20:40])
    assert engine.shadow is not None
    assert engine.shadow.model.state.horizon == engine.state.horizon
    engine.switch()
    engine.take(events[40:])
    digest = engine.digest()
    engine.close()
    assert Engine(run, "process", window=WINDOW).digest() == digest


def test_what_waits_is_in_order_however_much_it_is() -> None:
    rng = np.random.default_rng(0)
    waiting, every = Waiting(Happened.nothing(1)), Happened.nothing(1)
    taken: list[int] = []
    for start in range(0, 4 * FEW, 512):
        t = start + rng.integers(0, 6_000, 512)
        number = np.arange(start, start + 512, dtype=np.int32)
        events = Happened(number, number, t, np.zeros((512, 1), np.float32))
        events = events[t >= start - 512]
        waiting.add(events)
        every = every.and_then(events)
        assert waiting.has_before(start) == bool((every.in_order().t[len(taken) :] < start).any())
        taken += waiting.take_before(start).src.tolist()
    assert taken + waiting.copy().all().src.tolist() == every.in_order().src.tolist()
