import numpy as np
import pytest

from conftest import MakeStream
from keat.errors import InputError
from keat.events.splitting import split
from keat.tasks.candidates import SharedCandidates
from keat.tasks.link import LinkRanking
from keat.tasks.script import Ask, AskInTurn, Observe, refresh_steps, steps_in_turn


def test_ranges_of_refresh_events() -> None:
    t = np.array([0, 0, 1, 1, 1, 2, 3])
    assert list(refresh_steps(t, 3)) == [(0, 3), (3, 6), (6, 7)]
    assert list(refresh_steps(t[:0], 5)) == []


def test_ranges_that_end_between_two_times() -> None:
    t = np.array([0, 0, 1, 1, 1, 2, 3])
    assert list(steps_in_turn(t, 1)) == [(0, 2), (2, 5), (5, 6), (6, 7)]
    assert list(steps_in_turn(t, 3)) == [(0, 5), (5, 6), (6, 7)]
    assert list(steps_in_turn(t, 100)) == [(0, 7)]
    assert list(steps_in_turn(t[:0], 5)) == []


def test_refresh_must_be_positive() -> None:
    with pytest.raises(InputError, match="at least 1"):
        list(refresh_steps(np.array([1]), 0))


@pytest.mark.parametrize("refresh", [1, 7, 200])
@pytest.mark.parametrize("sample", [None, 11])
@pytest.mark.parametrize("at_once", [1 << 20, 12 * 16])
def test_the_script_observes_everything_once_and_asks_before(
    refresh: int,
    sample: int | None,
    at_once: int,
    random_stream: MakeStream,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("keat.tasks.link.SCORES_AT_ONCE", at_once)
    stream = random_stream(0, times=60)
    parts = split(stream)
    task = LinkRanking(stream[: parts.test.offset], SharedCandidates(parts.test, stream.dst))
    if sample is not None:
        task = task.sample(sample, seed=3)
    asked, observed = [], 0
    for line in task.script(refresh):
        if isinstance(line, Ask | AskInTurn):
            assert isinstance(line.rows, np.ndarray)
            assert line.queries[0].t.tolist() == parts.test.t[line.rows].tolist()
            asked += line.rows.tolist()
            assert observed <= parts.test.offset + line.rows[0]
            if refresh == 1:  # the state knows every strictly earlier event and nothing else
                now = parts.test.t[line.rows[0]] if isinstance(line, Ask) else line.events.t[0]
                assert observed == np.sum(stream.t < now)
        if isinstance(line, Observe | AskInTurn):
            assert line.events.offset == observed
            observed += len(line.events)
    assert asked == (sorted(set(asked)) if sample else list(range(len(parts.test))))
    assert len(asked) == (sample or len(parts.test))
    assert observed == len(stream)


def test_large_ranges_are_asked_in_pieces_and_observed_whole(
    random_stream: MakeStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keat.tasks.link.SCORES_AT_ONCE", 12 * 16)
    stream = random_stream(0)
    parts = split(stream)
    task = LinkRanking(parts.train, SharedCandidates(parts.val, stream.dst))
    lines = [
        line for line in task.script(200) if not (isinstance(line, Observe) and line.events.offset < 210)
    ]
    sizes = [len(line.queries[0].t) for line in lines if isinstance(line, Ask)]
    assert max(sizes) == 16
    assert sum(sizes) == len(parts.val)
    assert [type(line) for line in lines] == [Ask] * len(sizes) + [Observe]
