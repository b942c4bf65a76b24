"""Events are scored before they are observed, as an offline replay would, wherever batches are cut."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from live_runs import checked, later_events, live_run

from keat.errors import InputError
from keat.events import EventStream
from keat.models.contract import LearnedLinkModel
from keat.runs.run import open_kept
from keat.serve.engine import Engine
from keat.serve.events import Event
from keat.serve.live_answers import Answer
from keat.serve.log_rows import columns_of
from keat.serve.micro_batch import ConflictError, Wanted
from keat.tasks.link import LinkClassification
from keat.training.evaluate import continue_evaluation

MODELS = ["keat-rank", "keat-tgn", "tgn", "tgat", "fraud"]
LINKS = MODELS[:4]


def plain(answers: list[Answer]) -> list[tuple[object, ...]]:
    """Answers without the mark that they were given before, and with scores as they are compared: how many
    rows a matrix has decides how float32 is rounded."""
    scores = [pytest.approx(one.logit, abs=1e-6) for one in answers]
    return [(one.seq, one.id, score, one.late, one.model) for one, score in zip(answers, scores, strict=True)]


def exact(answers: list[Answer]) -> list[tuple[object, ...]]:
    return [(one.seq, one.id, one.logit, one.late, one.model) for one in answers]


def logged(engine: Engine) -> EventStream:
    """The events of a log, as a stream."""
    rows = [row for _, row in engine.log.rows()]
    events = engine.model.happened_in(rows, len(engine.ids))
    return EventStream.from_arrays(
        events.src, events.dst, events.t, events.features, num_nodes=len(engine.ids), unit=engine.state.unit
    )


@pytest.mark.parametrize("name", LINKS)
def test_live_scores_are_those_of_an_offline_replay(name: str, tmp_path: Path) -> None:
    """Through the evaluation of the library at refresh 1, from the run as it was when serving began."""
    run = live_run(name, tmp_path)
    engine = Engine(run, "process")
    events = checked(engine, later_events(engine, 150))
    cuts = [0, 1, 2, 50, 51, 120, 150]
    live = [answer.logit for start, stop in pairwise(cuts) for answer in engine.take(events[start:stop])]
    stream = logged(engine)
    engine.close()
    offline = open_kept(run)
    model = offline.model
    assert isinstance(model, LearnedLinkModel)
    task = LinkClassification(stream[:0], stream, stream.src, stream.dst[::-1].copy())
    found = continue_evaluation(model, task, refresh=1)
    assert np.allclose(found.outcomes[:, 0].numpy(), live, rtol=0, atol=2e-6)


@pytest.mark.parametrize("name", MODELS)
def test_a_restart_is_as_if_nothing_had_happened(name: str, tmp_path: Path) -> None:
    run = live_run(name, tmp_path)
    engine = Engine(run, "process")
    events = checked(engine, later_events(engine, 60))
    first = engine.take(events[:40])
    engine.snapshot()
    second = engine.take(events[40:])
    digest = engine.digest()
    engine.close()
    again = Engine(run, "process")
    assert again.digest() == digest
    answers = again.take(events)
    assert exact(answers) == exact(first + second)
    assert all(answer.again for answer in answers)
    assert again.log.tail.event == 60
    for snapshot in (run / "live").glob("snapshot-*"):
        snapshot.unlink()
    again.close()
    assert Engine(run, "process").digest() == digest


@pytest.mark.parametrize("name", MODELS)
def test_it_does_not_matter_how_events_come_in_batches(name: str, tmp_path: Path) -> None:
    one, many = Engine(live_run(name, tmp_path / "a")), Engine(live_run(name, tmp_path / "b"))
    events = checked(one, later_events(one, 120))
    whole = one.take(events)
    single = [answer for event in events for answer in many.take([event])]
    assert plain(whole) == exact(single)
    assert one.digest() == many.digest()


actions = st.lists(
    st.one_of(
        st.tuples(st.just("take"), st.integers(1, 30)),
        st.tuples(st.just("again"), st.integers(1, 30)),
        st.just(("restart", 0)),
        st.just(("snapshot", 0)),
        st.just(("fail", 5)),
    ),
    max_size=12,
)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(plan=actions, seed=st.integers(0, 1_000))
def test_any_mix_gives_the_same_log_and_state(
    plan: list[tuple[str, int]], seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Retries, duplicates, cuts, restarts, snapshots and commits that fail."""
    straight = Engine(live_run("keat-rank", tmp_path_factory.mktemp("straight")), "process")
    events = checked(straight, later_events(straight, 60, seed))
    expected = plain(straight.take(events))
    run = live_run("keat-rank", tmp_path_factory.mktemp("winding"))
    engine, done = Engine(run, "process"), 0
    for action, number in [*plan, ("take", 60)]:
        if action == "take":
            answers = engine.take(events[max(0, done - number // 3) : done + number])
            assert exact(answers) == expected[max(0, done - number // 3) : done + number]
            done = min(60, done + number)
        elif action == "again":
            assert exact(engine.take(events[: min(done, number)])) == expected[: min(done, number)]
        elif action == "restart":
            engine.close()
            engine = Engine(run, "process")
        elif action == "snapshot":
            engine.snapshot()
        else:
            prepared = engine.begin(events[done : done + number])
            engine.take_back(prepared)
    assert [row for _, row in engine.log.rows()]
    assert columns_of([row for _, row in engine.log.rows()]).t.tolist() == logged(straight).t.tolist()
    assert engine.digest() == straight.digest()
    engine.close()
    straight.close()


def test_questions_change_nothing_and_know_everything_before_them(tmp_path: Path) -> None:
    engine = Engine(live_run("keat-rank", tmp_path))
    events = later_events(engine, 40)
    engine.take(checked(engine, events[:30]))
    digest, last = engine.digest(), engine.state.last_time
    none = np.zeros((1, engine.served.features.dim), np.float32)
    for later in range(3):
        pair = engine.judge.score([3], [44], [last + later or None], none)[0]
        assert pair.time == last + later
        asked = replace_time(events[30], 3, 44, last + later)
        other = Engine(live_run("keat-rank", tmp_path / f"other {later}"))
        other.take(checked(other, events[:30]))
        assert other.take(checked(other, [asked]))[0].logit == pytest.approx(pair.logit, abs=1e-6)
    assert engine.judge.score([3], [44], [None], none)[0].time == last + 1
    ranking = engine.judge.rank(3, None, None, 5, 30)
    assert [one.rank for one in ranking.destinations] == [1, 2, 3, 4, 5]
    assert ranking.destinations[0].logit >= ranking.destinations[1].logit
    assert engine.judge.rank(3, [44, 777_777], None, 5, 30).candidates == 2
    assert engine.digest() == digest
    with pytest.raises(InputError, match="is before"):
        engine.judge.score([3], [44], [last - 1], none)


def replace_time(event: Event, source: int, destination: int, t: int) -> Event:
    return Event(source, destination, t, id="asked", features=event.features)


@pytest.mark.parametrize("name", ["keat-rank", "keat-tgn"])
def test_questions_between_events_of_one_time_do_not_change_their_scores(name: str, tmp_path: Path) -> None:
    quiet, asked = Engine(live_run(name, tmp_path / "a")), Engine(live_run(name, tmp_path / "b"))
    events = checked(quiet, later_events(quiet, 60, ties=2))
    expected = plain(quiet.take(events[:1]) + [one for each in events[1:] for one in quiet.take([each])])
    none = np.zeros((1, quiet.served.features.dim), np.float32)
    found = []
    for place, event in enumerate(events):
        found += exact(asked.take([event]))
        if place % 3:
            asked.judge.score([place % 40], [50], [None], none)
            asked.judge.rank(place % 40, None, None, 3, place)
    assert found == expected
    assert asked.digest() == quiet.digest()


def test_an_answer_has_its_rank_and_reasons_where_asked(tmp_path: Path) -> None:
    engine = Engine(live_run("keat-rank", tmp_path))
    events = checked(engine, later_events(engine, 12))
    answers = engine.take(events, Wanted(rank=True, reasons=True))
    for answer in answers:
        assert answer.rank is not None
        assert answer.candidates is not None
        assert 1 <= answer.rank <= answer.candidates
        assert answer.share is not None
        assert answer.reasons
        assert len(answer.reasons) <= 3
        assert all(one.startswith(("for it: ", "against it: ")) for one in answer.reasons)
    assert [again.reasons for again in engine.take(events)] == [answer.reasons for answer in answers]


def test_late_events_count_as_of_the_last_time_and_say_so(tmp_path: Path) -> None:
    engine = Engine(live_run("keat-rank", tmp_path))
    last = engine.state.last_time
    features = later_events(engine, 1)[0].features
    sent = [Event(1, 50, last + 100, features=features), Event(2, 51, last + 40, features=features)]
    answers = engine.take(checked(engine, sent))
    assert [answer.late for answer in answers] == [None, last + 40]
    assert logged(engine).t.tolist() == [last + 100, last + 100]
    assert engine.counts.late == 1


def test_one_id_for_two_events_is_refused(tmp_path: Path) -> None:
    engine = Engine(live_run("keat-rank", tmp_path))
    first, second = later_events(engine, 2)
    second.id = first.id
    one, other = checked(engine, [first, second])
    with pytest.raises(ConflictError, match="another event"):
        engine.take([one, other])
    assert engine.log.tail.event == 1
    engine.require_same(one)
    for changed in (other, one._replace(t=one.t + 1), one._replace(features=(0.5,) * 6)):
        with pytest.raises(ConflictError, match="another event"):
            engine.require_same(changed)


def test_only_one_process_serves_a_run(tmp_path: Path) -> None:
    run = live_run("keat-rank", tmp_path)
    engine = Engine(run)
    with pytest.raises(Exception, match="served by another process"):
        Engine(run)
    reader = Engine(run, write=False)
    assert reader.digest() == engine.digest()


def test_a_run_that_was_trained_on_or_updated_has_another_log(tmp_path: Path) -> None:
    run = live_run("keat-rank", tmp_path)
    engine = Engine(run)
    engine.take(checked(engine, later_events(engine, 3)))
    engine.close()
    metrics = run / "metrics.jsonl"
    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    for line in lines:
        line["calibration"] = None
    metrics.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(Exception, match="move the folder away to begin a new log"):
        Engine(run)


def test_streams_of_runs_are_not_changed(tmp_path: Path) -> None:
    """What serving writes is in its own folder."""
    run = live_run("keat-tgn", tmp_path)
    before = {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}
    engine = Engine(run)
    engine.take(checked(engine, later_events(engine, 20)))
    engine.snapshot()
    engine.close()
    assert {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()} == before
