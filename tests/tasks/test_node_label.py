"""Labels of events: what is asked when, the metrics and their intervals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics import average_precision_score, roc_auc_score

from conftest import MakeStream
from keat.datasets.loading import Dataset
from keat.errors import InputError, UnknownNameError
from keat.events import EventStream
from keat.models.node_head import EventQueries
from keat.tasks.node_label import NodeLabel, _Curve
from keat.tasks.script import Ask, Observe
from keat.tasks.task_factory import make_task


def labelled(stream: EventStream, seed: int = 0) -> EventStream:
    """About a third positive, a third negative, a third not known."""
    return replace(stream, labels=np.random.default_rng(seed).integers(-1, 2, len(stream)))


def label_task(stream: EventStream, split: str = "test") -> NodeLabel:
    task = make_task(Dataset(stream), split, kind="node-label")  # type: ignore[arg-type]
    assert isinstance(task, NodeLabel)
    return task


@pytest.mark.parametrize("refresh", [1, 7, 200])
def test_each_known_label_is_asked_once_before_its_event(refresh: int, random_stream: MakeStream) -> None:
    stream = labelled(random_stream(1))
    task = label_task(stream)
    observed, rows = 0, list[int]()
    for line in task.script(refresh):
        match line:
            case Observe():
                observed += len(line.events)
            case Ask():
                queries = line.queries[0]
                assert isinstance(queries, EventQueries)
                assert isinstance(line.rows, slice)
                rows += range(line.rows.start, line.rows.stop)
                if refresh == 1:
                    assert observed == np.searchsorted(stream.t, queries.t[0])
                events = task.asked[line.rows] + task.events.offset
                assert (events >= observed).all()
                np.testing.assert_array_equal(queries.node, stream.src[events])
                np.testing.assert_array_equal(queries.other, stream.dst[events])
    assert rows == list(range(len(task)))
    assert observed == len(stream)
    assert stream.labels is not None
    assert len(task) == np.count_nonzero(stream.labels[task.events.offset :] >= 0)


@pytest.mark.parametrize("seed", range(5))
def test_metrics_equal_scikit_learns(seed: int) -> None:
    """With weights, and with ties."""
    rng = np.random.default_rng(seed)
    truth, scores = rng.random(200) < 0.2, rng.integers(0, 30, 200) / 10
    weights = rng.integers(0, 4, 200)
    auc, ap = _Curve(truth, scores).metrics(weights)
    assert auc == pytest.approx(roc_auc_score(truth, scores, sample_weight=weights))
    assert ap == pytest.approx(average_precision_score(truth, scores, sample_weight=weights))


def test_intervals_hold_the_value_and_narrow_with_more_nodes() -> None:
    widths = []
    for nodes in (20, 2_000):
        rng = np.random.default_rng(0)
        src = np.arange(nodes * 3) % nodes
        truth = rng.random(nodes)[src] < 0.3
        events = EventStream.from_arrays(
            src, src + nodes, np.arange(len(src)), num_nodes=2 * nodes, labels=truth.astype(int)
        )
        task = NodeLabel(events[:0], events)
        scores = torch.from_numpy(truth + rng.standard_normal(len(src)))
        metrics, intervals = task.metrics(scores), task.intervals(scores, draws=200)
        for name in ("auc", "ap"):
            low, high = intervals[name]
            assert low < metrics[name] < high
        widths.append(intervals["auc"][1] - intervals["auc"][0])
    assert widths[1] < widths[0] / 5


def test_events_of_one_node_are_no_independent_witnesses() -> None:
    """The same events, said to be of few nodes or each of its own: few nodes tell less."""
    rng = np.random.default_rng(1)
    few = np.arange(600) % 12
    scores = torch.from_numpy((few < 4) + rng.standard_normal(12)[few] + 0.1 * rng.standard_normal(600))
    spans = []
    for src in (few, np.arange(600)):
        events = EventStream.from_arrays(
            src, np.full(600, 600), np.arange(600), num_nodes=601, labels=(few < 4).astype(int)
        )
        low, high = NodeLabel(events[:0], events).intervals(scores, draws=200)["auc"]
        spans.append(high - low)
    assert spans[0] > 2 * spans[1]


def test_what_cannot_be_asked_says_so(random_stream: MakeStream) -> None:
    stream = random_stream(2)
    with pytest.raises(InputError, match="has no event labels; name their column \\(label\\)"):
        label_task(stream)
    with pytest.raises(InputError, match="is 3 at data row 300; labels are 1, 0, or -1"):
        label_task(replace(stream, labels=np.append(np.tile([0, 1, -1], 100)[:-1], 3)))
    with pytest.raises(InputError, match="needs labelled events of both kinds"):
        label_task(replace(stream, labels=np.zeros(len(stream), dtype=int)))
    with pytest.raises(UnknownNameError, match="did you mean 'dst'"):
        make_task(Dataset(labelled(stream)), kind="node-label", end="dest")  # type: ignore[arg-type]
