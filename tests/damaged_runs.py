"""What can be wrong with what is in the files of a run, by name: each is damage that has to be named."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from safetensors.torch import save_file

from format_1_runs import as_format_1
from keat.runs.epochs import Kept, kept_file, read_history

Damage = Callable[[Path], object]  # of the folder of a run


def file_of(run: Path, which: Kept) -> Path:
    """Where the tensors of the last or the best epoch are."""
    path = kept_file(run, which, read_history(run))
    assert path is not None
    return path


def _edit_json(change: Callable[[dict[str, Any]], object]) -> Damage:
    def damage(run: Path) -> None:
        description = json.loads((run / "run.json").read_text())
        change(description)
        (run / "run.json").write_text(json.dumps(description))

    return damage


def _text(name: str, content: str) -> Damage:
    return lambda run: (run / name).write_text(content)


def without(*keys: str) -> Damage:
    def change(description: dict[str, Any]) -> None:
        for key in keys[:-1]:
            description = description[key]
        del description[keys[-1]]

    return _edit_json(change)


def setting(value: Any, *keys: str) -> Damage:
    def change(description: dict[str, Any]) -> None:
        for key in keys[:-1]:
            description = description[key]
        description[keys[-1]] = value

    return _edit_json(change)


def _in_format_1(damage: Damage) -> Damage:
    """Damage to a run that an earlier version described."""

    def both(run: Path) -> None:
        as_format_1(run)
        damage(run)

    return both


def _edit_ids(change: Callable[[list[Any]], pa.Table]) -> Damage:
    def damage(run: Path) -> None:
        labels = pq.read_table(run / "ids.parquet")["label"].to_pylist()
        pq.write_table(change(labels), run / "ids.parquet")

    return damage


def _edit_line(change: Callable[[dict[str, Any]], object], number: int = 0) -> Damage:
    def damage(run: Path) -> None:
        lines = (run / "metrics.jsonl").read_text().splitlines()
        report = json.loads(lines[number])
        change(report)
        lines[number] = json.dumps(report)
        (run / "metrics.jsonl").write_text("\n".join(lines) + "\n")

    return damage


def _more_epochs(run: Path) -> None:
    last = asdict(read_history(run)[-1]) | {"best": True}
    (run / "metrics.jsonl").write_text("".join(json.dumps(last | {"epoch": k}) + "\n" for k in range(1, 10)))


DAMAGES: dict[str, Damage] = {
    "run.json is a list": _text("run.json", "[]"),
    "run.json is a number": _text("run.json", "1"),
    "run.json is cut off": _text("run.json", "{"),
    "run.json is empty": _text("run.json", ""),
    "run.json is nested a thousandfold": _text("run.json", "[" * 100_000),
    "run.json is no text": lambda run: (run / "run.json").write_bytes(b"\xff\xfe\x00"),
    "run.json without its spec": without("spec"),
    "run.json without its facts": without("facts"),
    "run.json with more": setting(1, "colour"),
    "a spec that is a list": setting([], "spec"),
    "facts that are a list": setting([], "facts"),
    **{f"run.json without {key}": without("spec", key) for key in ("model", "config")},
    **{
        f"run.json without {key}": without("facts", key)
        for key in ("data", "unit", "sigma", "num_nodes", "feature_dim")
    },
    **{f"data without {key}": without("facts", "data", key) for key in ("name", "events", "fingerprint")},
    "a model that is a number": setting(7, "spec", "model"),
    "no model": setting(None, "spec", "model"),
    "σ beyond all numbers": setting(10**400, "facts", "sigma"),
    "a width that is no number": setting(float("nan"), "spec", "config", "width"),
    "a clock that is none": setting("fast", "spec", "config", "clock"),
    "metrics with a loss beyond all numbers": _edit_line(lambda report: report.update(loss=10**400)),
    "metrics with an epoch that is text": _edit_line(lambda report: report.update(epoch="1")),
    "metrics with a best that is a number": _edit_line(lambda report: report.update(best=1)),
    "σ zero": setting(0.0, "facts", "sigma"),
    "σ negative": setting(-1.0, "facts", "sigma"),
    "σ infinite": setting(float("inf"), "facts", "sigma"),
    "σ not a number": setting(float("nan"), "facts", "sigma"),
    "σ text": setting("1", "facts", "sigma"),
    "as many nodes as there are not": setting(10**12, "facts", "num_nodes"),
    "more nodes than any number": setting(10**40, "facts", "num_nodes"),
    "a few nodes more": setting(10**6, "facts", "num_nodes"),
    "nodes negative": setting(-5, "facts", "num_nodes"),
    "nodes text": setting("many", "facts", "num_nodes"),
    "nodes true": setting(True, "facts", "num_nodes"),
    "features by the billion": setting(10**9, "facts", "feature_dim"),
    "features one more": setting(9, "facts", "feature_dim"),
    "an unknown unit": setting("fortnight", "facts", "unit"),
    "data a text": setting("payments", "facts", "data"),
    "an unknown entry of the facts": setting(1, "facts", "colour"),
    "an unknown entry of the spec": setting(1, "spec", "colour"),
    "an unknown entry of the data": setting(1, "facts", "data", "colour"),
    "a head that is none": setting({"kind": "node"}, "facts", "head"),
    "a head of an unknown kind": setting({"kind": "tail", "size": 1, "frozen": False}, "facts", "head"),
    "a head that nobody trained": setting({"kind": "node", "size": 10**9, "frozen": False}, "facts", "head"),
    "an unknown task": setting("fortune-telling", "spec", "task", "kind"),
    "an unknown protocol": setting("lax", "spec", "task", "protocol"),
    "a task that is a text": setting("link-ranking", "spec", "task"),
    "a fitting that is a list": setting([], "spec", "fitting"),
    "a seed that is a text": setting("1", "spec", "fitting", "seed"),
    "no epochs": setting(0, "spec", "fitting", "epochs"),
    "a reading of an unknown entry": setting("red", "spec", "source", "reading", "colour"),
    "a reading in an unknown unit": setting("fortnight", "spec", "source", "reading", "unit"),
    "parts held out that are three": setting([0.1, 0.1, 0.1], "spec", "source", "held_out"),
    "labels of a period and of a file": setting(
        {"period": "day", "node_labels": "x.csv"}, "spec", "source", "labels"
    ),
    "config a list": setting([], "spec", "config"),
    "an unknown setting": setting(1, "spec", "config", "colour"),
    "a setting of another type": setting("8", "spec", "config", "dim"),
    "a setting out of range": setting(0, "spec", "config", "neighbors"),
    "another size": setting(16, "spec", "config", "dim"),
    "a size that would not fit": setting(60_000, "spec", "config", "dim"),
    "other neighbors": setting(5, "spec", "config", "neighbors"),
    "another kernel": setting("mlp", "spec", "config", "kernel"),
    "ids missing": lambda run: (run / "ids.parquet").unlink(),
    "ids no parquet": _text("ids.parquet", "not a table"),
    "ids empty file": _text("ids.parquet", ""),
    "ids with another column": _edit_ids(lambda labels: pa.table({"name": labels})),
    "ids too few": _edit_ids(lambda labels: pa.table({"label": labels[:-1]})),
    "ids too many": _edit_ids(lambda labels: pa.table({"label": [*labels, type(labels[0])(10**6)]})),
    "ids twice": _edit_ids(lambda labels: pa.table({"label": [labels[1], *labels[1:]]})),
    "ids unknown": _edit_ids(lambda labels: pa.table({"label": [None, *labels[1:]]})),
    "ids of another type": _edit_ids(lambda labels: pa.table({"label": [[k] for k in range(len(labels))]})),
    "ids with a boundary beyond": _edit_ids(
        lambda labels: pa.table({"label": labels}).replace_schema_metadata({"keat.boundary": "100000"})
    ),
    "ids with a boundary of words": _edit_ids(
        lambda labels: pa.table({"label": labels}).replace_schema_metadata({"keat.boundary": "ten"})
    ),
    "metrics missing": lambda run: (run / "metrics.jsonl").unlink(),
    "metrics empty": _text("metrics.jsonl", ""),
    "metrics no text": lambda run: (run / "metrics.jsonl").write_bytes(b"\xff\xfe"),
    "metrics garbage": lambda run: (run / "metrics.jsonl").open("a").write("{garbage\n"),
    "metrics garbage in the middle": lambda run: (run / "metrics.jsonl").write_text(
        "what?\n" + (run / "metrics.jsonl").read_text()
    ),
    "metrics a list": _text("metrics.jsonl", "[]\n"),
    **{
        f"metrics without {key}": _edit_line(lambda report, key=key: report.pop(key))  # type: ignore[misc]
        for key in ("epoch", "loss", "val", "best", "train_seconds", "val_seconds")
    },
    "metrics with another epoch": _edit_line(lambda report: report.update(epoch=7)),
    "metrics with an infinite loss": _edit_line(lambda report: report.update(loss=float("inf"))),
    "metrics with a text as loss": _edit_line(lambda report: report.update(loss="low")),
    "metrics with a list as val": _edit_line(lambda report: report.update(val=[1])),
    "metrics with a text in val": _edit_line(lambda report: report.update(val={"mrr": "high"})),
    "metrics with a best that is none": _edit_line(lambda report: report.update(best=True, val={})),
    "metrics of more epochs than there are": _more_epochs,
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

OF_FORMAT_1: dict[str, Damage] = {
    f"{what}, in format 1": _in_format_1(damage)
    for what, damage in {
        **{
            f"without {key}": without(key)
            for key in ("model", "config", "fit", "sigma", "unit", "data", "num_nodes", "feature_dim")
        },
        "a model that is a number": setting(7, "model"),
        "no model": setting(None, "model"),
        "σ beyond all numbers": setting(10**400, "sigma"),
        "σ zero": setting(0.0, "sigma"),
        "σ not a number": setting(float("nan"), "sigma"),
        "σ text": setting("1", "sigma"),
        "nodes negative": setting(-5, "num_nodes"),
        "nodes text": setting("many", "num_nodes"),
        "nodes true": setting(True, "num_nodes"),
        "a few nodes more": setting(10**6, "num_nodes"),
        "features one more": setting(9, "feature_dim"),
        "an unknown unit": setting("fortnight", "unit"),
        "data a text": setting("payments", "data"),
        "data a list": setting(["payments"], "data"),
        "data without a fingerprint": setting({"name": "x"}, "data"),
        "a head that is none": setting({"kind": "node"}, "head"),
        "a head of an unknown kind": setting({"kind": "tail", "size": 1, "frozen": False}, "head"),
        "a head that nobody trained": setting({"kind": "node", "size": 10**9, "frozen": False}, "head"),
        "a head without a task": _edit_json(
            lambda description: description.update(
                head={"kind": "node", "size": 3, "frozen": False}, task="node-property"
            )
        ),
        "a task that is a number": setting(7, "task"),
        "a task of an unknown kind": setting("fortune-telling", "task", "kind"),
        "a task that asks a text": setting("many", "task", "asked"),
        "labels a list": setting(["day"], "labels"),
        "labels with a period that is a number": setting({"period": 7}, "labels"),
        "a reading with an unknown entry": setting({"colour": "red"}, "reading"),
        "a reading that is a list": setting([1], "reading"),
        "fit a list": setting([], "fit"),
        "an unknown entry of the fit": setting(1, "fit", "colour"),
        "limits a list": setting([1], "limits"),
        "no epochs": setting(0, "limits", "epochs"),
        "config a list": setting([], "config"),
        "an unknown setting": setting(1, "config", "colour"),
        "a setting of another type": setting("8", "config", "dim"),
        "a setting out of range": setting(0, "config", "neighbors"),
        "a clock that is none": setting("fast", "config", "clock"),
        "another size": setting(16, "config", "dim"),
    }.items()
}
DAMAGES |= OF_FORMAT_1
