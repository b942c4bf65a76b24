"""Each heuristic against its definition, said with dicts and lists."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from conftest import MakeStream
from keat.events import EventStream
from keat.models.contract import Queries
from keat.models.popularity import GAMMAS, DecayedCounts, tune_decay, tune_window
from keat.models.registry import create_link_model

SOURCES, NODES = 8, 20


def edgebank(past: EventStream, u: int, v: int, train: EventStream) -> float:  # noqa: ARG001
    return float(np.any((past.src == u) & (past.dst == v)))


def edgebank_window(past: EventStream, u: int, v: int, train: EventStream) -> float:
    begin = past.t[-1] - 0.15 * (train.t[-1] - train.t[0])
    return float(np.any((past.src == u) & (past.dst == v) & (past.t >= begin)))


def global_recency(past: EventStream, u: int, v: int, train: EventStream) -> float:  # noqa: ARG001
    return float(np.flatnonzero(past.dst == v).max(initial=-1))


def local_global(past: EventStream, u: int, v: int, train: EventStream) -> float:
    met = np.flatnonzero((past.src == u) & (past.dst == v))
    return 1e9 + met[-1] if len(met) else global_recency(past, u, v, train)


def poptrack(past: EventStream, u: int, v: int, train: EventStream) -> float:  # noqa: ARG001
    age = len(past) - np.flatnonzero(past.dst == v)
    return float(np.sum(tune_decay(train) ** (age / 200)))


def local_recency_popularity(past: EventStream, u: int, v: int, train: EventStream) -> float:  # noqa: ARG001
    met = np.flatnonzero((past.src == u) & (past.dst == v))
    return float(1e6 * past.t[met[-1]] + len(met)) if len(met) else -1.0


def windowed_popularity(past: EventStream, u: int, v: int, train: EventStream) -> float:  # noqa: ARG001
    return float(np.sum((past.dst == v) & (past.t >= past.t[-1] - tune_window(train))))


DEFINITIONS: dict[str, Callable[[EventStream, int, int, EventStream], float]] = {
    "edgebank": edgebank,
    "edgebank-tw": edgebank_window,
    "global-recency": global_recency,
    "local-global": local_global,
    "poptrack": poptrack,
    "local-recency-popularity": local_recency_popularity,
    "windowed-popularity": windowed_popularity,
}


@pytest.mark.parametrize("name", DEFINITIONS)
@pytest.mark.parametrize("observed", [1, 100, 300])
def test_order_equals_the_definition(name: str, observed: int, random_stream: MakeStream) -> None:
    stream = random_stream(observed)
    train, past = stream[:200], stream[:observed]
    model = create_link_model(name, train)
    model.observe(past)
    candidates = np.arange(NODES, dtype=np.int32)
    scores = model.score(Queries(np.arange(SOURCES, dtype=np.int32), np.full(SOURCES, 999), candidates))
    for u in range(SOURCES):
        expected = [DEFINITIONS[name](past, u, v, train) for v in range(NODES)]
        both = (scores[u].numpy(), np.array(expected))
        ranks = [np.unique(np.round(values, 9), return_inverse=True)[1] for values in both]
        assert ranks[0].tolist() == ranks[1].tolist()


def test_decayed_counts_survive_rescaling() -> None:
    """Far more events than one exponent can hold, against weights computed one by one."""
    gamma, events = 0.1, 90_000
    nodes = np.random.default_rng(0).integers(0, 5, events).astype(np.int32)
    counts = DecayedCounts(5, gamma)
    for start in range(0, events, 7_001):
        counts.add(nodes[start : start + 7_001])
    weights = gamma ** ((events - np.arange(events)) / 200)
    expected = np.bincount(nodes, weights=weights, minlength=5)
    assert counts.at(np.arange(5, dtype=np.int32)) == pytest.approx(expected, rel=1e-9)


def test_decay_is_tuned_to_the_data() -> None:
    """Popularity that changes every 200 events wants a short memory; one that never does, a long one."""
    rng = np.random.default_rng(0)
    n = 6_000
    t = np.arange(n)
    fashion = (t // 200 * 7) % 40 + rng.integers(0, 2, n)
    steady = rng.choice(40, n, p=np.arange(40) / np.arange(40).sum())
    fast, slow = (
        tune_decay(EventStream.from_arrays(np.zeros(n, int), dst, t, num_nodes=60))
        for dst in (fashion, steady)
    )
    assert fast <= 0.2
    assert slow >= 0.97
    assert tune_decay(EventStream.from_arrays([0], [1], [0])) in GAMMAS


def test_of_destinations_last_met_at_one_time_the_more_frequent_is_first() -> None:
    """Where every time has an event of its own, popularity never decides; at crowded times it does."""
    stream = EventStream.from_arrays([0] * 5, [1, 2, 2, 3, 1], [5, 5, 9, 9, 9], num_nodes=5)
    model = create_link_model("local-recency-popularity", stream)
    model.observe(stream)
    scores = model.score(Queries(np.array([0], np.int32), np.array([10]), np.arange(5, dtype=np.int32)))[0]
    assert scores[1] == scores[2] > scores[3] > scores[4] == scores[0]


def test_the_window_is_tuned_to_the_data() -> None:
    rng = np.random.default_rng(0)
    n = 4_000
    fashion = (np.arange(n) // 300 * 7) % 40 + rng.integers(0, 2, n)
    steady = rng.choice(40, n, p=np.arange(40) / np.arange(40).sum())
    short, long = (
        tune_window(EventStream.from_arrays(np.zeros(n, int), dst, np.arange(n), num_nodes=60))
        for dst in (fashion, steady)
    )
    assert short <= 0.1 * n
    assert long >= 0.3 * n
    assert tune_window(EventStream.from_arrays([0], [1], [7])) == 0
