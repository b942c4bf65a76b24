"""The command on real streams that come with the tests (tests/data): a minute's clock, days, and baskets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command import keat

from conftest import SLICES
from keat.datasets.loading import load
from keat.events import read_events
from keat.events.splitting import split

FACTS = {  # rows, sources, destinations, distinct times
    "flights": (10_000, 220, 219, 768),
    "flights_by_day": (10_165, 210, 215, 31),
    "baskets": (10_000, 410, 1_836, 516),
}
every_slice = pytest.mark.parametrize("name", FACTS)


def file(name: str) -> Path:
    return SLICES / f"{name}.parquet"


def guessing(negatives: int) -> float:
    """The mean reciprocal rank of a positive put anywhere among so many negatives."""
    return float(np.mean(1 / np.arange(1, negatives + 2)))


@every_slice
def test_facts(name: str) -> None:
    ran = keat("data", "info", file(name), "--json")
    assert (ran.code, ran.notes) == (0, [])
    facts = ran.json
    found = tuple(facts[key] for key in ("rows", "sources", "destinations", "steps"))
    assert found == FACTS[name]
    assert sum(facts["splits"].values()) == facts["rows"]
    assert facts["unit"] == "s"
    assert 0 < facts["sigma"] < facts["t_max"] - facts["t_min"]


@every_slice
@pytest.mark.filterwarnings("ignore:.*values reach 1,191 and are not scaled")
def test_features_and_labels_stay_with_their_events(name: str) -> None:
    column = "f_log_qty" if name == "baskets" else "f_delay"
    stream = read_events(file(name), features=column, label="label")
    assert stream.labels is not None
    assert np.isfinite(stream.features).all()
    assert 0 < stream.labels.mean() < 0.5
    if column == "f_delay":
        np.testing.assert_array_equal(stream.labels == 1, stream.features[:, 0] > 15)
    parts = split(stream)
    assert parts.train.t[-1] < parts.val.t[0] <= parts.val.t[-1] < parts.test.t[0]


@every_slice
def test_every_heuristic_is_better_than_guessing(name: str) -> None:
    for result in keat("evaluate", "heuristics", file(name), "--json").json["results"]:
        assert result["mrr"] > 1.4 * guessing(result["negatives"]["fewest"]), result


@pytest.mark.parametrize(
    ("model", "name"), [("keat-rank", name) for name in FACTS] + [("keat-tgn", "flights")]
)
def test_it_learns(model: str, name: str, tmp_path: Path) -> None:
    """keat-rank as it is usually trained, to be above every heuristic; of others, one epoch."""
    one = () if model == "keat-rank" else ("--epochs", "1", "--lr", "1e-3", "--eval-sample", "500")
    result = keat("train", model, file(name), *one, "--out", tmp_path / "run", "--json").json
    destinations = len(np.unique(load(file(name)).stream.dst))
    best = max(metrics["mrr"] for metrics in result["beside"].values())
    assert result["test"]["mrr"] > (best if model == "keat-rank" else 3 * guessing(destinations))
