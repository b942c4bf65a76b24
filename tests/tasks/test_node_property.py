from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from conftest import MakeStream
from keat.datasets.loading import Dataset
from keat.errors import InputError
from keat.events import EventStream, NodeLabels
from keat.models.registry import NODE_MODELS, create_node_model
from keat.tasks.making import make_task
from keat.tasks.node_property import NodeProperty
from keat.tasks.script import Ask, Observe, Reveal
from keat.training.evaluate import evaluate


def labelled(seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    times = np.repeat(np.arange(0, 100, 5), 6)
    nodes = np.tile(np.arange(6), 20)
    labels = NodeLabels.from_long(
        np.repeat(times, 3),
        np.repeat(nodes, 3).astype(np.int32),
        rng.integers(0, 15, 360).astype(np.int32),
        rng.random(360).astype(np.float32),
        15,
    )
    events = EventStream.from_arrays(
        rng.integers(0, 6, 500),
        rng.integers(6, 20, 500),
        np.sort(rng.integers(0, 100, 500)),
        num_nodes=20,
        node_labels=labels,
        name="labelled",
    )
    return Dataset(events)


def by_loop(data: Dataset, task: NodeProperty, decay: bool) -> float:
    """TGB's loop for the two forecasts: a dict, one sklearn call a label time."""
    labels, memory = data.stream.node_labels, dict[int, np.ndarray]()
    assert labels is not None
    dense, scores = labels.dense(), []
    for time in np.unique(labels.t[: task.last]):
        rows = np.flatnonzero(labels.t == time)
        if rows[0] >= task.first:
            guess = np.stack([memory.get(n, np.zeros(15)) for n in labels.node[rows].tolist()])
            scores.append(ndcg_score(dense[rows], guess, k=10))
        for row, node in zip(rows, labels.node[rows].tolist(), strict=True):
            old = memory.get(node)
            memory[node] = (old * 6 + dense[row]) / 7 if decay and old is not None else dense[row]
    return float(np.mean(scores))


@pytest.mark.parametrize(("model", "decay"), [("persistent-forecast", False), ("moving-average", True)])
@pytest.mark.parametrize("split", ["val", "test"])
def test_forecasts_equal_a_plain_loop(model: str, decay: bool, split: str) -> None:
    data = labelled()
    task = make_task(data, split, kind="node-property")  # type: ignore[arg-type]
    assert isinstance(task, NodeProperty)
    result = evaluate(create_node_model(model, data.train), task)
    assert result.metrics["ndcg@10"] == pytest.approx(by_loop(data, task, decay), abs=1e-6)


def test_no_event_after_the_label_time_is_seen_first() -> None:
    data = labelled()
    task = make_task(data, kind="node-property")
    latest, asked = -1, 0
    for line in task.script(7):
        match line:
            case Observe():
                latest = int(line.events.t[-1])
            case Ask():
                now = int(line.queries[0].t[0])
                assert latest <= now
                assert latest == data.stream.t[data.stream.t <= now].max()
                assert isinstance(line.rows, slice)
                asked += line.rows.stop - line.rows.start
            case Reveal():
                assert latest <= int(line.labels.t[0])
    assert asked == len(task) > 0


@pytest.mark.parametrize("name", NODE_MODELS)
@settings(max_examples=20)
@given(seed=st.integers(0, 1000), row=st.integers(0, 119))
def test_changing_the_future_never_changes_a_score(name: str, seed: int, row: int) -> None:
    """Another world after time T, and other labels at T: what is said about T stays the same."""
    data, rng = labelled(), np.random.default_rng(seed)
    labels = data.stream.node_labels
    assert labels is not None
    now = int(labels.t[row])
    later, unknown = data.stream.t > now, np.repeat(labels.t >= now, np.diff(labels.indptr))
    other_labels = replace(labels, weights=np.where(unknown, rng.random(len(unknown)), labels.weights))
    other = replace(
        data.stream,
        src=np.where(later, rng.integers(0, 6, len(later)), data.stream.src).astype(np.int32),
        dst=np.where(later, rng.integers(6, 20, len(later)), data.stream.dst).astype(np.int32),
        node_labels=other_labels,
    )
    scores = []
    for stream in (data.stream, other):
        assert stream.node_labels is not None
        model = create_node_model(name, data.train)
        for line in NodeProperty(stream, stream.node_labels, 0, len(labels)).script(7):
            match line:
                case Observe():
                    model.observe(line.events)
                case Reveal():
                    model.observe_labels(line.labels)
                case Ask() if line.queries[0].t[0] == now:
                    scores.append(model.score(line.queries[0]))  # type: ignore[arg-type]
    assert torch.equal(*scores)


def test_splits_of_labels_do_not_overlap() -> None:
    data = labelled()
    val, test = (make_task(data, part, kind="node-property") for part in ("val", "test"))
    assert isinstance(val, NodeProperty)
    assert isinstance(test, NodeProperty)
    assert val.last == test.first


def test_a_stream_without_labels_says_so(random_stream: MakeStream) -> None:
    with pytest.raises(InputError, match="no node labels"):
        make_task(Dataset(random_stream(0)), kind="node-property")
    with pytest.raises(InputError, match="needs node labels"):
        create_node_model("moving-average", random_stream(0))
