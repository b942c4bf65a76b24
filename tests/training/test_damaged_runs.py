"""Nothing in the folder of a run is trusted: each damage of its files is named in one sentence."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.torch import save_file
from small_runs import CONFIGS, DAMAGED, FIT, content, file_of, small_data, small_run

from keat.errors import InputError
from keat.training.epochs import read_history
from keat.training.runs import open_run, train_run

Damage = Callable[[Path], object]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return shutil.copytree(small_run("keat-tgn"), tmp_path / "run")


def edit_json(change: Callable[[dict[str, Any]], object]) -> Damage:
    def damage(run: Path) -> None:
        description = json.loads((run / "run.json").read_text())
        change(description)
        (run / "run.json").write_text(json.dumps(description))

    return damage


def text(name: str, content: str) -> Damage:
    return lambda run: (run / name).write_text(content)


def without(key: str) -> Damage:
    return edit_json(lambda description: description.pop(key))


def setting(value: Any, *keys: str) -> Damage:
    def change(description: dict[str, Any]) -> None:
        for key in keys[:-1]:
            description = description[key]
        description[keys[-1]] = value

    return edit_json(change)


def edit_ids(change: Callable[[list[Any]], pa.Table]) -> Damage:
    def damage(run: Path) -> None:
        labels = pq.read_table(run / "ids.parquet")["label"].to_pylist()
        pq.write_table(change(labels), run / "ids.parquet")

    return damage


def edit_line(change: Callable[[dict[str, Any]], object], number: int = 0) -> Damage:
    def damage(run: Path) -> None:
        lines = (run / "metrics.jsonl").read_text().splitlines()
        report = json.loads(lines[number])
        change(report)
        lines[number] = json.dumps(report)
        (run / "metrics.jsonl").write_text("\n".join(lines) + "\n")

    return damage


def more_epochs(run: Path) -> None:
    last = read_history(run)[-1] | {"best": True}
    (run / "metrics.jsonl").write_text("".join(json.dumps(last | {"epoch": k}) + "\n" for k in range(1, 10)))


DAMAGES: dict[str, Damage] = {
    "run.json is a list": text("run.json", "[]"),
    "run.json is a number": text("run.json", "1"),
    "run.json is cut off": text("run.json", "{"),
    "run.json is empty": text("run.json", ""),
    "run.json is nested a thousandfold": text("run.json", "[" * 100_000),
    "run.json is no text": lambda run: (run / "run.json").write_bytes(b"\xff\xfe\x00"),
    **{
        f"run.json without {key}": without(key) for key in ("model", "config", "fit", "sigma", "unit", "data")
    },
    **{f"run.json without {key}": without(key) for key in ("data", "num_nodes", "feature_dim")},
    "σ zero": setting(0.0, "sigma"),
    "σ negative": setting(-1.0, "sigma"),
    "σ infinite": setting(float("inf"), "sigma"),
    "σ not a number": setting(float("nan"), "sigma"),
    "σ text": setting("1", "sigma"),
    "as many nodes as there are not": setting(10**12, "num_nodes"),
    "a few nodes more": setting(10**6, "num_nodes"),
    "nodes negative": setting(-5, "num_nodes"),
    "nodes text": setting("many", "num_nodes"),
    "nodes true": setting(True, "num_nodes"),
    "features by the billion": setting(10**9, "feature_dim"),
    "features one more": setting(9, "feature_dim"),
    "an unknown unit": setting("fortnight", "unit"),
    "data a text": setting("payments", "data"),
    "data without a fingerprint": setting({"name": "x"}, "data"),
    "a head that is none": setting({"kind": "node"}, "head"),
    "a head of an unknown kind": setting({"kind": "tail", "size": 1, "frozen": False}, "head"),
    "a head that nobody trained": setting({"kind": "node", "size": 10**9, "frozen": False}, "head"),
    "a head without a task": edit_json(
        lambda description: description.update(
            head={"kind": "node", "size": 3, "frozen": False}, task="node-property"
        )
    ),
    "config a list": setting([], "config"),
    "an unknown setting": setting(1, "config", "colour"),
    "a setting of another type": setting("8", "config", "dim"),
    "a setting out of range": setting(0, "config", "neighbors"),
    "another size": setting(16, "config", "dim"),
    "a size that would not fit": setting(60_000, "config", "dim"),
    "other neighbors": setting(5, "config", "neighbors"),
    "another kernel": setting("mlp", "config", "kernel"),
    "ids missing": lambda run: (run / "ids.parquet").unlink(),
    "ids no parquet": text("ids.parquet", "not a table"),
    "ids empty file": text("ids.parquet", ""),
    "ids with another column": edit_ids(lambda labels: pa.table({"name": labels})),
    "ids too few": edit_ids(lambda labels: pa.table({"label": labels[:-1]})),
    "ids too many": edit_ids(lambda labels: pa.table({"label": [*labels, 10**6]})),
    "ids twice": edit_ids(lambda labels: pa.table({"label": [labels[1], *labels[1:]]})),
    "ids unknown": edit_ids(lambda labels: pa.table({"label": [None, *labels[1:]]})),
    "ids of another type": edit_ids(lambda labels: pa.table({"label": [[k] for k in range(len(labels))]})),
    "ids with a boundary beyond": edit_ids(
        lambda labels: pa.table({"label": labels}).replace_schema_metadata({"keat.boundary": "100000"})
    ),
    "ids with a boundary of words": edit_ids(
        lambda labels: pa.table({"label": labels}).replace_schema_metadata({"keat.boundary": "ten"})
    ),
    "metrics missing": lambda run: (run / "metrics.jsonl").unlink(),
    "metrics empty": text("metrics.jsonl", ""),
    "metrics no text": lambda run: (run / "metrics.jsonl").write_bytes(b"\xff\xfe"),
    "metrics garbage": lambda run: (run / "metrics.jsonl").open("a").write("{garbage\n"),
    "metrics garbage in the middle": lambda run: (run / "metrics.jsonl").write_text(
        "what?\n" + (run / "metrics.jsonl").read_text()
    ),
    "metrics a list": text("metrics.jsonl", "[]\n"),
    **{
        f"metrics without {key}": edit_line(lambda report, key=key: report.pop(key))  # type: ignore[misc]
        for key in ("epoch", "loss", "val", "best", "train_seconds", "val_seconds")
    },
    "metrics with another epoch": edit_line(lambda report: report.update(epoch=7)),
    "metrics with an infinite loss": edit_line(lambda report: report.update(loss=float("inf"))),
    "metrics with a text as loss": edit_line(lambda report: report.update(loss="low")),
    "metrics with a list as val": edit_line(lambda report: report.update(val=[1])),
    "metrics with a text in val": edit_line(lambda report: report.update(val={"mrr": "high"})),
    "metrics with a best that is none": edit_line(lambda report: report.update(best=True, val={})),
    "metrics of more epochs than there are": more_epochs,
    "best missing": lambda run: file_of(run, "best").unlink(),
    "best no tensors": lambda run: file_of(run, "best").write_bytes(b"not tensors"),
    "best empty": lambda run: file_of(run, "best").write_bytes(b""),
    "best cut in half": lambda run: file_of(run, "best").write_bytes(
        file_of(run, "best").read_bytes()[:3000]
    ),
    "best with a header that promises more": lambda run: file_of(run, "best").write_bytes(
        (10**15).to_bytes(8, "little") + b"{}"
    ),
    "best without tensors": lambda run: save_file({}, file_of(run, "best")),
}


@pytest.mark.parametrize("what", DAMAGES)
def test_damage_is_named(what: str, run: Path) -> None:
    DAMAGES[what](run)
    before = content(run)
    with pytest.raises(InputError, match=DAMAGED):
        open_run(run)
    assert content(run) == before


@pytest.mark.parametrize("what", [what for what in DAMAGES if what.startswith(("metrics", "run.json"))])
def test_a_damaged_run_is_not_gone_on_with(what: str, run: Path) -> None:
    DAMAGES[what](run)
    before = content(run)
    with pytest.raises(InputError, match=f"{DAMAGED}|holds another run"):
        train_run("keat-tgn", small_data(), run, CONFIGS["keat-tgn"], replace(FIT, epochs=3), resume=True)
    assert content(run) == before


def test_other_versions_and_other_folders_are_named(run: Path, tmp_path: Path) -> None:
    setting(99, "format")(run)
    with pytest.raises(InputError, match="another version of keat"):
        open_run(run)
    (run / "run.json").unlink()
    with pytest.raises(InputError, match="is not a keat run"):
        open_run(run)
    (tmp_path / "orders.csv").write_text("a,b\n")
    with pytest.raises(InputError, match=r"orders\.csv is a file, and a run is a folder"):
        open_run(tmp_path / "orders.csv")
