from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import FindFile, MakeStream
from keat.errors import InputError
from keat.events import EventStream, read_events
from keat.events.splitting import split


def stream_at(times: list[int]) -> EventStream:
    zeros = np.zeros(len(times), dtype=int)
    return EventStream.from_arrays(zeros, zeros + 1, np.sort(np.array(times, dtype=np.int64)), name="clock")


@given(st.lists(st.integers(0, 50), min_size=1, max_size=80))
def test_it_is_the_benchmarks_quantile_split(times: list[int]) -> None:
    stream = stream_at(times)
    q1, q2 = np.quantile(stream.t, [1 - 0.15 - 0.15, 1 - 0.15])
    expected = [int(np.sum(m)) for m in (stream.t <= q1, (stream.t > q1) & (stream.t <= q2), stream.t > q2)]
    if len(set(times)) < 3:
        with pytest.raises(InputError, match="too short to split"):
            split(stream)
    elif 0 in expected:  # a clock too coarse for quantiles: three times are enough
        parts = split(stream)
        assert min(parts.sizes.values()) > 0
        assert parts.train.t[-1] < parts.val.t[0]
        assert parts.val.t[-1] < parts.test.t[0]
    else:
        assert list(split(stream).sizes.values()) == expected


def test_large_times_split_like_small_ones() -> None:
    times = np.arange(1000)
    late = EventStream.from_arrays(times % 7, times % 5, times + 4_000_000_000_000_000_000, unit="ns")
    assert split(late).sizes == {"train": 700, "val": 150, "test": 150}


def test_years_of_nanoseconds_split_exactly() -> None:
    """Three years before the busy end, so that times since the first event do not fit a float64 either."""
    n, three_years = 1000, 3 * 365 * 86_400 * 10**9
    times = np.append(0, three_years + 3 * np.arange(n - 1))
    parts = split(EventStream.from_arrays(np.zeros(n, int), np.ones(n, int), times, unit="ns"))
    ends = []
    for hundredths in (70, 85):
        below, rest = divmod(hundredths * (n - 1), 100)
        quantile = Fraction(int(times[below])) + Fraction(int(times[below + 1] - times[below]) * rest, 100)
        ends.append(sum(time <= quantile for time in times.tolist()))
    assert list(parts.sizes.values()) == [ends[0], ends[1] - ends[0], n - ends[1]]


def test_parts_are_views_in_order(random_stream: MakeStream) -> None:
    stream = random_stream(0)
    parts = split(stream)
    assert [part.offset for part in parts] == [0, len(parts.train), len(parts.train) + len(parts.val)]
    assert all(np.shares_memory(part.t, stream.t) for part in parts)


@pytest.mark.parametrize(("val", "test"), [(0.0, 0.1), (0.6, 0.5), (-0.1, 0.2)])
def test_nonsense_shares_are_refused(val: float, test: float) -> None:
    with pytest.raises(InputError, match="leave room for training"):
        split(stream_at(list(range(10))), val, test)


def test_wikipedia(shared_file: FindFile) -> None:
    stream = read_events(shared_file("wikipedia.parquet"))
    assert split(stream).sizes == {"train": 110_232, "val": 23_621, "test": 23_621}
