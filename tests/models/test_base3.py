"""Base3 against its definition, said with lists."""

from __future__ import annotations

import math

import numpy as np
import pytest

from conftest import MakeStream
from keat.events import EventStream
from keat.models import base3
from keat.models.base3 import Base3
from keat.models.contract import Queries

SOURCES, NODES = 8, 20


def plain_score(past: EventStream, train: EventStream, u: int, v: int, t: int, popular: int) -> float:
    popularity: dict[int, float] = {}
    for dst, when in zip(past.dst.tolist(), past.t.tolist(), strict=True):
        if when > train.t[-1]:
            popularity = {node: 0.95 * value for node, value in popularity.items()}
        popularity[dst] = popularity.get(dst, 0.0) + 1.0
    begin = train.t[min(int(0.85 * len(train)), len(train) - 1)]
    seen = bool(np.any((past.src == u) & (past.dst == v) & (past.t >= begin)))
    higher = sum(value > popularity.get(v, 0.0) for value in popularity.values())
    is_popular = v in popularity and higher < popular
    visits = [
        math.exp(-(t - when) / 1e6) * popularity[dst]
        for src, dst, when in zip(past.src.tolist(), past.dst.tolist(), past.t.tolist(), strict=True)
        if src == u
    ][-100:]
    met = sum(
        {*zip([u, v], [v, u], strict=True)}.__contains__(pair)
        for pair in zip(past.src, past.dst, strict=True)
    )
    s = sum(visits) + met / (1 + met)
    table = {
        (1, 1): (0.35, 0.45, 0.2),
        (1, 0): (0.45, 0.25, 0.3),
        (0, 1): (0.15, 0.7, 0.15),
        (0, 0): (0.2, 0.45, 0.35),
    }
    a, b, c = table[seen, is_popular]
    return a * seen + b * is_popular + c * s / (1 + s)


@pytest.mark.parametrize("popular", [3, 1000])
@pytest.mark.parametrize("observed", [1, 250, 300])
def test_scores_are_the_definition(
    observed: int, popular: int, random_stream: MakeStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base3, "POPULAR", popular)
    stream = random_stream(observed)
    train, past = stream[:200], stream[:observed]
    model = Base3(train)
    model.observe(past)
    nodes = np.arange(NODES, dtype=np.int32)  # sources among them, and each source itself
    scores = model.score(Queries(nodes, np.full(NODES, 999), nodes))
    expected = [[plain_score(past, train, u, v, 999, popular) for v in range(NODES)] for u in range(NODES)]
    assert scores.numpy() == pytest.approx(np.array(expected), rel=1e-12)


def test_three_meetings_and_no_visit() -> None:
    """c = 3 and an empty past of the source give s = 3/4, and s/(1 + s) = 3/7."""
    train = EventStream.from_arrays([1, 1, 1], [0, 0, 0], [1, 2, 3], num_nodes=3)
    model = Base3(train)
    model.observe(train)
    score = model.score(Queries(np.array([0], np.int32), np.array([4]), np.array([1], np.int32)))
    assert float(score) == pytest.approx(0.35 * 0.428571, abs=1e-6)


def test_popularity_of_long_ago_keeps_its_order() -> None:
    """After so many fadings that no float could hold them."""
    n = 30_000
    train = EventStream.from_arrays([0, 0, 0], [1, 1, 2], [0, 0, 0], num_nodes=5)
    model = Base3(train)
    model.observe(train)
    model.observe(EventStream.from_arrays(np.zeros(n, int), np.full(n, 3), np.arange(1, n + 1), num_nodes=5))
    values = model.popularity.logs.values
    assert values[3] > values[1] > values[2] > values[4] == -math.inf
