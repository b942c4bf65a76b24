"""Runs of versions before `RunSpec`: they are read as what they were, open, and go on to the same bits.

The files in ``format_1`` were written by keat 0.1.0 as it was then.
"""

from __future__ import annotations

import json
import math
import shutil
import tempfile
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import torch
from small_runs import CONFIGS, FIT, small_data

import keat
from format_1_runs import as_format_1, format_1
from keat.datasets.dgraphfin_generator import ContactsConfig, write_dgraphfin
from keat.datasets.labelled_graph import open_labelled_graph
from keat.datasets.loading import Dataset, load
from keat.datasets.payments import simulate_payments
from keat.errors import InputError
from keat.models.gearsage import GEARSageConfig
from keat.models.tgn import TGNConfig
from keat.runs.epochs import kept_tensors, read_history
from keat.runs.presets import usual_fit
from keat.runs.run_evaluation import evaluate_run
from keat.runs.run_file import RunFile, read_run_file
from keat.runs.run_folder import KEPT
from keat.runs.run_model import Data, open_model, task_of, train_run
from keat.runs.spec import RunSpec, SourceSpec
from keat.tasks.label_source import LabelSource
from keat.tasks.task_spec import TaskSpec

WRITTEN = Path(__file__).with_name("format_1")
KINDS = ("link", "property", "label", "gearsage", "without clock")


@dataclass(frozen=True)
class Example:
    """A run of two epochs; the same may be trained for longer."""

    spec: RunSpec
    data: Data
    folder: Path

    def copied_to(self, folder: Path, *, old: bool) -> Path:
        shutil.copytree(self.folder, folder)
        if old:
            ticks = not self.spec.is_of_graph and self.spec.config.clock == "tick"  # type: ignore[union-attr]
            as_format_1(folder, clock=not ticks, stream=self.data.stream)
        return folder

    def go_on(self, folder: Path) -> None:
        longer = replace(self.spec, fitting=replace(self.spec.fitting, epochs=4))
        train_run(longer, self.data, folder, resume=True)


@cache
def example(kind: str) -> Example:
    scratch = Path(tempfile.mkdtemp(prefix="keat-test-"))
    data: Data = small_data()
    if kind == "link":
        spec = RunSpec("keat-rank", CONFIGS["keat-rank"], FIT)
    elif kind == "property":
        stream = simulate_payments(400, seed=1)
        amount = stream.features[:, 0]
        frame = pa.table({"src": stream.src, "dst": stream.dst, "t": stream.t, "amount": amount})
        labels = LabelSource(period="day", undirected=True)
        data = labels.label(load(frame, features="amount", scale=True), "src")
        source = SourceSpec.of(data, labels)
        spec = RunSpec("keat-tgn", CONFIGS["keat-tgn"], FIT, TaskSpec(kind="node-property"), source)
    elif kind == "label":
        spec = RunSpec("keat-tgn", CONFIGS["keat-tgn"], FIT, TaskSpec(kind="node-label"))
    elif kind == "gearsage":
        write_dgraphfin(scratch / "small.npz", 1000, seed=1, config=ContactsConfig(fraud_share=0.1))
        data = open_labelled_graph(scratch / "small.npz")
        spec = RunSpec(
            "gearsage", GEARSageConfig(hidden=8), replace(usual_fit("gearsage"), epochs=2, seed=42)
        )
    else:  # of a stream whose ticks are milliseconds, as runs of before there were clocks took them
        data = Dataset(replace(small_data().stream, unit="ms"))
        spec = RunSpec("keat-tgn", TGNConfig(dim=8, neighbors=3, clock="tick"), FIT)
    train_run(spec, data, scratch / "run")
    return Example(spec, data, scratch / "run")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "without clock"])
def test_the_examples_are_as_they_were_written_then(kind: str) -> None:
    """So that what follows is about real files; σ and scales may differ in their last bits elsewhere."""
    written, mine = json.loads((WRITTEN / f"{kind}.json").read_text()), example(kind)
    assert_alike(json.loads(json.dumps(format_1(read_run_file(mine.folder), mine.data.stream))), written)


