"""Labels of events: the runs behind docs/results/node_labels.md.

    python -m benchmarks.label_study run --study wikipedia --data wikipedia.parquet --ledger FILE
    python -m benchmarks.label_study run --study bitcoin --data bitcoin_otc.parquet --fraud CSV --ledger FILE
    python -m benchmarks.label_study run --study payments --ledger FILE
    python -m benchmarks.label_study show --ledger docs/results/node_labels.jsonl

Every (study, cell, seed) is one line of the ledger, written when it is done; what is there is not run again,
and an interrupted run continues from its last epoch.
"""

from __future__ import annotations

import argparse
import platform
import time
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pyarrow.csv import ReadOptions, read_csv

import keat
from benchmarks.ledgers import append, commit, config_hash, interval, read, spread
from keat.datasets.loading import Dataset
from keat.models.registry import create_label_model
from keat.runs.epochs import best_epoch, read_history
from keat.runs.run_model import train_run
from keat.runs.spec import RunSpec, configuration
from keat.runs.testing import evaluate_run
from keat.tasks.kinds import End
from keat.tasks.label_making import label_events_by_node
from keat.tasks.node_label import NodeLabel
from keat.tasks.task_spec import TaskSpec
from keat.training.evaluate import Evaluation, evaluate
from keat.training.fit import FitConfig


@dataclass(frozen=True)
class Cell:
    model: str
    how: str = "-"  # end-to-end, or on an encoder trained on links
    reads: str = "-"  # embeddings, or these and counts


MODELS = ("tgn", "keat-tgn")
CELLS = [
    Cell("counts"),
    *(Cell(model, "end-to-end", "embeddings") for model in MODELS),
    *(Cell(model, "end-to-end", "both") for model in MODELS),
    *(Cell(model, "links", "both") for model in MODELS),
]
EPOCHS = {"wikipedia": 3, "bitcoin": 6, "bitcoin-new": 6, "payments": 6}
LINK_EPOCHS = 1
LR = 1e-3


def load_study(name: str, path: str | None, fraud: Path | None) -> tuple[Dataset, End]:
    """The data, and whose labels they are."""
    if name == "payments":
        return keat.load("payments:60000"), "src"
    assert path is not None
    if name == "wikipedia":
        return keat.load(path, label="label"), "src"
    assert fraud is not None
    data = keat.load(path, features=["rating"], unit="s")
    data = Dataset(replace(data.stream, features=data.stream.features / np.float32(10)))
    table = read_csv(fraud, ReadOptions(column_names=["user", "label"])).to_pydict()
    user, label = (np.array(table[column]) for column in ("user", "label"))
    known = np.isin(user, [data.stream.ids.label(n) for n in range(data.stream.num_nodes)])
    node = data.stream.ids.index(user[known].tolist())
    data = label_events_by_node(data, node[label[known] < 0], node[label[known] > 0], "dst")
    if name == "bitcoin-new":
        data = _hold_out(data)
    return data, "dst"


def _hold_out(data: Dataset) -> Dataset:
    """Half of the users, drawn at random, are taught about and never asked; the others the reverse."""
    stream = data.stream
    assert stream.labels is not None
    taught = (np.random.default_rng(0).random(stream.num_nodes) < 0.5)[stream.dst]
    in_training = np.arange(len(stream)) < data.val.offset
    return Dataset(replace(stream, labels=np.where(taught == in_training, stream.labels, -1)))


def task_of(data: Dataset, split: str, end: End) -> NodeLabel:
    task = keat.make_task(data, split, kind="node-label", end=end)  # type: ignore[arg-type]
    assert isinstance(task, NodeLabel)
    return task


def run(
    study: str, data: Dataset, end: End, ledger: Path, scratch: Path, seeds: int, only: str | None
) -> None:
    cells = [cell for cell in CELLS if only in (None, cell.how)]
    for seed, cell in product(range(1, seeds + 1), cells):
        done = [line for line in read(ledger) if line["study"] == study and line["cell"] == asdict(cell)]
        if any(line["seed"] == seed for line in done) or (cell.model == "counts" and done):
            continue
        line = {"study": study, "cell": asdict(cell), "seed": seed}
        line |= run_one(study, data, end, cell, seed, scratch)
        append(ledger, line)
        print(f"{study} {cell} seed {seed}: test {line['test']}", flush=True)


