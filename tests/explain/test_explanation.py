"""Explanations: the score they explain is the model's, and every what-if agrees with the others."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from keat.datasets.loading import Dataset
from keat.datasets.payments import simulate_payments
from keat.errors import InputError, Notice
from keat.explain import Explanation, Names, explain_pair
from keat.explain.asker import Asker
from keat.explain.phrases import duration, moment
from keat.explain.replay import moved_back, replay
from keat.models.contract import Queries
from keat.models.graphmixer import GraphMixer
from keat.report.explained.explained_page import page
from keat.runs.run_evaluation import evaluate_run
from keat.runs.run_subject import subject_of
from keat.tasks.link import LinkRanking
from keat.tasks.task_factory import make_task
from trained_runs import EVENTS, payments, small, trained, untrained

DAYS = 3 * 86_400


@pytest.fixture(scope="module", params=["neighbor", "query"])
def folder(request: pytest.FixtureRequest) -> Path:
    return trained(small(delta=request.param))


def at(explanation: Explanation, end: int, sweep: str) -> np.ndarray:
    """A sweep of an end as (n, G)."""
    return np.array(getattr(explanation.ends[end], sweep))


def test_an_event_is_explained_as_it_was_ranked(folder: Path) -> None:
    data = payments()
    task = make_task(data, "test", kind="link-ranking")
    assert isinstance(task, LinkRanking)
    ranks = evaluate_run(folder, data, task, "test").outcomes
    row = data.test.offset + 250  # in the second block of 200
    found = Asker(subject_of(folder), data).event(row, DAYS)
    assert found.rank == float(ranks[250])
    assert (found.source, found.t) == (int(data.stream.src[row]), int(data.stream.t[row]))
    assert found.candidates is not None
    assert found.candidates > 50


def test_the_worst_are_the_worst(folder: Path) -> None:
    data = payments()
    task = make_task(data, "val", kind="link-ranking")
    assert isinstance(task, LinkRanking)
    ranks = evaluate_run(folder, data, task, "val").outcomes
    found = [x.rank for x in Asker(subject_of(folder), data).worst(4, "val", DAYS)]
    assert found == sorted(ranks.tolist(), reverse=True)[:4]


def test_a_pair_sees_all_that_is_strictly_earlier(folder: Path) -> None:
    data = payments()
    t = int(data.stream.t[1700])
    asker = Asker(subject_of(folder), data)
    found = asker.pair("3", str(int(data.stream.dst[0])), t, DAYS)
    assert isinstance(found, Explanation)
    rows = [n.row for end in found.ends for n in end.neighbors]
    assert all(row is not None and data.stream.t[row] < t for row in rows)
    query = Queries(np.array([3], np.int32), np.array([t]), data.stream.dst[:1][:, None])
    assert found.score == pytest.approx(float(asker.model.score(query)), abs=1e-5)


def test_without_a_time_it_is_right_after_the_data(folder: Path) -> None:
    data = payments()
    last = int(data.stream.t[-1])
    now, told = (Asker(subject_of(folder), data).pair("3", "130", t, DAYS) for t in (None, last + 1))
    assert (now.t, now.score) == (told.t, told.score)
    assert now.t == last + 1


def test_rows_lead_to_the_events(folder: Path) -> None:
    data = payments()
    found = Asker(subject_of(folder), data).event(data.test.offset + 10, DAYS)
    assert isinstance(found, Explanation)
    for end in found.ends:
        for n in end.neighbors:
            assert n.row is not None
            assert data.stream.t[n.row] == n.happened
            assert {int(data.stream.src[n.row]), int(data.stream.dst[n.row])} == {end.node, n.node}
            assert n.since == found.t - n.happened


def test_without_data_the_kept_state_answers(folder: Path) -> None:
    found = Asker(subject_of(folder)).pair("3", "130", None, DAYS)
    assert found.dataset is None
    assert found.t == int(payments().val.t[-1]) + 1
    with pytest.raises(InputError, match="to go back in time, give the dataset"):
        Asker(subject_of(folder)).pair("3", "130", 5, DAYS)
    with pytest.raises(InputError, match="explained from the dataset they are in; give that, too"):
        Asker(subject_of(folder)).event(3, DAYS)


def test_sweeps_pass_through_what_happened() -> None:
    """Give an event the age it had and its attention is what it was."""
    model = untrained(small(delta="query"))
    x = explain_pair(model, 3, int(payments().test.dst[0]), int(payments().test.t[0]), older=DAYS)
    for side, end in enumerate(x.ends):
        for k, n in enumerate(end.neighbors):
            assert n.attention == pytest.approx(sum(n.alpha) / 2)
            between = np.interp(n.age, x.ages, at(x, side, "frozen")[k])  # φ frozen: smooth, so near
            assert between == pytest.approx(n.attention, abs=0.01)
    assert np.allclose(at(x, 0, "shared").sum(axis=0), 1, atol=1e-5)
    assert x.ages[0] == 0
    assert x.ages == sorted(set(x.ages))


def test_older_is_a_point_of_the_sweep_with_phi_recomputed() -> None:
    model = untrained(small(delta="query"))
    src, dst, t = 3, int(payments().test.dst[0]), int(payments().test.t[0])
    x = explain_pair(model, src, dst, t, older=DAYS)
    k, g = 1, len(x.ages) - 5
    n = x.ends[0].neighbors[k]
    moved = explain_pair(model, src, dst, t, older=x.ages[g] - n.age)
    assert moved.ends[0].neighbors[k].score_if_older == pytest.approx(
        x.ends[0].recomputed_score[k][g], abs=1e-5
    )


def test_an_older_event_by_another_road() -> None:
    """With memory untouched, an event that really is older in the log gives the counterfactual score."""
    model = untrained(small(delta="query"))
    src, dst, t = 3, int(payments().test.dst[0]), int(payments().test.t[0])
    x = explain_pair(model, src, dst, t, older=DAYS)
    n, event = x.ends[0].neighbors[2], int(x.ends[0].past.hood.event[0, 2])
    model.state._log.t[event] -= DAYS
    query = Queries(np.array([src], np.int32), np.array([t]), np.array([[dst]], np.int32))
    assert float(model.score(query)) == pytest.approx(n.score_if_older, abs=1e-5)


@pytest.mark.parametrize("delta", ["neighbor", "query"])
def test_an_event_of_both_ends_has_one_answer(delta: str) -> None:
    last = payments().before("test")
    pair = int(last.src[-1]), int(last.dst[-1])
    names = Names(row_of=lambda *event: hash(event))
    x = explain_pair(untrained(small(delta=delta)), *pair, int(payments().test.t[0]), older=DAYS, names=names)
    first, second = ({n.row: (k, n) for k, n in enumerate(end.neighbors)} for end in x.ends)
    assert first.keys() & second.keys()
    for row in first.keys() & second.keys():
        (k, mine), (j, theirs) = first[row], second[row]
        assert mine.score_if_older == pytest.approx(theirs.score_if_older, abs=1e-6)
        assert mine.score_without == pytest.approx(theirs.score_without, abs=1e-6)
        swept = x.ends[1].recomputed_score[j]
        assert x.ends[0].recomputed_score[k] == pytest.approx(swept, abs=1e-6)


def test_a_replay_moves_the_event_and_nothing_else(folder: Path) -> None:
    data = payments()
    asker = Asker(subject_of(folder), data)
    x = asker.pair("3", "130", int(data.stream.t[-1]) + 1, DAYS)
    assert isinstance(x, Explanation)
    found = replay(asker, x)
    back = moved_back(data.stream, found.row, DAYS)
    assert (np.diff(back.t) >= 0).all()
    assert sorted(back.t.tolist()) == sorted(
        (data.stream.t - DAYS * (np.arange(len(data.stream)) == found.row)).tolist()
    )
    for events, expected in ((data.stream, found.as_it_was), (back, found.if_older)):
        model = subject_of(folder).validated()
        model.reset()
        for part in (data.train, data.val, data.test):  # the boundaries of evaluation
            for block in events[part.offset : part.offset + len(part)].blocks(200):
                model.observe(block)
        query = Queries(np.array([3], np.int32), np.array([x.t]), np.array([[130]], np.int32))
        assert float(model.score(query)) == pytest.approx(expected, abs=1e-5)
    assert found.as_it_was != found.if_older
    assert found.effect == found.if_older - found.as_it_was
    assert found.why is not None
    assert "memory it had after training" in found.why
    most = x.most_telling()
    assert most is not None
    assert most[1].row == found.row


def test_a_replay_starts_from_the_score_that_is_explained(folder: Path) -> None:
    """Where no state of the run itself was kept: before the end of validation."""
    data = payments()
    asker = Asker(subject_of(folder), data)
    x = asker.event(data.val.offset + 250, DAYS)
    assert x.observed == data.val.offset + 200
    found = replay(asker, x)
    assert found.as_it_was == pytest.approx(x.score, abs=1e-5)
    assert found.why is None


def test_other_data_is_announced(folder: Path) -> None:
    """It may have grown, so it is explained; the reader is told, also on the page."""
    grown = Dataset(simulate_payments(EVENTS + 100, seed=1))
    with pytest.warns(Notice, match=r"payments \(2,100 events\) is not what the run was trained on"):
        asker = Asker(subject_of(folder), grown)
    x = asker.event(1_900, DAYS)
    assert x.notice is not None
    assert f'<p class="notice">{x.notice}</p>' in page(x)
    assert 'class="notice"' not in page(Asker(subject_of(folder), payments()).event(1_900, DAYS))


def test_other_data_of_the_same_name_and_length_are_announced(folder: Path) -> None:
    with pytest.warns(Notice, match="payments is not what the run was trained on, only as long and called"):
        Asker(subject_of(folder), Dataset(simulate_payments(EVENTS, seed=2)))


def test_without_a_dataset_there_is_nothing_to_replay(folder: Path) -> None:
    asker = Asker(subject_of(folder))
    with pytest.raises(InputError, match="no past event in a dataset to move"):
        replay(asker, asker.pair("3", "130", None, DAYS))


def test_a_node_without_a_past() -> None:
    """The run has never seen it: memory alone speaks, and nothing breaks."""
    data = payments()
    model = untrained(small())
    new = data.stream.num_nodes + 3
    model.score(Queries(np.array([new], np.int32), np.array([0]), np.array([[new]], np.int32)))
    x = explain_pair(model, new, new, int(data.test.t[0]), older=DAYS)
    assert x.ends[0].neighbors == x.ends[1].neighbors == []
    assert x.score == pytest.approx(x.score_without_past)
    told = json.loads(json.dumps(x.to_json(), allow_nan=False))
    assert told["deletion"]["faithfulness"] is None
    text = page(x)
    assert "nan" not in text.lower()
    assert "<b>–</b>faithfulness" in text
    assert "<script" not in text  # nothing to slide
    assert "at every age" not in text
    partner = int(data.before("test").dst[-1])
    one_sided = explain_pair(model, new, partner, int(data.test.t[0]), older=DAYS)
    assert "<optgroup" in page(one_sided)
    assert 'value="0,-1"' not in page(one_sided)


def test_everything_goes_into_json(folder: Path) -> None:
    found = Asker(subject_of(folder), payments()).event(1_900, DAYS)
    told = json.loads(json.dumps(found.to_json()))
    assert told["score"] == found.score
    assert len(told["ends"][0]["neighbors"][0]["alpha"]) == 2
    assert len(told["ends"][1]["recomputed"][0]) == len(told["ages"])


def test_mistakes_are_named(folder: Path) -> None:
    data = payments()
    asker = Asker(subject_of(folder), data)
    with pytest.raises(InputError, match="events 0 to 1999, not 2000"):
        asker.event(2_000, DAYS)
    with pytest.raises(InputError, match="are whole numbers, written like 7 or 42; 'Ann' is not"):
        asker.pair("Ann", "3", None, DAYS)
    with pytest.raises(InputError, match="Nothing in payments is earlier"):
        asker.pair("3", "130", int(data.stream.t[0]), DAYS)
    narrow = Dataset(type(data.stream).from_arrays(data.stream.src, data.stream.dst, data.stream.t))
    with pytest.raises(InputError, match="trained on 6 features"):
        Asker(subject_of(folder), narrow)


def test_only_tgn_is_explained(folder: Path) -> None:
    other = replace(subject_of(folder), name="graphmixer", present=GraphMixer.__new__(GraphMixer))
    with pytest.raises(InputError, match="holds a graphmixer"):
        Asker(other)


@pytest.mark.parametrize(
    ("text", "unit", "ticks"),
    [("3d", "s", 259_200), ("90", "ms", 90), ("1.5h", "ms", 5_400_000), ("2y", "year", 2)],
)
def test_durations(text: str, unit: str, ticks: int) -> None:
    assert duration(text, unit) == ticks  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("soon", "no duration"),
        ("3x", "no duration"),
        ("3s", "shorter than"),
        (str(2**63), "longer than time"),
        ("9" * 400 + "y", "longer than time"),
    ],
)
def test_bad_durations(text: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        duration(text, "day")


def test_moments() -> None:
    assert moment(1_700_000_000, "s") == "2023-11-14 22:13"
    assert moment(5_000, "s") == "5,000 s"
    assert moment(1999, "year") == "1999"
