"""An attribute of the coming event: nobody sees its own, nor what is known only later."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score

import keat
from keat.datasets.loading import Dataset, load
from keat.errors import InputError, UnknownNameError
from keat.events import EventStream
from keat.events.attributes import attribute_kind, is_asked, known_evidence
from keat.models.attribute_means import BoostedTrees, FadingMeans
from keat.models.contract import NodeModel
from keat.models.registry import ATTRIBUTE_MODELS
from keat.runs.run_evaluation import evaluate_run
from keat.runs.run_file import read_run_file
from keat.runs.run_model import open_model
from keat.tasks.attribute_source import with_attribute
from keat.tasks.edge_attribute import EdgeAttribute
from keat.tasks.label_source import LabelSource
from keat.tasks.script import Ask, Observe
from keat.tasks.task_factory import make_task
from keat.training.evaluate import evaluate

SMALL: dict[str, Any] = {"dim": 8, "neighbors": 4, "epochs": 2, "lr": 3e-3, "seed": 1}


def flights(number: int = 900) -> pd.DataFrame:
    """Delays that a source keeps for a while; a flight's delay is known on landing."""
    rng = np.random.default_rng(0)
    src, t = rng.integers(0, 8, number), np.sort(rng.integers(0, 90_000, number))
    mood = rng.normal(size=(8, 12))[src, t // 7_500]
    delay = np.round(10 * mood + rng.normal(size=number), 2)
    kind = np.where(delay > 5, "late", np.where(delay < -5, "early", "on time"))
    dst = 8 + rng.integers(0, 6, number)
    columns = {"src": src, "dst": dst, "t": t, "delay": delay, "kind": kind}
    return pd.DataFrame(columns | {"takes": rng.integers(100, 500, number), "distance": rng.random(number)})


def opened(target: str, late: tuple[str, ...] = (), frame: pd.DataFrame | None = None) -> Dataset:
    labels = LabelSource(target=target, known_after=late)
    options = {"features": ["distance"], "categorical": ["kind"] if target == "kind" else []}
    reading = labels.reading(keat.events.Reading.of(**options, unit="s"))  # type: ignore[arg-type]
    return labels.label(load(flights() if frame is None else frame, reading=reading), "src")


def test_what_is_asked_is_what_the_column_holds() -> None:
    frame = flights()
    value, late, kind = (opened(target) for target in ("delay", "delay>5", "kind"))
    assert [data.stream.labels.dtype.name for data in (value, late, kind)] == ["float64", "int8", "int32"]  # type: ignore[union-attr]
    np.testing.assert_allclose(np.asarray(value.stream.labels), frame["delay"], atol=1e-5)
    np.testing.assert_array_equal(np.asarray(late.stream.labels), frame["delay"] > 5)
    assert kind.stream.label_classes == 4  # three, and one for what training does not have
    assert len(np.unique(np.asarray(kind.stream.labels))) == 3
    assert value.stream.feature_dim == 3  # distance, that it is known, and what it is
    assert opened("delay<5").stream.labels is not None
    scaled = LabelSource(target="delay")
    reading = scaled.reading(keat.events.Reading.of(features=["distance"], scale=True, unit="s"))
    again = scaled.label(load(frame, reading=reading), "src")
    np.testing.assert_allclose(np.asarray(again.stream.labels), frame["delay"], atol=1e-4)


@pytest.mark.parametrize("target", ["delay", "delay>5", "kind"])
def test_metrics_are_those_of_scikit_learn(target: str) -> None:
    task = make_task(opened(target), "test", kind="edge-attribute")
    assert isinstance(task, EdgeAttribute)
    scores = torch.randn(len(task), task.outputs, generator=torch.Generator().manual_seed(0))
    rows = slice(0, len(task))
    found = task.metrics(task.outcome(Ask((task.queries(rows),), rows), [scores]))
    assert task.headline in found
    if target == "delay>5":
        assert found["auc"] == pytest.approx(roc_auc_score(task.truth, scores[:, 0]))
        assert found["ap"] == pytest.approx(average_precision_score(task.truth, scores[:, 0]))
    elif target == "kind":
        shares = scores.double().softmax(dim=1).numpy()
        assert found["log_loss"] == pytest.approx(log_loss(task.truth, shares, labels=range(task.outputs)))
        assert found["accuracy"] == pytest.approx(np.mean(shares.argmax(axis=1) == task.truth))
    else:
        assert found["mae"] == pytest.approx(np.abs(scores[:, 0].numpy() - task.truth).mean())
        median = np.median(np.asarray(task.history.labels))
        assert found["skill"] == pytest.approx(1 - found["mae"] / np.abs(task.truth - median).mean())


def test_what_is_known_late_is_told_late() -> None:
    frame = flights()
    data = opened("delay>5", ("delay=takes",))
    stream = data.stream
    asked = is_asked(stream)
    assert (len(stream), asked.sum()) == (2 * len(frame), len(frame))
    assert (np.diff(stream.t) >= 0).all()
    known, value = known_evidence(stream)
    np.testing.assert_array_equal(known, ~asked)  # in the report alone
    assert not value[asked].any()
    assert stream.feature_dim == 4  # distance, takes, known, and the attribute
    assert (stream.features[asked][:, 1] == 0).all(), "how long it takes tells of it, too"
    order = np.argsort(frame["t"] + frame["takes"], kind="stable")
    np.testing.assert_array_equal(stream.t[~asked], (frame["t"] + frame["takes"])[order])
    np.testing.assert_array_equal(value[~asked][:, 0], (frame["delay"] > 5)[order])
    fixed = opened("delay>5", ("delay=300",)).stream
    np.testing.assert_array_equal(fixed.t[~is_asked(fixed)], frame["t"] + 300)


MODELS = ("tgn", "keat-tgn", "tgat", "graphmixer", "keat-dygformer")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A small run of each model, whose attribute is known late."""
    folder, data = tmp_path_factory.mktemp("runs"), opened("delay>5", ("delay=300",))
    for name in MODELS:
        options: dict[str, Any] = {"epochs": 2, "lr": 3e-3} if "former" in name else dict(SMALL)
        if "tgn" not in name:
            options.pop("dim", None)
        keat.train(name, data, task="edge-attribute", out=folder / name, watchers=(), **options)
    return {name: folder / name for name in MODELS}


def scores_at(model: NodeModel, task: EdgeAttribute) -> torch.Tensor:
    """Of every question of a split, asked as fresh as can be."""
    model.reset()
    found = []
    with torch.no_grad():
        for line in task.script(1):
            if isinstance(line, Ask):
                found.append(model.score(line.queries[0]))  # type: ignore[arg-type]
            elif isinstance(line, Observe):
                model.observe(line.events)
    return torch.cat(found)


@pytest.mark.parametrize("name", [*MODELS, *ATTRIBUTE_MODELS])
def test_neither_the_own_attribute_nor_a_late_one_changes_a_score(name: str, runs: dict[str, Path]) -> None:
    """Delays of the last flights are other ones: no score moves until the first of them has landed."""
    frame = flights()
    changed = frame.copy()
    first = len(frame) - 60
    changed.loc[first:, "delay"] = -changed.loc[first:, "delay"]
    before, after = (opened("delay>5", ("delay=300",), each) for each in (frame, changed))
    tasks = [make_task(data, "test", kind="edge-attribute") for data in (before, after)]
    model: Any
    if name in MODELS:
        model = open_model(runs[name], read_run_file(runs[name]))
    else:
        model = ATTRIBUTE_MODELS[name].build(before.train)
    one, other = (scores_at(model, task) for task in tasks)  # type: ignore[arg-type]
    t = tasks[0].events.t[tasks[0].asked]  # type: ignore[union-attr]
    landed = t > frame["t"][first] + 300
    assert landed.any()
    assert (t >= frame["t"][first]).sum() > landed.sum(), "some are asked while the first is in the air"
    torch.testing.assert_close(one[~landed], other[~landed], rtol=0, atol=1e-6)
    assert not torch.equal(one[landed], other[landed]), "what has landed is known"


def test_a_run_is_evaluated_and_learns_more_than_chance(runs: dict[str, Path]) -> None:
    data = opened("delay>5", ("delay=300",))
    task = make_task(data, "test", kind="edge-attribute")
    found = evaluate_run(runs["keat-tgn"], data, task, "test")
    assert found.metrics.keys() == {"auc", "ap"}
    trees = evaluate(ATTRIBUTE_MODELS["boosted-trees"].build(data.train), task).metrics
    faded = evaluate(ATTRIBUTE_MODELS["faded-mean-source"].build(data.train), task, refresh=1).metrics
    plain = evaluate(ATTRIBUTE_MODELS["mean-source"].build(data.train), task, refresh=1).metrics
    assert faded["auc"] > plain["auc"] + 0.05, "moods pass, and the mean does not know"
    assert trees["auc"] > 0.5


@pytest.mark.parametrize("target", ["delay", "kind"])
def test_values_and_classes_are_learned_too(target: str, tmp_path: Path) -> None:
    data = opened(target)
    run = keat.train("keat-tgn", data, task="edge-attribute", out=tmp_path / "run", watchers=(), **SMALL)
    task = make_task(data, "test", kind="edge-attribute")
    assert isinstance(task, EdgeAttribute)
    found = evaluate_run(run.folder, data, task, "test").metrics
    assert all(np.isfinite(value) for value in found.values())
    for name in ("last-pair", "mean-destination", "faded-mean-source", "boosted-trees"):
        beside = evaluate(ATTRIBUTE_MODELS[name].build(data.train), task).metrics
        assert beside.keys() == found.keys()
    if target == "delay":
        again = evaluate_run(run.folder, data, task, "test").outcomes
        assert float(again[:, 0].mean()) == pytest.approx(found["mae"])


def test_a_block_of_reports_alone_asks_nothing() -> None:
    trees = ATTRIBUTE_MODELS["boosted-trees"].build(opened("delay>5", ("delay=80000",)).train)
    assert isinstance(trees, BoostedTrees)
    none = np.zeros(0, dtype=np.int32)
    assert trees.inputs(none, none, none.astype(np.int64)).shape == (0, 30)


def test_sums_fade_as_they_are_defined() -> None:
    """Against a loop over all earlier events."""
    rng = np.random.default_rng(1)
    src, dst = rng.integers(0, 4, 60).astype(np.int32), rng.integers(0, 4, 60).astype(np.int32)
    t, y = np.sort(rng.integers(0, 500, 60)), rng.normal(size=(60, 2))
    for of in ("pair", "source", "destination"):
        sums = FadingMeans(of, 2, [np.inf, 40.0])
        for low in range(0, 60, 7):
            rows = slice(low, low + 7)
            found, weight = sums.at(src[rows], dst[rows], t[rows])
            for place, row in enumerate(range(low, min(low + 7, 60))):
                mine = np.arange(low)
                same = {"pair": (src == src[row]) & (dst == dst[row]), "source": src == src[row]}
                mine = mine[same.get(of, dst == dst[row])[:low]]
                for half, scale in enumerate((np.inf, 40.0)):
                    faded = 2.0 ** (-(t[row] - t[mine]) / scale)
                    assert weight[place, half] == pytest.approx(faded.sum())
                    np.testing.assert_allclose(
                        found[place, half], (faded[:, None] * y[mine]).sum(axis=0), atol=1e-9
                    )
            sums.add(src[rows], dst[rows], t[rows], y[rows])


@pytest.mark.parametrize(
    ("target", "late", "said"),
    [
        ("speed", (), "There is no feature column 'speed'|speed"),
        ("distance>2", (), "the same in all"),
        ("delay", ("delay",), "which column is known when"),
        ("delay", ("delay=distances",), "distances"),
        ("delay", ("delay=delay",), "nothing is known before"),
    ],
)
def test_what_cannot_be_asked_is_said(target: str, late: tuple[str, ...], said: str) -> None:
    with pytest.raises((InputError, UnknownNameError), match=said):
        make_task(opened(target, late), "test", kind="edge-attribute")


def test_a_target_needs_columns_and_nothing_else() -> None:
    stream = EventStream.from_arrays([0, 1], [1, 0], [1, 2])
    with pytest.raises(InputError, match="no columns by name"):
        with_attribute(Dataset(replace(opened("delay").stream, labels=None)), "delay")
    with pytest.raises(InputError, match="leave the period"):
        LabelSource(target="delay", period="day")
    with pytest.raises(InputError, match="give its target"):
        LabelSource(known_after=("delay=3",))
    with pytest.raises(InputError, match="no attribute to predict"):
        attribute_kind(stream)


def test_models_that_embed_no_single_node_say_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="embeds no single node"):
        keat.train("keat-rank", opened("delay>5"), task="edge-attribute", out=tmp_path / "run", watchers=())