def run_one(study: str, data: Dataset, end: End, cell: Cell, seed: int, scratch: Path) -> dict[str, Any]:
    test = task_of(data, "test", end)
    started = time.process_time()
    if cell.model == "counts":
        result = evaluate(create_label_model("counts", data.train), test)
        return outcome(test, result) | {"commit": commit()}
    config = configuration(cell.model)
    fitting = FitConfig(epochs=EPOCHS[study], patience=EPOCHS[study], lr=LR, seed=seed)
    encoder = None
    if cell.how == "links":
        encoder = scratch / f"links-{study.removesuffix('-new')}-{cell.model}-{seed}"
        links = replace(fitting, epochs=LINK_EPOCHS, validate_every=LINK_EPOCHS)
        spec = RunSpec(cell.model, config, links, TaskSpec(kind="link-classification"))
        train_run(spec, data, encoder, resume=(encoder / "run.json").exists())
    folder = scratch / f"{study}-{cell.model}-{cell.how}-{cell.reads}-{seed}"
    spec = RunSpec(
        cell.model,
        config,
        fitting,
        TaskSpec(kind="node-label", labelled=end),
        encoder=None if encoder is None else str(encoder),
        counts=cell.reads == "both",
    )
    file = train_run(spec, data, folder, resume=(folder / "run.json").exists()).file
    result = evaluate_run(folder, data, test, "test")
    best = best_epoch(folder)
    return outcome(test, result) | {
        "val": best.val,
        "epoch": best.epoch,
        "epochs": len(read_history(folder)),
        "cpu_seconds": round(time.process_time() - started, 1),
        "data": asdict(file.facts.data),
        "sigma": file.facts.sigma,
        "config_hash": config_hash(config, fitting),
        "commit": commit(),
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "machine": platform.machine(),
    }


def outcome(task: NodeLabel, result: Evaluation) -> dict[str, Any]:
    return {
        "test": result.metrics,
        "interval": task.intervals(result.outcomes),
        "asked": len(task),
        "positive": int(task.truth.sum()),
    }


def show(ledger: Path) -> str:
    """A Markdown table a study: mean ± std over seeds, the bootstrap interval of the first seed, and the
    difference of KEAT-TGN from TGN trained the same way, paired by seed."""
    lines, rows = read(ledger), []
    for study in dict.fromkeys(line["study"] for line in lines):
        mine = [line for line in lines if line["study"] == study]
        first = mine[0]
        share = first["positive"] / first["asked"]
        rows += [
            f"**{study}**: {first['positive']:,} of {first['asked']:,} labelled events of the test split are "
            f"positive ({share:.2%}; a guess has that AP).",
            "",
            "| model | trained | reads | seeds | AUC | 95 %, seed 1 | AP | 95 %, seed 1 | AUC - TGN |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        ]
        for cell in CELLS:
            runs = {line["seed"]: line for line in mine if line["cell"] == asdict(cell)}
            if not runs:
                continue
            cells = []
            for metric in ("auc", "ap"):
                low, high = runs[min(runs)]["interval"][metric]
                cells += [
                    spread([line["test"][metric] for line in runs.values()]),
                    f"{low:.3f} to {high:.3f}",
                ]
            plain = {
                line["seed"]: line for line in mine if line["cell"] == asdict(replace(cell, model="tgn"))
            }
            both = sorted(runs.keys() & plain.keys()) if cell.model == "keat-tgn" else []
            gain = interval(np.array([runs[s]["test"]["auc"] - plain[s]["test"]["auc"] for s in both]))
            rows.append(
                f"| {cell.model} | {cell.how} | {cell.reads} | {len(runs)} | {' | '.join(cells)} | {gain} |"
            )
        rows.append("")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "show"])
    parser.add_argument("--study", choices=list(EPOCHS))
    parser.add_argument("--data")
    parser.add_argument("--fraud", type=Path)
    parser.add_argument("--ledger", type=Path, required=True)
    parser.add_argument("--scratch", type=Path, default=Path("runs/label-study"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", help="how it is trained: end-to-end, links, or - for counts")
    arguments = parser.parse_args()
    if arguments.what == "show":
        print(show(arguments.ledger))
        return
    torch.set_num_threads(1)
    data, end = load_study(arguments.study, arguments.data, arguments.fraud)
    run(arguments.study, data, end, arguments.ledger, arguments.scratch, arguments.seeds, arguments.only)


if __name__ == "__main__":
    main()
