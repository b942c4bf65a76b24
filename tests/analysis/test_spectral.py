import numpy as np
import pytest

from keat.analysis.spectral import BINS, spectral_entropies
from keat.events import EventStream


def test_entropy_of_timestamps_is_the_papers_formula() -> None:
    rng = np.random.default_rng(0)
    t = np.sort(rng.integers(0, 1000, 60))
    stream = EventStream.from_arrays(rng.integers(0, 3, 60), rng.integers(3, 6, 60), t)
    expected = []
    for node in range(6):
        times = t[(stream.src == node) | (stream.dst == node)].astype(float)
        magnitude = np.abs(np.fft.rfft(times))
        share = magnitude / magnitude.sum()
        expected.append(-np.sum(share[share > 0] * np.log(share[share > 0])))
    assert sorted(spectral_entropies(stream)) == pytest.approx(sorted(expected))


def test_a_clock_has_less_entropy_than_chance() -> None:
    times = {
        "clock": np.arange(0, BINS + 1, 8),
        "chance": np.sort(np.random.default_rng(1).choice(BINS + 1, BINS // 8 + 1, replace=False)),
    }
    found = {}
    for name, t in times.items():
        stream = EventStream.from_arrays(np.zeros(len(t), int), np.ones(len(t), int), t)
        found[name] = spectral_entropies(stream, "counts").mean()
    assert found["clock"] < found["chance"] - 0.5


def test_nodes_with_few_events_are_left_out() -> None:
    stream = EventStream.from_arrays([0, 0, 0, 1], [2, 2, 2, 3], [1, 2, 3, 4])
    assert len(spectral_entropies(stream)) == 2
    assert len(spectral_entropies(stream, fewest=4)) == 0
    assert len(spectral_entropies(stream, "counts", fewest=4)) == 0
