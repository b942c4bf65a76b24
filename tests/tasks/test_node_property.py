from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from conftest import MakeStream
from keat.datasets.loading import Dataset
from keat.errors import InputError, UnknownNameError
from keat.events import EventStream, NodeLabels
from keat.models.registry import NODE_MODELS, create_node_model
from keat.tasks.node_property import NodeProperty
from keat.tasks.script import Ask, Line, Observe, Reveal
from keat.tasks.task_factory import make_task, training_labels
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
    """And a label is revealed when its period is over: after the events up to the next label time."""
    data = labelled()
    task = make_task(data, kind="node-property")
    assert isinstance(task, NodeProperty)
    latest, asked, revealed = -1, 0, -1
    for line in task.script(7):
        match line:
            case Observe():
                latest = int(line.events.t[-1])
            case Ask():
                now = int(line.queries[0].t[0]) - 1
                assert latest <= now
                assert latest == data.stream.t[data.stream.t <= now].max()
                assert revealed == task.times[task.times < now].max()
                assert isinstance(line.rows, slice)
                asked += line.rows.stop - line.rows.start
            case Reveal():
                revealed = int(line.labels.t[0])
                assert latest > revealed
    assert asked == len(task) > 0


def tgb_order(data: Dataset, until: int, batch: int) -> list[tuple[str, int]]:
    """TGB's loop as a list: ("events", how many), ("label", time). The pointer moves once a batch at most."""
    labels = data.stream.node_labels
    assert labels is not None
    times, said, place = np.unique(labels.t), list[tuple[str, int]](), 0
    for part in data.splits:
        if part.offset >= until:
            break
        for block in part.blocks(batch):
            early = 0
            if place < len(times) and block.t[-1] > times[place]:
                place += 1
                label_t = times[place] if place < len(times) else np.inf
                early = int((block.t < label_t).sum())
                said += [("events", early), ("label", int(times[place - 1]))]
            said.append(("events", len(block) - early))
    return [entry for entry in said if entry[1] or entry[0] == "label"]


@pytest.mark.parametrize("split", ["val", "test"])
@pytest.mark.parametrize("batch", [7, 20])
def test_legacy_is_tgbs_order(split: str, batch: int) -> None:
    data = labelled()
    task = make_task(data, split, kind="node-property", protocol="legacy")  # type: ignore[arg-type]
    assert isinstance(task, NodeProperty)
    expected = tgb_order(data, data.test.offset if split == "val" else len(data.stream), batch)
    said, first = list[tuple[str, int]](), task.labels.t[task.first]
    for line in task.script(batch):
        match line:
            case Observe() if len(line.events):
                said.append(("events", len(line.events)))
            case Ask():
                said.append(("label", int(task.truth(line.rows).t[0])))  # type: ignore[arg-type]
    # history is not asked about; TGB's loop only gathers what it says of it
    assert said == [entry for entry in expected if entry[0] == "events" or entry[1] >= first]


@pytest.mark.parametrize("protocol", ["strict", "legacy"])
@pytest.mark.parametrize("split", ["val", "test"])
def test_a_script_is_that_of_the_split_before_and_its_own_questions(protocol: str, split: str) -> None:
    """What training relies on: a state that has been through the one can go on with the other."""
    data = labelled()
    val = make_task(data, "val", kind="node-property", protocol=protocol)  # type: ignore[arg-type]
    assert isinstance(val, NodeProperty)
    before, task = training_labels(val), val
    if split == "test":
        task = make_task(data, "test", kind="node-property", protocol=protocol)  # type: ignore[arg-type,assignment]
        before = val

    def said(lines: Iterator[Line]) -> list[tuple[str, int]]:
        return [
            ("events", len(line.events)) if isinstance(line, Observe) else ("labels", int(line.labels.t[0]))
            for line in lines
            if isinstance(line, Observe | Reveal)
        ]

    assert said(before.script(20)) + said(task.questions(20)) == said(task.script(20))


def test_an_unknown_protocol_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'legacy'"):
        make_task(labelled(), kind="node-property", protocol="legcy")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NODE_MODELS)
@settings(max_examples=8)
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
                case Ask() if line.queries[0].t[0] == now + 1:
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
