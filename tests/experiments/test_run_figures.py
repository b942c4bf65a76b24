"""Figures of trained runs, node properties and whole graphs: run small, cached, and right."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from keat.analysis.what_if import past_of
from keat.datasets.dgraphfin_generator import ContactsConfig, write_dgraphfin
from keat.datasets.payments import simulate_payments
from keat.errors import InputError, UnknownNameError
from keat.experiments.attention_sweeps import AGES, REACH, first_sweeps
from keat.experiments.hits_over_k import KS
from keat.experiments.job import Job, Untrained
from keat.experiments.ledger import Ledger
from keat.experiments.line import Line
from keat.experiments.recipe import Recipe, load_recipe
from keat.experiments.recipe_table import table_of
from keat.experiments.reproduction import Reproduction, reproduce
from keat.experiments.run_figures import FIGURES
from keat.experiments.runner import run_jobs
from keat.experiments.sources import how_read, source_of, written
from keat.models.tgn import TGN
from keat.report.figures.made import Made
from keat.report.sections.comparison import shown
from keat.runs.run_file import read_ids, read_run_file
from keat.runs.run_model import open_model
from keat.runs.spec import SourceSpec
from keat.tasks.task_spec import TaskSpec

SMALL = {"dim": 8, "neighbors": 5}


def small(name: str, epochs: int = 1) -> Recipe:
    """A recipe of the paper with models that train in a second."""
    recipe = load_recipe(name)
    arms = [arm if arm.is_heuristic else replace(arm, config={**arm.config, **SMALL}) for arm in recipe.arms]
    return replace(recipe, arms=tuple(arms), fit={"epochs": epochs, "lr": 1e-3})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("figures")
    stream = simulate_payments(1_500, seed=2)
    table = pa.table({"src": stream.src, "dst": stream.dst, "t": stream.t})
    pq.write_table(table, folder / "payments.parquet")
    return folder


def draw(recipe: Recipe, folder: Path, seeds: int) -> tuple[Made, list[Line], list[str]]:
    """The figure, the lines of its runs, and what was told."""
    pytest.importorskip("matplotlib")
    sources, said = {"wikipedia": str(folder / "payments.parquet")}, list[str]()
    ledger = Ledger(folder / "ledger.jsonl")
    found = reproduce(recipe, sources, ledger, folder / "runs", seeds=seeds, listener=said.append)
    path = folder / f"{recipe.name}.png"
    result = FIGURES[recipe.name](found, path)
    assert (folder / f"{recipe.name}.png").read_bytes().startswith(b"\x89PNG")
    assert result.pictures == [path]
    assert result.to_json()["picture"] == str(path)
    return result, [line for _, line in found.results], said


def test_hits_are_those_of_the_runs(folder: Path) -> None:
    result, lines, _ = draw(small("figure-hits"), folder, seeds=2)
    rows = {(row["model"], row["split"]): row for row in result.rows}
    assert len(rows) == 2 * 5
    curves = [
        [float(str(row[f"hits@{k}"]).split()[0]) for k in KS if f"hits@{k}" in row] for row in rows.values()
    ]
    assert {len(curve) for curve in curves} == {3, len(KS)}  # training keeps three of validation
    assert all(curve == sorted(curve) for curve in curves)
    trained = [line for line in lines if line.model == "tgn"]
    assert rows["TGN", "test"]["seeds"] == len(trained) == 2
    for k in (1, 3, 10):
        mean = np.mean([line.test["200"].metrics[f"hits@{k}"] for line in trained])
        assert float(str(rows["TGN", "test"][f"hits@{k}"]).split()[0]) == pytest.approx(mean, abs=5e-5)
    again, _, said = draw(small("figure-hits"), folder, seeds=2)
    assert again == result
    assert sum("0 to go" in text for text in said) == 2  # neither trained nor ranked again


def test_attention_figures_look_into_the_same_run(folder: Path) -> None:
    first, _, _ = draw(small("figure-blurring"), folder, seeds=1)
    second, _, said = draw(small("figure-neighbors"), folder, seeds=1)
    assert "0 to go" in said[0]
    assert first.rows == second.rows
    nodes = {row["node"] for row in first.rows}
    assert len(nodes) == 3
    for node in nodes:
        events = [row for row in first.rows if row["node"] == node]
        assert len(events) == SMALL["neighbors"]
        for column in ("ψ = 1", "at 0 σ", "at 1 σ", "at 4 σ"):
            assert sum(float(str(row[column])) for row in events) == pytest.approx(1, abs=1e-3)
        assert all(row["ψ = 1"] == row["at 0 σ"] for row in events)  # ψ(0) = 1
    (run,) = [path for path in (folder / "runs").iterdir() if "keat-tgn" in (path / "run.json").read_text()][
        :1
    ]
    data = SourceSpec(str(folder / "payments.parquet")).open(TaskSpec())
    file = read_run_file(run)
    model, ids = open_model(run, file), read_ids(run, file.facts.num_nodes)
    assert isinstance(model, TGN)
    ages = np.linspace(0, REACH * model.sigma, AGES).astype(np.int64).tolist()
    for sweep in first_sweeps(model, data, ids.label, ages):
        assert (sweep.plain == sweep.plain[:, :1]).all()
        node = int(sweep.name.removeprefix("source "))
        past = past_of(model, torch.tensor([node]), torch.tensor([int(data.test.t[0])]))
        assert int(past.mask.sum()) == len(sweep.plain)


def test_a_run_that_left_scratch_is_trained_again(folder: Path, tmp_path: Path) -> None:
    recipe = small("figure-blurring")
    before, lines, _ = draw(recipe, folder, seeds=1)
    jobs = recipe.jobs({"wikipedia": str(folder / "payments.parquet")}, 1)
    found = Reproduction(recipe, [(jobs[0], lines[0])], tmp_path / "empty", run_jobs)
    assert FIGURES[recipe.name](found, tmp_path / "b.png").rows == before.rows


def test_widths_are_drawn(folder: Path) -> None:
    result, _, _ = draw(small("figure-width"), folder, seeds=1)
    assert not result.rows  # the table of the recipe has them


def test_node_properties_of_any_stream(folder: Path, tmp_path: Path) -> None:
    recipe = small("table-tgbn")
    recipe = replace(recipe, reading={"trade": {"period": "week"}}, arms=recipe.arms[:4])
    jobs = recipe.jobs({"trade": str(folder / "payments.parquet")}, 1)
    assert all(how_read(job.spec.source) == "?period=week" for job in jobs)
    lines = run_jobs(jobs, Ledger(tmp_path / "l"), tmp_path / "runs", listener=lambda _: None)
    table = table_of(recipe, "trade", list(zip(jobs, lines, strict=True)))
    assert [row["label"] for row in table["rows"]] == [arm.label for arm in recipe.arms]
    assert all(0 < line.test["200"].metrics["ndcg@10"] <= 1 for line in lines)
    assert "TGN" in shown(table_of(recipe, "tgbn-trade", [])).markdown()  # what others published


def test_how_a_file_is_read_is_part_of_what_it_is(folder: Path) -> None:
    file = str(folder / "payments.parquet")
    task = TaskSpec(kind="node-property")
    readings: list[dict[str, str]] = [{}, {"period": "week"}, {"period": "day"}]
    jobs = [Job("mine", Untrained("moving-average", task, source_of(file, each))) for each in readings]
    assert len({job.fingerprint() for job in jobs}) == 3
    assert [job.open().stream.node_labels is None for job in jobs] == [True, False, False]
    name = "payments.parquet"
    assert [written(job.spec.source) for job in jobs] == [name, f"{name}?period=week", f"{name}?period=day"]
    both = source_of("x.csv", {"undirected": "true", "weight": "w", "unit": "day", "period": "7"})
    assert written(both) == "x.csv?unit=day&period=7&weight=w&undirected=true"
    with pytest.raises(InputError, match="not colour"):
        source_of(file, {"colour": "blue"})


def test_whole_graphs(tmp_path: Path) -> None:
    config = ContactsConfig(fraud_share=0.2)
    for seed, name in enumerate(("a.npz", "b.npz")):
        write_dgraphfin(tmp_path / name, 2_000, seed=seed, config=config)
    recipe = replace(load_recipe("table-dgraphfin"), fit={"epochs": 2})
    jobs = recipe.jobs({"fading": str(tmp_path / "a.npz")}, 2)
    assert [job.model for job in jobs] == ["degree", "logistic", *["gearsage", "keat-gearsage"] * 2]
    said = list[str]()
    lines = run_jobs(jobs, Ledger(tmp_path / "l"), tmp_path / "runs", listener=said.append)
    assert all(0 < line.test["all"].metrics["auc"] < 1 for line in lines)
    assert run_jobs(jobs, Ledger(tmp_path / "l"), tmp_path / "runs", listener=said.append) == lines
    assert "0 to go" in said[-1]
    table = table_of(recipe, "fading", list(zip(jobs, lines, strict=True)))
    assert [row["seeds"] for row in table["rows"]] == [1, 1, 2, 2]
    assert "vs GEARSage" in str(table["rows"][-1]["difference"])
    (other, *_) = recipe.jobs({"fading": str(tmp_path / "b.npz")}, 1)
    assert jobs[0].fingerprint() != other.fingerprint()
    unknown = replace(jobs[0], spec=replace(jobs[0].spec, model="degre"))
    with pytest.raises(UnknownNameError, match="degree"):
        run_jobs([unknown], Ledger(tmp_path / "l"), tmp_path, listener=said.append)


def test_runs_are_scored_as_released_beside_the_sound_way(folder: Path) -> None:
    recipe = small("table-released")
    recipe = replace(recipe, arms=recipe.arms[:2])
    result, lines, _ = draw(recipe, folder, seeds=2)
    kernelized = [line for line in lines if line.config_full and line.config_full["kernel"] == "laplacian"]
    sound = np.mean([line.test["200"].metrics["mrr"] for line in kernelized])
    assert [(row["model"], row["evaluation"]) for row in result.rows] == [
        (label, way)
        for label in ("TGN, Δ neighbor", "Laplacian, Δ neighbor")
        for way in ("sound", "as released")
    ]
    plain, plain_released, keat, keat_released = result.rows
    assert str(keat["test mrr"]).startswith(f"{sound:.4f}")
    assert keat["test mrr"] != keat_released["test mrr"]
    assert plain["difference, paired"] == plain_released["difference, paired"] == ""
    assert str(keat["difference, paired"]).endswith("] vs TGN, Δ neighbor")
    _, _, said = draw(recipe, folder, seeds=2)
    assert sum("4 of 4 runs are in" in text for text in said) == 2  # neither is run again
