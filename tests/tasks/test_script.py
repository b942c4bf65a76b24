import numpy as np
import pytest

from conftest import MakeStream
from keat.errors import InputError
from keat.events.splitting import split
from keat.tasks.candidates import SharedCandidates
from keat.tasks.link import LinkRanking
from keat.tasks.script import Ask, Observe, refresh_steps


def test_ranges_of_refresh_events() -> None:
    t = np.array([0, 0, 1, 1, 1, 2, 3])
    assert list(refresh_steps(t, 3)) == [(0, 3), (3, 6), (6, 7)]
    assert list(refresh_steps(t, 1)) == [(0, 2), (2, 5), (5, 6), (6, 7)]
    assert list(refresh_steps(t[:0], 1)) == list(refresh_steps(t[:0], 5)) == []


def test_refresh_must_be_positive() -> None:
    with pytest.raises(InputError, match="at least 1"):
        list(refresh_steps(np.array([1]), 0))


@pytest.mark.parametrize("refresh", [1, 7, 200])
def test_the_script_observes_everything_once_and_asks_before(refresh: int, random_stream: MakeStream) -> None:
    stream = random_stream(0, times=60)
    parts = split(stream)
    history = stream[: parts.test.offset]
    asked, observed = 0, 0
    for line in LinkRanking(history, SharedCandidates(parts.test, stream.dst)).script(refresh):
        if isinstance(line, Ask):
            assert (line.start, line.stop) == (asked, line.stop)
            asked = line.stop
            assert observed <= parts.test.offset + line.start
            if refresh == 1:
                times = stream.t[:observed]
                now = parts.test.t[line.start]
                assert times.max() < now
                assert observed == np.sum(stream.t < now)  # every strictly earlier event
        elif isinstance(line, Observe):
            assert line.events.offset == observed
            observed += len(line.events)
    assert asked == len(parts.test)
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
    sizes = [line.stop - line.start for line in lines if isinstance(line, Ask)]
    assert max(sizes) == 16
    assert sum(sizes) == len(parts.val)
    assert [type(line) for line in lines] == [Ask] * len(sizes) + [Observe]
