"""Node tasks through the one training loop: they learn, resume to the same bits, and keep to their past."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from keat.datasets.loading import Dataset
from keat.datasets.payments import PaymentsConfig, simulate_payments
from keat.errors import InputError
from keat.events import EventStream
from keat.models.graphmixer import GraphMixerConfig
from keat.models.node_head import CountingEventHead, EventHead, NodeHead
from keat.models.registry import add_head, build_model, create_node_model
from keat.models.tgn import TGNConfig
from keat.runs.epochs import kept_tensors
from keat.runs.run_evaluation import evaluate_run
from keat.runs.run_file import read_run_file
from keat.runs.run_folder import KEPT
from keat.runs.run_model import open_model, train_run
from keat.runs.spec import RunSpec
from keat.tasks.derived_labels import label_by_period
from keat.tasks.kinds import Protocol
from keat.tasks.node_label import NodeLabel
from keat.tasks.node_property import NodeProperty
from keat.tasks.task_factory import make_task, training_labels
from keat.tasks.task_spec import TaskSpec
from keat.training.evaluate import evaluate
from keat.training.fit import FitConfig
from keat.training.node_lessons import NodeLabelLessons, NodePropertyLessons, balanced_cross_entropy

SMALL = TGNConfig(kernel="laplacian", dim=16, neighbors=4, messages="v2")
FAST = FitConfig(epochs=3, lr=3e-3, seed=7, batch_size=50)
NODES, LABELS = TaskSpec(kind="node-property"), TaskSpec(kind="node-label")


@pytest.fixture(scope="module")
def data() -> Dataset:
    """Sources with a favourite each, which moves on now and then; labels every 100 seconds."""
    rng = np.random.default_rng(0)
    src, dst, favourite = rng.integers(0, 6, 2_000), np.empty(2_000, np.int64), rng.integers(6, 18, 6)
    for i, u in enumerate(src):
        if rng.random() < 0.01:
            favourite[u] = rng.integers(6, 18)
        dst[i] = favourite[u]
    return label_by_period(
        Dataset(EventStream.from_arrays(src, dst, np.arange(2_000) * 5, num_nodes=18)), 100
    )


def node_task(data: Dataset, split: str, protocol: Protocol = "strict") -> NodeProperty:
    task = make_task(data, split, kind="node-property", protocol=protocol)  # type: ignore[arg-type]
    assert isinstance(task, NodeProperty)
    return task


@pytest.fixture(scope="module")
def finished(data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "whole"
    train_run(RunSpec("keat-tgn", SMALL, FAST, NODES), data, folder)
    return folder


def assert_same_run(one: Path, other: Path) -> None:
    lines = [
        [
            {key: value for key, value in json.loads(line).items() if not key.endswith("seconds")}
            for line in (folder / "metrics.jsonl").read_text().splitlines()
        ]
        for folder in (one, other)
    ]
    assert lines[0] == lines[1]
    for which in KEPT:
        mine, theirs = kept_tensors(one, which), kept_tensors(other, which)
        assert mine.keys() == theirs.keys()
        assert all(torch.equal(mine[key], theirs[key]) for key in mine)


def test_it_learns_whom_a_node_will_meet(data: Dataset, tmp_path: Path) -> None:
    task = node_task(data, "val")
    longer = replace(FAST, epochs=5, lr=1e-2)
    reports = train_run(RunSpec("tgn", replace(SMALL, dim=32), longer, NODES), data, tmp_path / "run").reports
    assert reports[-1].loss < 0.7 * reports[0].loss
    untrained = evaluate(create_node_model("tgn", data.train), task).metrics["ndcg@10"]
    assert reports[-1].val["ndcg@10"] > 1.3 * untrained


def test_training_in_two_goes_equals_one(data: Dataset, finished: Path, tmp_path: Path) -> None:
    train_run(RunSpec("keat-tgn", SMALL, replace(FAST, epochs=1), NODES), data, tmp_path / "run")
    train_run(RunSpec("keat-tgn", SMALL, FAST, NODES), data, tmp_path / "run", resume=True)
    assert_same_run(finished, tmp_path / "run")


@pytest.mark.parametrize("protocol", ["strict", "legacy"])
def test_test_scores_continue_from_the_kept_state(data: Dataset, protocol: Protocol, tmp_path: Path) -> None:
    """Going on from the state after validation equals replaying everything, but for the blocks that memory
    was updated in, which training may cut elsewhere."""
    test = node_task(data, "test", protocol)
    once = replace(FAST, epochs=1, batch_size=200)
    train_run(RunSpec("keat-tgn", SMALL, once, replace(NODES, protocol=protocol)), data, tmp_path / "run")
    file = read_run_file(tmp_path / "run")
    model = open_model(tmp_path / "run", file)
    assert isinstance(model, NodeHead)
    assert file.spec.task.protocol == protocol
    continued = evaluate_run(tmp_path / "run", data, test, "test").outcomes
    again = evaluate_run(tmp_path / "run", data, test, "test").outcomes
    assert torch.equal(continued, again)
    assert len(continued) == len(test)


def test_any_model_with_embeddings_takes_a_head(data: Dataset, tmp_path: Path) -> None:
    config = GraphMixerConfig(time_dim=8, channels=8, out_dim=12, neighbors=4)
    once = replace(FAST, epochs=1)
    reports = train_run(RunSpec("graphmixer", config, once, NODES), data, tmp_path / "run").reports
    assert reports[0].val["ndcg@10"] > 0
    model = open_model(tmp_path / "run", read_run_file(tmp_path / "run"))
    assert evaluate(model, node_task(data, "val")).metrics == pytest.approx(reports[0].val)


def test_nothing_after_the_training_split_is_taught(data: Dataset) -> None:
    """Labels whose period ends after the training split, and all events after it, may be anything."""
    end = int(data.train.t[-1])
    lessons = NodePropertyLessons(training_labels(node_task(data, "val")), 50)
    asked = [lesson for lesson in lessons.epoch(1, 1) if lesson.queries is not None]
    assert asked
    for lesson in asked:
        assert lesson.queries is not None
        assert int(lesson.queries.t.max()) - 1 + 100 <= end
    assert len(lessons) == sum(len(lesson.events) for lesson in lessons.epoch(1, 1))
    seen = max(int(lesson.events.t[-1]) for lesson in lessons.epoch(1, 1) if len(lesson.events))
    assert seen <= end


def test_epochs_differ_and_repeat(data: Dataset) -> None:
    lessons = NodePropertyLessons(training_labels(node_task(data, "val")), 50)

    def nodes(seed: int, epoch: int) -> list[int]:
        parts = [lesson.queries for lesson in lessons.epoch(seed, epoch) if lesson.queries is not None]
        return [int(node) for part in parts for node in part.node]  # type: ignore[union-attr]

    assert nodes(1, 1) == nodes(1, 1)
    assert nodes(1, 1) != nodes(1, 2)


@pytest.fixture(scope="module")
def payments() -> Dataset:
    return Dataset(simulate_payments(4_000, seed=1, config=PaymentsConfig(fraud_share=0.03)))


def label_task(data: Dataset, split: str) -> NodeLabel:
    task = make_task(data, split, kind="node-label")  # type: ignore[arg-type]
    assert isinstance(task, NodeLabel)
    return task


PLAIN = replace(SMALL, messages="v1")


def test_labels_are_learned_end_to_end_and_resumed(payments: Dataset, tmp_path: Path) -> None:
    slow = replace(FAST, batch_size=200, epochs=2)
    reports = train_run(RunSpec("keat-tgn", PLAIN, slow, LABELS), payments, tmp_path / "whole").reports
    assert reports[-1].loss < reports[0].loss
    assert reports[-1].val["auc"] > 0.6
    train_run(RunSpec("keat-tgn", PLAIN, replace(slow, epochs=1), LABELS), payments, tmp_path / "two")
    train_run(RunSpec("keat-tgn", PLAIN, slow, LABELS), payments, tmp_path / "two", resume=True)
    assert_same_run(tmp_path / "whole", tmp_path / "two")
    test = label_task(payments, "test")
    continued = evaluate_run(tmp_path / "whole", payments, test, "test")
    assert set(continued.metrics) == {"auc", "ap"}
    model = open_model(tmp_path / "whole", read_run_file(tmp_path / "whole"))
    assert isinstance(model, CountingEventHead)
    kept = model.counts.describe(test.events.src, test.events.dst, test.events.t)
    model.reset()
    model.observe(payments.stream[: payments.test.offset])
    replayed = model.counts.describe(test.events.src, test.events.dst, test.events.t)
    np.testing.assert_array_equal(kept, replayed)


def test_embeddings_alone_can_be_read(payments: Dataset, tmp_path: Path) -> None:
    once = replace(FAST, batch_size=200, epochs=1)
    train_run(
        RunSpec("tgn", PLAIN, once, LABELS, counts=False),
        payments,
        tmp_path / "run",
    )
    file = read_run_file(tmp_path / "run")
    model = open_model(tmp_path / "run", file)
    assert file.facts.head is not None
    assert file.facts.head.kind == "event"
    assert not isinstance(model, CountingEventHead)


def test_a_frozen_encoder_stays_as_it_was(payments: Dataset, tmp_path: Path) -> None:
    once = replace(FAST, batch_size=200, epochs=1)
    train_run(RunSpec("keat-tgn", PLAIN, once), payments, tmp_path / "links")
    train_run(
        RunSpec("keat-tgn", PLAIN, once, LABELS, encoder=str(tmp_path / "links")),
        payments,
        tmp_path / "run",
    )
    links, labels = (kept_tensors(tmp_path / name, "best") for name in ("links", "run"))
    shared = [name for name in links if name.startswith("model.")]
    assert shared
    for name in shared:
        assert torch.equal(links[name], labels[name.replace("model.", "model.encoder.")])
    file = read_run_file(tmp_path / "run")
    model = open_model(tmp_path / "run", file)
    assert file.facts.head is not None
    assert file.facts.head.frozen
    assert isinstance(model, NodeHead)
    assert not model.train().encoder.training
    with pytest.raises(InputError, match="another model \\(different messages\\)"):
        train_run(
            RunSpec("keat-tgn", SMALL, once, LABELS, encoder=str(tmp_path / "links")),
            payments,
            tmp_path / "no",
        )
    with pytest.raises(InputError, match="an encoder is a run of links"):
        train_run(
            RunSpec("keat-tgn", PLAIN, once, LABELS, encoder=str(tmp_path / "run")),
            payments,
            tmp_path / "no",
        )


@pytest.mark.parametrize("head", [EventHead, CountingEventHead])
def test_later_events_change_no_score_of_a_label(head: type[NodeHead], payments: Dataset) -> None:
    """Whatever comes after an event, and its own label, leave what is said of it as it is."""
    stream, cut = payments.stream, payments.val.offset + 200
    other = replace(
        stream,
        dst=np.append(stream.dst[:cut], stream.dst[cut:][::-1]),
        labels=np.append(stream.labels[: cut - 200], 1 - stream.labels[cut - 200 :]),  # type: ignore[index]
    )
    scores = []
    for world in (stream, other):
        model = add_head(build_model(payments.train, PLAIN, 3), head, stream.feature_dim)
        task = NodeLabel(world[: payments.val.offset], world[payments.val.offset : cut + 400])
        scores.append(evaluate(model, task).outcomes[:200])
    assert torch.equal(*scores)


def test_both_kinds_of_label_weigh_the_same(payments: Dataset) -> None:
    lessons = NodeLabelLessons(payments.train, 200)
    truth = torch.from_numpy(lessons.task.truth).float()
    logits = torch.zeros(len(truth), 1, requires_grad=True)
    balanced_cross_entropy(logits, truth, lessons.rarity).backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    assert logits.grad[truth > 0].sum().item() == pytest.approx(
        -logits.grad[truth == 0].sum().item(), rel=1e-4
    )


def test_a_model_of_pairs_has_no_node_tasks(data: Dataset) -> None:
    from keat.models.architectures import ARCHITECTURES
    from keat.models.registry import NODE_MODELS

    assert {"tgn", "keat-tgn", "graphmixer", "persistent-forecast"} <= set(NODE_MODELS)
    pairs = [name for name in ARCHITECTURES if name not in NODE_MODELS]
    for name in pairs:
        with pytest.raises(InputError, match="embeds no single node"):
            train_run(RunSpec(name, ARCHITECTURES[name].config, FAST, NODES), data, Path("unused"))
