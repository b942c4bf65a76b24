"""Node tasks through the one training loop: they learn, resume to the same bits, and keep to their past."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from keat.datasets.loading import Dataset
from keat.errors import InputError
from keat.events import EventStream
from keat.models.graphmixer import GraphMixerConfig
from keat.models.node_head import NodeHead
from keat.models.registry import create_node_model
from keat.models.tgn import TGNConfig
from keat.tasks.label_making import label_by_period
from keat.tasks.making import make_task, training_labels
from keat.tasks.node_property import NodeProperty
from keat.training.evaluate import evaluate
from keat.training.fit import FitConfig
from keat.training.node_lessons import NodePropertyLessons
from keat.training.runs import evaluate_run, open_run, train_run

SMALL = TGNConfig(kernel="laplacian", dim=16, neighbors=4, messages="v2")
FAST = FitConfig(epochs=3, lr=3e-3, seed=7, batch_size=50)


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


def node_task(data: Dataset, split: str, protocol: str = "strict") -> NodeProperty:
    task = make_task(data, split, kind="node-property", protocol=protocol)  # type: ignore[arg-type]
    assert isinstance(task, NodeProperty)
    return task


@pytest.fixture(scope="module")
def finished(data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "whole"
    train_run("keat-tgn", data, folder, SMALL, FAST, task=node_task(data, "val"))
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
    for name in ("last.safetensors", "best.safetensors"):
        mine, theirs = load_file(one / name), load_file(other / name)
        assert mine.keys() == theirs.keys()
        assert all(torch.equal(mine[key], theirs[key]) for key in mine)


def test_it_learns_whom_a_node_will_meet(data: Dataset, tmp_path: Path) -> None:
    task = node_task(data, "val")
    longer = replace(FAST, epochs=5, lr=1e-2)
    reports = train_run("tgn", data, tmp_path / "run", replace(SMALL, dim=32), longer, task=task)
    assert reports[-1].loss < 0.7 * reports[0].loss
    untrained = evaluate(create_node_model("tgn", data.train), task).metrics["ndcg@10"]
    assert reports[-1].val["ndcg@10"] > 1.3 * untrained


def test_training_in_two_goes_equals_one(data: Dataset, finished: Path, tmp_path: Path) -> None:
    task = node_task(data, "val")
    train_run("keat-tgn", data, tmp_path / "run", SMALL, replace(FAST, epochs=1), task=task)
    train_run("keat-tgn", data, tmp_path / "run", SMALL, FAST, task=task, resume=True)
    assert_same_run(finished, tmp_path / "run")


@pytest.mark.parametrize("protocol", ["strict", "legacy"])
def test_test_scores_continue_from_the_kept_state(data: Dataset, protocol: str, tmp_path: Path) -> None:
    """Going on from the state after validation equals replaying everything, but for the blocks that memory
    was updated in, which training may cut elsewhere."""
    val, test = (node_task(data, split, protocol) for split in ("val", "test"))
    once = replace(FAST, epochs=1, batch_size=200)
    train_run("keat-tgn", data, tmp_path / "run", SMALL, once, task=val)
    model, description, _ = open_run(tmp_path / "run")
    assert isinstance(model, NodeHead)
    assert description["task"]["protocol"] == protocol
    continued = evaluate_run(tmp_path / "run", data, test, "test").outcomes
    again = evaluate_run(tmp_path / "run", data, test, "test").outcomes
    assert torch.equal(continued, again)
    assert len(continued) == len(test)


def test_any_model_with_embeddings_takes_a_head(data: Dataset, tmp_path: Path) -> None:
    config = GraphMixerConfig(time_dim=8, channels=8, out_dim=12, neighbors=4)
    once = replace(FAST, epochs=1)
    reports = train_run("graphmixer", data, tmp_path / "run", config, once, task=node_task(data, "val"))
    assert reports[0].val["ndcg@10"] > 0
    model, _, _ = open_run(tmp_path / "run")
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


def test_a_model_of_pairs_has_no_node_tasks(data: Dataset) -> None:
    from keat.models.registry import ARCHITECTURES, NODE_MODELS

    assert {"tgn", "keat-tgn", "graphmixer", "persistent-forecast"} <= set(NODE_MODELS)
    pairs = [name for name in ARCHITECTURES if name not in NODE_MODELS]
    for name in pairs:
        with pytest.raises(InputError, match="embeds no single node"):
            train_run(
                name, data, Path("unused"), ARCHITECTURES[name].config, FAST, task=node_task(data, "val")
            )
