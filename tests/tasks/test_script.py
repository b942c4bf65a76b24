from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import MakeStream
from keat.errors import InputError
from keat.events.splitting import split
from keat.tasks.candidates import SharedCandidates
from keat.tasks.link import LinkRanking
from keat.tasks.script import (
    Ask,
    AskInTurn,
    Observe,
    Step,
    is_crowded,
    refresh_steps,
    steps_by_time,
    steps_in_blocks,
    steps_in_turn,
    times_of,
)

T = np.array([0, 0, 1, 1, 1, 2, 3])
STEPS = (steps_in_turn, steps_in_blocks, steps_by_time)


def ranges(steps: Iterable[Step]) -> list[tuple[int, int]]:
    """Of steps that observe what they ask about."""
    steps = list(steps)
    assert all(step.in_turn for step in steps)
    return [step.ask for step in steps]


def test_ranges_of_refresh_events() -> None:
    assert ranges(refresh_steps(T, 3)) == [(0, 3), (3, 6), (6, 7)]
    assert ranges(refresh_steps(T[:0], 5)) == []


def test_ranges_that_end_between_two_times() -> None:
    assert ranges(steps_in_turn(T, 3)) == [(0, 5), (5, 6), (6, 7)]
    assert ranges(steps_in_turn(T, 100)) == [(0, 7)]


def test_ranges_by_blocks_and_by_time() -> None:
    assert ranges(steps_in_blocks(T, 3)) == [(0, 3), (3, 6), (6, 7)]
    assert ranges(steps_by_time(T, 3)) == list(times_of(T)) == [(0, 2), (2, 5), (5, 6), (6, 7)]


@pytest.mark.parametrize("steps", STEPS)
def test_nothing_has_no_steps(steps: Callable[..., Iterator[Step]]) -> None:
    assert list(steps(T[:0], 5)) == []
    assert list(times_of(T[:0])) == []


@pytest.mark.parametrize("steps", STEPS)
def test_a_crowded_time_is_asked_whole_before_any_of_it_is_observed(
    steps: Callable[..., Iterator[Step]],
) -> None:
    assert list(steps(np.array([0, 1, 1, 1, 1, 1, 2]), 2)) == [
        Step((0, 1), (0, 1)),
        Step((1, 3), (1, 1)),
        Step((3, 5), (1, 1)),
        Step((5, 6), (1, 1)),
        Step((6, 6), (1, 3)),
        Step((6, 6), (3, 5)),
        Step((6, 6), (5, 6)),
        Step((6, 7), (6, 7)),
    ]


@pytest.mark.parametrize("steps", STEPS)
@given(gaps=st.lists(st.integers(0, 1), max_size=60), size=st.integers(1, 12))
def test_whatever_the_ties_steps_are_short_and_strict(
    steps: Callable[..., Iterator[Step]], gaps: list[int], size: int
) -> None:
    t = np.cumsum(np.array(gaps, dtype=np.int64))
    asked: list[int] = []
    observed = 0
    for step in steps(t, size):
        assert step.ask[1] - step.ask[0] < 2 * size
        assert step.observe[1] - step.observe[0] < 2 * size
        asked += range(*step.ask)
        if step.ask[0] < step.ask[1] and not step.in_turn:  # a crowded time
            assert observed == np.sum(t < t[step.ask[0]])
        assert step.observe[0] == observed
        observed = step.observe[1]
    assert asked == list(range(len(t)))
    assert observed == len(t)


def test_crowded_is_more_than_a_batch() -> None:
    assert is_crowded(T, 2)
    assert not is_crowded(T, 3)
    assert not is_crowded(T[:0], 1)


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
                assert len(line.rows) < 2 * 200
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
