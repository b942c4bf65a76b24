"""What each group of numbers of keat-rank's second edition is worth, by validation.

    python -m benchmarks.rank_groups run uci bitcoin_otc --seeds 1 2 --ledger docs/results/rank_groups.jsonl
    python -m benchmarks.rank_groups show --ledger docs/results/rank_groups.jsonl

keat-rank as `keat train` trains it, on each dataset: the first edition, the second, the second without one of
its groups at a time, and the first with one of them. Every (data, seed, arm, positives asked, epochs) is one
line of the ledger; what is there is not run again. The test splits are not looked at.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import torch

import keat
from benchmarks.defaults import SHARED
from benchmarks.ledgers import append, commit, read, spread
from keat.cooccurrence.pair_columns import groups_of
from keat.datasets.loading import Dataset
from keat.errors import Notice
from keat.runs import RunSpec
from keat.runs.run_model import train_run
from keat.tasks.task_spec import TaskSpec

NEW = [group for group in groups_of(2) if group not in groups_of(1)]
ARMS: dict[str, dict[str, Any]] = {
    "first edition": {"edition": 1},
    "second edition": {"edition": 2},
    **{f"without {group}": {"edition": 2, "without": group} for group in NEW},
    **{
        f"first edition and {group}": {
            "edition": 2,
            "without": ",".join(other for other in NEW if other != group),
        }
        for group in NEW
    },
}


def run_one(data: Dataset, seed: int, arm: str, sample: int | None, epochs: int) -> dict[str, Any]:
    started = time.process_time()
    task = TaskSpec(kind="link-ranking", sample=sample)
    fitting = {"seed": seed, "epochs": epochs}
    spec = RunSpec.of("keat-rank", settings=ARMS[arm], fitting=fitting, task=task)
    with tempfile.TemporaryDirectory() as scratch:
        reports = train_run(spec, data, Path(scratch) / "run").reports
    return {
        "mrr": max(report.val["mrr"] for report in reports),
        "by_epoch": [round(report.val["mrr"], 4) for report in reports],
        "train_seconds": round(sum(report.train_seconds for report in reports), 1),
        "cpu_seconds": round(time.process_time() - started, 1),
        "commit": commit(),
    }


def run(given: argparse.Namespace) -> None:
    for name in given.names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Notice)
            data = keat.load(given.data / f"{name}.parquet")
        for seed in given.seeds:
            for arm in given.arms:
                sample, epochs = given.sample, given.epochs
                asked = {"data": name, "seed": seed, "arm": arm, "sample": sample, "epochs": epochs}
                if any({**line, **asked} == line for line in read(given.ledger)):
                    continue
                line = asked | run_one(data, seed, arm, sample, epochs)
                append(given.ledger, line)
                print(name, seed, arm, line["by_epoch"], f"{line['cpu_seconds']} s", flush=True)


def show(lines: list[dict[str, Any]]) -> str:
    """A row for each arm, a column for each dataset: mean ± std over seeds of the best epoch's MRR, and the
    mean difference from the second edition over the seeds that both have."""
    names = list(dict.fromkeys(line["data"] for line in lines))
    rows = ["| | " + " | ".join(names) + " |", "| --- |" + " --- |" * len(names)]
    for arm in ARMS:
        cells = [_cell([line for line in lines if line["data"] == name], arm) for name in names]
        if any(cells):
            rows.append(f"| {arm} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def _cell(lines: list[dict[str, Any]], arm: str) -> str:
    by_seed = {line["seed"]: line["mrr"] for line in lines if line["arm"] == arm}
    if not by_seed:
        return ""
    found = list(by_seed.values())
    value = spread(found) if len(found) > 1 else f"{found[0]:.4f}"
    whole = {line["seed"]: line["mrr"] for line in lines if line["arm"] == "second edition"}
    both = by_seed.keys() & whole.keys()
    if arm == "second edition" or not both:
        return value
    return f"{value} ({sum(by_seed[seed] - whole[seed] for seed in both) / len(both):+.4f})"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "show"])
    parser.add_argument("names", nargs="*", help="datasets, Parquet files of the folder")
    parser.add_argument("--data", type=Path, default=SHARED)
    parser.add_argument("--ledger", type=Path, required=True)
    parser.add_argument("--seeds", nargs="*", type=int, default=[1])
    parser.add_argument("--arms", nargs="*", default=list(ARMS))
    parser.add_argument("--sample", type=int, help="positives of the validation split; all if not given")
    parser.add_argument("--epochs", type=int, default=8, help="at most, as usual")
    given = parser.parse_args()
    if given.what == "show":
        print(show(read(given.ledger)))
        return
    torch.set_num_threads(1)
    run(given)


if __name__ == "__main__":
    main()
