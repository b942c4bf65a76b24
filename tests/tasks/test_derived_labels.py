"""keat's own labels against a plain loop, and what they may know."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from conftest import FindFile, MakeStream
from keat.datasets.loading import Dataset, load
from keat.errors import InputError, Notice
from keat.events import EventStream
from keat.tasks.derived_labels import label_by_period, label_events_by_node, period_length
from keat.tasks.task_factory import make_task


def weighted(stream: EventStream) -> Dataset:
    weights = np.random.default_rng(5).integers(0, 4, (len(stream), 1)).astype(np.float32)
    return Dataset(replace(stream, features=weights))


def by_loop(stream: EventStream, length: int, undirected: bool) -> dict[tuple[int, int], dict[int, float]]:
    """{(time asked, node): {class: share}}, one event at a time."""
    sums: dict[tuple[int, int], dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for u, v, t, w in zip(
        stream.src.tolist(),
        stream.dst.tolist(),
        stream.t.tolist(),
        stream.features[:, 0].tolist(),
        strict=True,
    ):
        period = t // length
        if w > 0 and u != v and period > stream.t[0] // length:
            sums[period * length - 1, u][v] += w
            if undirected:
                sums[period * length - 1, v][u] += w
    return {row: {c: w / sum(of.values()) for c, w in of.items()} for row, of in sums.items()}


@pytest.mark.parametrize("undirected", [False, True])
@pytest.mark.parametrize("length", [1, 7, 40])
def test_labels_equal_a_plain_loop(length: int, undirected: bool, random_stream: MakeStream) -> None:
    data = weighted(random_stream(3))
    made = label_by_period(data, length, weight=0, undirected=undirected)
    labels = made.stream.node_labels
    assert labels is not None
    expected = by_loop(data.stream, length, undirected)
    assert {*zip(labels.t.tolist(), labels.node.tolist(), strict=True)} == set(expected)
    dense = labels.dense()
    np.testing.assert_allclose(dense.sum(axis=1), 1, rtol=1e-5)
    for row in range(len(labels)):
        truth = expected[int(labels.t[row]), int(labels.node[row])]
        first = labels.first_class
        assert {
            first + int(c): pytest.approx(float(dense[row, c]), rel=1e-5) for c in np.flatnonzero(dense[row])
        } == truth


def test_without_a_weight_events_count(random_stream: MakeStream) -> None:
    stream = random_stream(4)
    counted = label_by_period(Dataset(stream), 10).stream.node_labels
    ones = replace(stream, features=np.ones((len(stream), 1), np.float32))
    weighed = label_by_period(Dataset(ones), 10, weight=0).stream.node_labels
    assert counted is not None
    assert weighed is not None
    np.testing.assert_array_equal(counted.dense(), weighed.dense())


def test_a_label_tells_only_of_what_follows_its_time(random_stream: MakeStream) -> None:
    """Changing the events up to a label time, or after its period, leaves the label as it is."""
    stream, rng = random_stream(6), np.random.default_rng(0)
    labels = label_by_period(Dataset(stream), 10).stream.node_labels
    assert labels is not None
    asked = 59
    mine = (stream.t > asked) & (stream.t <= asked + 10)
    dst = np.where(mine, stream.dst, rng.integers(8, 20, len(stream))).astype(np.int32)
    other = label_by_period(Dataset(replace(stream, dst=dst)), 10).stream.node_labels
    assert other is not None
    first, last = np.searchsorted(labels.t, (asked, asked + 1))
    begin, end = np.searchsorted(other.t, (asked, asked + 1))
    assert last > first
    np.testing.assert_array_equal(labels[first:last].node, other[begin:end].node)
    np.testing.assert_array_equal(labels[first:last].dense(), other[begin:end].dense())


def test_the_model_is_shown_the_logarithm_of_the_weight(random_stream: MakeStream) -> None:
    data = weighted(random_stream(7))
    made = label_by_period(data, 10, weight=0)
    np.testing.assert_allclose(made.stream.features, np.log1p(data.stream.features), rtol=1e-6)


def test_classes_are_the_destinations_and_survive_saving(random_stream: MakeStream, tmp_path: Path) -> None:
    """In random streams sources are 0 … 7 and destinations 8 … 19."""
    made = label_by_period(Dataset(random_stream(11)), 10).stream
    made.save(tmp_path / "made")
    for stream in (made, EventStream.open(tmp_path / "made"), made[:100]):
        assert stream.node_labels is not None
        assert (stream.node_labels.first_class, stream.node_labels.num_classes) == (8, 12)


def test_events_of_a_node_with_itself_are_left_out_and_told(random_stream: MakeStream) -> None:
    stream = random_stream(8)
    loops = replace(stream, dst=np.where(np.arange(len(stream)) % 10 == 0, stream.src, stream.dst))
    with pytest.warns(Notice, match="30 events of random-8 join a node with itself"):
        made = label_by_period(Dataset(loops), 10)
    assert len(made.stream) == 270
    assert (made.stream.src != made.stream.dst).all()


@pytest.mark.parametrize(
    ("period", "unit", "length"),
    [
        ("hour", "s", 3_600),
        ("day", "ms", 86_400_000),
        ("year", "year", 1),
        ("week", "day", 7),
        ("12", "s", 12),
    ],
)
def test_periods_in_the_streams_unit(period: str, unit: str, length: int) -> None:
    assert period_length(period, unit) == length  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("period", "unit", "message"),
    [
        ("fortnight", "s", "'fortnight' is not a period; use minute, hour, day, week, year"),
        ("0", "s", "'0' is not a period"),
        ("day", "year", "A day is shorter than the stream's unit, year"),
    ],
)
def test_bad_periods_are_named(period: str, unit: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        period_length(period, unit)  # type: ignore[arg-type]


def test_what_cannot_be_labelled_says_so(random_stream: MakeStream) -> None:
    stream = random_stream(9)
    with pytest.raises(InputError, match="spans less than two periods of 1000"):
        label_by_period(Dataset(stream), 1000)
    with pytest.raises(InputError, match="has 0 features, so none is number 0"):
        label_by_period(Dataset(stream), 10, weight=0)
    negative = replace(stream, features=np.full((len(stream), 1), -2, np.float32))
    with pytest.raises(InputError, match="is -2 at data row 1; a share needs weights of 0 or more"):
        label_by_period(Dataset(negative), 10, weight=0)


def test_labels_of_nodes_become_labels_of_events(random_stream: MakeStream) -> None:
    stream = random_stream(10)
    positive, negative = np.array([0, 1], np.int32), np.array([2], np.int32)
    made = label_events_by_node(Dataset(stream), positive, negative, "src").stream
    assert made.labels is not None
    for node, label in ((0, 1), (1, 1), (2, 0), (3, -1)):
        assert set(made.labels[made.src == node].tolist()) == {label}


@pytest.mark.filterwarnings("ignore:1,449 events of trade")
def test_trade_between_countries(shared_file: FindFile) -> None:
    """Each year but the first is a label of the 69 countries, asked at the end of the year before."""
    data = label_by_period(load(shared_file("trade.parquet"), weight="trade", unit="year"), "year", weight=0)
    labels = data.stream.node_labels
    assert labels is not None
    assert np.unique(labels.t).tolist() == list(range(1986, 2006))
    assert labels.num_classes == 69
    assert not labels.dense()[np.arange(len(labels)), labels.node].any()  # no trade with oneself
    assert [len(make_task(data, part, kind="node-property")) for part in ("val", "test")] == [207, 207]
