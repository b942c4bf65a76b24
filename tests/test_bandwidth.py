import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import FindFile
from keat import bandwidth
from keat.bandwidth import SIGMA_MODES, SigmaMode, estimate_sigma, node_gaps
from keat.errors import Notice, UnknownNameError
from keat.events import read_events
from keat.events.splitting import split

# Recomputed from the training split of the real graph, one number for each reading of the paper.
WIKIPEDIA = {
    "node-mean-std": 80_111.6,
    "node-mean-std-2": 99_025,
    "node-median-std": 39_181,
    "node-pooled-std": 77_499,
    "src-mean-std": 87_711,
    "dst-mean-std": 47_208,
    "pair-mean-std": 62_810,
    "first-gap-std": 180_067,
    "global-std": 18.1,
}


def by_loop(src: list[int], dst: list[int], t: list[int]) -> float:
    """The definition, said plainly: each node's std of gaps, averaged over nodes with a gap."""
    times: dict[int, list[int]] = {}
    for u, v, time in zip(src, dst, t, strict=True):
        times.setdefault(u, []).append(time)
        times.setdefault(v, []).append(time)
    stds = [np.std(np.diff(own)) for own in times.values() if len(own) >= 2]
    return float(np.mean(stds)) if stds else float("nan")


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 100)), min_size=2, max_size=40)
)
def test_default_is_the_definition(events: list[tuple[int, int, int]]) -> None:
    events.sort(key=lambda event: event[2])
    src, dst, t = (list(column) for column in zip(*events, strict=True))
    expected = by_loop(src, dst, t)
    if expected > 0:
        assert estimate_sigma(np.array(src), np.array(dst), np.array(t)) == pytest.approx(expected)
    else:
        with pytest.warns(Notice, match="no time scale"):
            assert estimate_sigma(np.array(src), np.array(dst), np.array(t)) >= 1


@pytest.mark.parametrize("mode", SIGMA_MODES)
def test_every_reading_on_wikipedia(mode: SigmaMode, shared_file: FindFile) -> None:
    train = split(read_events(shared_file("wikipedia.parquet"))).train
    assert estimate_sigma(train.src, train.dst, train.t, mode) == pytest.approx(WIKIPEDIA[mode], rel=2e-3)
    if mode == "node-mean-std":
        assert round(estimate_sigma(train.src, train.dst, train.t), 1) == 80_111.6


def test_constant_gaps_fall_back_to_the_span() -> None:
    t = np.arange(10)
    with pytest.warns(Notice, match="using 9 instead"):
        assert estimate_sigma(np.zeros(10, int), np.ones(10, int), t) == 9.0


@pytest.mark.parametrize("mode", SIGMA_MODES)
def test_one_event_gives_one(mode: SigmaMode) -> None:
    with pytest.warns(Notice):
        assert estimate_sigma(np.array([0]), np.array([1]), np.array([5]), mode) == 1.0


def test_unknown_mode_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'node-mean-std'"):
        estimate_sigma(np.array([0]), np.array([1]), np.array([5]), "node-mean")  # type: ignore[arg-type]


def test_gaps_never_cross_nodes() -> None:
    gaps, owner = node_gaps(np.array([1, 0, 1, 0, 1]), np.array([0, 10, 25, 100, 27]))
    assert list(zip(owner, gaps, strict=True)) == [(0, 90), (1, 25), (1, 2)]


@pytest.mark.parametrize("mode", SIGMA_MODES)
def test_some_nodes_at_a_time_give_the_same_bits(mode: SigmaMode, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    src, dst = (rng.integers(0, 40, 500).astype(np.int32) for _ in range(2))
    src[100:300] = 7  # a node that is busier than a group
    t = np.sort(rng.integers(0, 10**6, 500))
    wanted = estimate_sigma(src, dst, t, mode)
    monkeypatch.setattr(bandwidth, "APPEARANCES", 60)
    monkeypatch.setattr(bandwidth, "BLOCK", 64)
    assert estimate_sigma(src, dst, t, mode) == wanted