def assert_alike(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for name in one:
            assert_alike(one[name], other[name])
    elif isinstance(one, list):
        assert len(one) == len(other)
        for mine, theirs in zip(one, other, strict=True):
            assert_alike(mine, theirs)
    elif isinstance(one, float):
        assert math.isclose(one, other, rel_tol=1e-9)
    else:
        assert one == other


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_read_as_the_run_it_was(kind: str, tmp_path: Path) -> None:
    new = read_run_file(example(kind).folder)
    old = read_run_file(example(kind).copied_to(tmp_path / "run", old=True))
    assert old.differences(new) == new.differences(old) == []
    assert old.spec.config == new.spec.config
    assert old.spec.fitting == new.spec.fitting
    assert old.spec.task == new.spec.task
    assert old.spec.source == new.spec.source
    if kind != "gearsage":  # which did not say how large its graph was
        assert old == new


@pytest.mark.parametrize("kind", KINDS)
def test_it_opens_and_is_evaluated_as_before(kind: str, tmp_path: Path) -> None:
    mine, data = example(kind), example(kind).data
    folder = mine.copied_to(tmp_path / "run", old=True)
    one, other = (open_model(run, read_run_file(run)) for run in (mine.folder, folder))
    assert one.sigma == other.sigma
    assert one.clock == other.clock
    assert all(torch.equal(value, other.state_dict()[name]) for name, value in one.state_dict().items())
    task = task_of(read_run_file(folder).spec, data, "test")
    first, second = (evaluate_run(run, data, task, "test") for run in (mine.folder, folder))
    assert torch.equal(first.outcomes, second.outcomes)
    run = keat.open(folder)
    assert run.metrics == keat.open(mine.folder).metrics
    assert run.evaluate(data).metrics == keat.open(mine.folder).evaluate(data).metrics


@pytest.mark.parametrize("kind", KINDS)
def test_it_goes_on_to_the_same_bits(kind: str, tmp_path: Path) -> None:
    """And is then described as runs are today."""
    mine = example(kind)
    new, old = (mine.copied_to(tmp_path / name, old=name == "old") for name in ("new", "old"))
    for folder in (new, old):
        mine.go_on(folder)
    told, theirs = (
        [(line.epoch, line.loss, line.val, line.best, line.calibration) for line in read_history(folder)]
        for folder in (new, old)
    )
    assert len(told) == 4
    assert told == theirs
    for which in KEPT:
        one, other = (kept_tensors(folder, which) for folder in (new, old))
        assert one.keys() == other.keys()
        assert all(torch.equal(one[name], other[name]) for name in one)
    assert (old / "run.json").read_text() == (new / "run.json").read_text()


@pytest.mark.parametrize("kind", KINDS)
def test_another_run_is_still_another(kind: str, tmp_path: Path) -> None:
    mine = example(kind)
    folder = mine.copied_to(tmp_path / "run", old=True)
    before = (folder / "run.json").read_text()
    other = replace(mine, spec=replace(mine.spec, fitting=replace(mine.spec.fitting, seed=3)))
    with pytest.raises(InputError, match=r"\(different fit\)"):
        other.go_on(folder)
    assert (folder / "run.json").read_text() == before


def test_another_graph_is_still_another(tmp_path: Path) -> None:
    mine = example("gearsage")
    folder = mine.copied_to(tmp_path / "run", old=True)
    write_dgraphfin(tmp_path / "small.npz", 1000, seed=2, config=ContactsConfig(fraud_share=0.1))
    with pytest.raises(InputError, match=r"\(different (data, )?sigma\)"):
        replace(mine, data=open_labelled_graph(tmp_path / "small.npz")).go_on(folder)


def changed(kind: str, **entries: object) -> RunFile:
    """The file of a run of format 1 with other entries, read."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = example(kind).copied_to(Path(scratch) / "run", old=True)
        content = json.loads((folder / "run.json").read_text())
        (folder / "run.json").write_text(json.dumps(content | entries))
        return read_run_file(folder)


def test_what_only_old_files_have() -> None:
    labels = {"period": None, "node_labels": "frauds.csv", "positive": -1.0, "labelled": "dst"}
    file = changed("label", labels=labels | {"protocol": "legacy"}, encoder="runs/links")
    assert file.spec.source.labels == LabelSource(node_labels="frauds.csv", positive=-1.0)
    assert (file.spec.task.labelled, file.spec.task.protocol) == ("dst", "legacy")
    assert file.spec.encoder == "runs/links"
    assert file.spec.counts
    head = {"kind": "event", "size": 6, "frozen": True}
    assert not changed("label", head=head).spec.counts
    legacy = {"kind": "node-property", "asked": 5, "protocol": "legacy"}
    assert changed("property", labels=None, task=legacy).spec.task.protocol == "legacy"
    official = {"kind": "link-ranking", "negatives": "official", "asked": 5}
    assert changed("link", task=official).spec.task.negatives is None  # which a run cannot ask by itself
