"""What is decided about a run is written as it is and read as it was; what two runs differ in has a name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import MakeStream
from keat.datasets.loading import Dataset
from keat.errors import InputError, UnknownNameError
from keat.events import Reading
from keat.events.feature_encoding import ColumnEncoding, FeatureEncoding
from keat.events.fingerprint import DataFacts
from keat.models.gearsage import GEARSageConfig
from keat.models.registry import TRAINED
from keat.runs.facts import HeadFacts, RunFacts
from keat.runs.presets import PRESETS, PUBLISHED, usual_fit
from keat.runs.run_file import RunFile, read_run_file
from keat.runs.spec import Choice, RunSpec, SourceSpec, configuration
from keat.runs.trainer import prepare
from keat.tasks.kinds import TASKS
from keat.tasks.label_source import LabelSource
from keat.tasks.task_spec import Kind, TaskSpec

KINDS: tuple[Kind, ...] = (*TASKS, "graph-label")
FACTS = RunFacts(DataFacts("shop", 900, "f00d"), "ms", 1 / 3, 30, 2, asked=7, keat="0.1.0")
SOURCE = SourceSpec(
    name="orders.csv",
    reading=Reading(
        src="who",
        features=("amount", "kind"),
        categorical=("kind",),
        scale=True,
        unit="ms",
        delimiter="tab",
        encoding=FeatureEncoding(
            (ColumnEncoding("amount", 1, None, (0.1,), (1 / 3,)), ColumnEncoding("kind", 1, ("é", ""))),
            (ColumnEncoding("age", 1),),
        ),
    ),
    held_out=(0.1, 0.2),
    labels=LabelSource(period="day", weight="amount", undirected=True),
)


def written_and_read(file: RunFile, folder: Path) -> RunFile:
    (folder / "run.json").write_text(file.to_text(), encoding="utf-8")
    return read_run_file(folder)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TRAINED)
def test_every_model_and_task_is_read_as_it_was_written(name: str, kind: Kind, tmp_path: Path) -> None:
    published = isinstance(config := TRAINED[name].config, GEARSageConfig) or type(config) in PUBLISHED
    for preset in PRESETS if published else ("usual",):  # some are in no table of the paper or of TGB
        file = RunFile(RunSpec.of(name, preset=preset, task=TaskSpec(kind=kind)), FACTS)
        assert written_and_read(file, tmp_path) == file


def test_so_is_everything_that_can_be_said(tmp_path: Path) -> None:
    task = TaskSpec("node-property", number=5, seed=3, sample=9, sample_seed=4, protocol="legacy")
    spec = RunSpec.of(
        "keat-tgn",
        settings={"kernel": "rbf", "width": 2.0, "clock": "day"},
        fitting={"epochs": 3, "clip": 0.5, "bf16": True, "seed": 2**40},
        task=task,
        source=SOURCE,
        encoder="runs/links",
        counts=False,
    )
    head = HeadFacts("node", 12, frozen=True, first_class=18)
    for facts in (FACTS, replace(FACTS, head=head)):
        file = RunFile(spec, facts)
        read = written_and_read(file, tmp_path)
        assert read == file
        assert read.to_text() == file.to_text()
        assert file.differences(read) == []
    labels = LabelSource(node_labels="frauds.csv", positive=-1.0)
    other = replace(spec, source=replace(SOURCE, labels=labels), task=TaskSpec("node-label", labelled="dst"))
    assert written_and_read(RunFile(other, FACTS), tmp_path).spec == other


def test_what_is_not_said_has_its_default(tmp_path: Path) -> None:
    """A file may be older than a setting."""
    (tmp_path / "run.json").write_text(
        '{"format": 2, "spec": {"model": "tgn", "config": {"dim": 8}}, "facts": {"data": {"name": "x", '
        '"events": 1, "fingerprint": "f"}, "unit": "s", "sigma": 1, "num_nodes": 2, "feature_dim": 0}}'
    )
    file = read_run_file(tmp_path)
    assert file.spec == RunSpec("tgn", configuration("tgn", dim=8))
    assert file.facts == RunFacts(DataFacts("x", 1, "f"), "s", 1.0, 2, 0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"sigma": 0.0},
        {"sigma": float("nan")},
        {"sigma": float("inf")},
        {"num_nodes": 0},
        {"num_nodes": 2**31},
        {"feature_dim": -1},
    ],
)
def test_facts_that_are_none(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        replace(FACTS, **wrong)


# -- differences -------------------------------------------------------------------------------------

BASE = RunFile(RunSpec.of("keat-tgn", task=TaskSpec("link-ranking", "all"), source=SOURCE), FACTS)


def of_spec(**changes: Any) -> Callable[[RunFile], RunFile]:
    return lambda file: replace(file, spec=replace(file.spec, **changes))


def of_facts(**changes: Any) -> Callable[[RunFile], RunFile]:
    return lambda file: replace(file, facts=replace(file.facts, **changes))


SAME: dict[str, Callable[[RunFile], RunFile]] = {
    "how long": of_spec(fitting=replace(BASE.spec.fitting, epochs=99, patience=98)),
    "how files and columns are called": of_spec(
        source=replace(SOURCE, name="elsewhere.csv", reading=replace(SOURCE.reading, src="somebody"))
    ),
    "which sample": of_spec(task=replace(BASE.spec.task, sample=7, sample_seed=5)),
}
OTHER: dict[str, tuple[Callable[[RunFile], RunFile], list[str]]] = {
    "another model": (of_spec(model="tgn"), ["model"]),
    "another configuration": (of_spec(config=configuration("keat-tgn", dim=8)), ["config"]),
    "another kind of model": (of_spec(model="tgat", config=configuration("tgat")), ["config", "model"]),
    "another rate": (of_spec(fitting=replace(BASE.spec.fitting, lr=1.0)), ["fit"]),
    "another seed": (of_spec(fitting=replace(BASE.spec.fitting, seed=2)), ["fit"]),
    "another task": (of_spec(task=TaskSpec("link-classification")), ["task"]),
    "other negatives": (of_spec(task=replace(BASE.spec.task, negatives="random")), ["task"]),
    "more that is asked": (of_facts(asked=8), ["task"]),
    "other labels": (of_spec(source=replace(SOURCE, labels=LabelSource())), ["labels"]),
    "another split": (of_spec(source=replace(SOURCE, held_out=(0.2, 0.2))), ["split"]),
    "an encoder": (of_spec(encoder="runs/links"), ["encoder"]),
    "a head": (of_facts(head=HeadFacts("node", 3, frozen=False)), ["head"]),
    "other events": (of_facts(data=replace(FACTS.data, fingerprint="beef")), ["data"]),
    "another unit": (of_facts(unit="s"), ["data"]),
    "more nodes": (of_facts(num_nodes=31), ["data"]),
    "more features": (of_facts(feature_dim=3), ["data"]),
    "another σ": (of_facts(sigma=0.5), ["sigma"]),
    "another version": (of_facts(keat="0.2.0"), ["keat"]),
}


@pytest.mark.parametrize("what", SAME)
def test_a_run_that_goes_on_may_differ_in_this(what: str) -> None:
    other = SAME[what](BASE)
    assert other != BASE
    assert BASE.differences(other) == other.differences(BASE) == []


@pytest.mark.parametrize("what", OTHER)
def test_a_difference_has_the_name_of_its_part(what: str) -> None:
    change, parts = OTHER[what]
    assert BASE.differences(change(BASE)) == change(BASE).differences(BASE) == parts


# -- making one --------------------------------------------------------------------------------------


def test_mistakes_are_named() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'keat-tgn'"):
        RunSpec.of("keat-tng")
    with pytest.raises(InputError, match="keat-rank has no setting 'neighbors'; leave it out"):
        RunSpec.of("keat-rank", settings={"neighbors": 3})
    with pytest.raises(InputError, match="An encoder is for node tasks"):
        RunSpec.of("tgn", encoder="runs/links")
    with pytest.raises(UnknownNameError, match="did you mean 'paper'"):
        RunSpec.of("tgn", preset="papr")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="did you mean 'legacy'"):
        TaskSpec(protocol="legasy")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="given in memory and are not kept with the run"):
        SourceSpec().open(TaskSpec())
    with pytest.raises(InputError, match="give a period, too"):
        LabelSource(weight="amount")
    with pytest.raises(InputError, match="give one of them"):
        LabelSource(period="day", node_labels="x.csv")


def test_a_spec_is_plain_values() -> None:
    """So that two of them can be compared, hashed and written."""
    assert RunSpec.of("tgn") == RunSpec.of("tgn")
    assert hash(RunSpec.of("tgn")) == hash(RunSpec.of("tgn"))
    assert RunSpec.of("tgn") != RunSpec.of("tgn", fitting={"seed": 2})
    assert asdict(RunSpec.of("tgn"))["fitting"] == asdict(usual_fit("tgn"))


def test_the_latest_events_are_split_and_the_spec_says_how_many(random_stream: MakeStream) -> None:
    stream = random_stream(1, events=400, times=300)
    spec, data = prepare("keat-rank", Dataset(stream), Choice(latest=100))
    assert isinstance(data, Dataset)
    assert spec.source.latest == 100
    assert np.array_equal(data.stream.t, stream.t[-100:])
    assert data.stream.num_nodes == stream.num_nodes
    assert sum(data.splits.sizes.values()) == 100
    with pytest.raises(InputError, match="at least one"):
        prepare("keat-rank", Dataset(stream), Choice(latest=0))
