"""The world of `keat demo`, over several seeds: docs/results/demo.md.

    python -m benchmarks.demo_world run --ledger docs/results/demo.jsonl
    python -m benchmarks.demo_world show --ledger docs/results/demo.jsonl

A seed is of the simulation and of the training. Every (arm, seed) is one line of the ledger, which has the
test MRR with a stale and with a fresh state; what is there is not run again.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.ledgers import append, commit, interval, read, spread
from keat.cli.demo import EPOCHS, EVENTS, TRAINED
from keat.datasets.loading import Dataset
from keat.datasets.payments import simulate_errands
from keat.models.registry import LINK_MODELS, create_link_model
from keat.runs import train
from keat.tasks.link import LinkTask
from keat.tasks.making import make_task
from keat.training.evaluate import evaluate

REFRESHES = (200, 1)
HEURISTICS = [name for name, entry in LINK_MODELS.items() if entry.heuristic]
# Whether another reading of ages does the same: an encoding smooth at every scale, or the usual Δ.
VARIANTS: dict[str, dict[str, Any]] = {
    "": {},
    ", cosine-geometric": {"time_encoder": "cosine-geometric"},
    ", neighbor": {"delta": "neighbor"},
}


def arms() -> Iterator[tuple[str, str, str]]:
    """A name, the model and the variant of each; those of the demo first."""
    for name in (*HEURISTICS, *TRAINED):
        yield name, name, ""
    for variant in list(VARIANTS)[1:]:
        for model in ("tgn", "keat-tgn"):
            yield model + variant, model, variant


def run(ledger: Path, scratch: Path, seeds: int) -> None:
    demo = [arm for arm in arms() if not arm[2]]
    others = [arm for arm in arms() if arm[2]]
    for part in (demo, others):
        for seed in range(seeds):
            data = Dataset(simulate_errands(EVENTS, seed=seed))
            for name, model, variant in part:
                if any((line["arm"], line["seed"]) == (name, seed) for line in read(ledger)):
                    continue
                line: dict[str, Any] = {"arm": name, "seed": seed}
                line |= run_one(data, model, variant, seed, scratch / f"{name}-{seed}".replace(", ", "-"))
                append(ledger, line)
                print(name, seed, {key: round(mrr, 4) for key, mrr in line["test"].items()}, flush=True)


def run_one(data: Dataset, model: str, variant: str, seed: int, folder: Path) -> dict[str, Any]:
    started = time.perf_counter()
    task = make_task(data, "test", kind="link-ranking")
    assert isinstance(task, LinkTask)
    line: dict[str, Any] = {}
    test: dict[str, float] = {}
    if model in HEURISTICS:
        for refresh in REFRESHES:
            built = create_link_model(model, data.train)
            test[str(refresh)] = evaluate(built, task, refresh=refresh).metrics["mrr"]
    else:
        chosen = TRAINED[model] | VARIANTS[variant]
        run = train(
            model, data, out=folder, epochs=EPOCHS, seed=seed, resume=folder.exists(), watchers=(), **chosen
        )
        line = {"val": run.metrics["mrr"], "epoch": run.best.epoch}
        line["train_seconds"] = round(time.perf_counter() - started, 1)
        for refresh in REFRESHES:
            test[str(refresh)] = run.evaluate(data, refresh=refresh).metrics["mrr"]
    return line | {
        "test": test,
        "seconds": round(time.perf_counter() - started, 1),
        "commit": commit(),
        "machine": f"{platform.machine()}, 1 thread",
        "torch": torch.__version__,
    }


def show(lines: list[dict[str, Any]]) -> str:
    rows = ["| model | test MRR, stale | test MRR, fresh | KEAT-TGN's gain over it, stale | fresh |"]
    rows.append("| --- | --- | --- | --- | --- |")
    for name, _, variant in arms():
        mine = _by_seed(lines, name)
        if not mine:
            continue
        keat = _by_seed(lines, f"keat-tgn{variant}")
        cells = [spread([test[str(refresh)] for test in mine.values()]) for refresh in REFRESHES]
        for refresh in map(str, REFRESHES):
            both = sorted(mine.keys() & keat.keys()) if not name.startswith("keat-tgn") else []
            cells.append(interval(np.array([keat[seed][refresh] - mine[seed][refresh] for seed in both])))
        rows.append(f"| {name} | {' | '.join(cells)} |")
    seeds = {line["seed"] for line in lines}
    return "\n".join([*rows, "", f"{len(seeds)} seeds."])


def _by_seed(lines: list[dict[str, Any]], name: str) -> dict[int, dict[str, float]]:
    return {line["seed"]: line["test"] for line in lines if line["arm"] == name}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "show"])
    parser.add_argument("--ledger", type=Path, required=True)
    parser.add_argument("--scratch", type=Path, default=Path("runs/demo-world"))
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    if given.what == "run":
        torch.set_num_threads(1)
        run(given.ledger, given.scratch, given.seeds)
    else:
        print(show(read(given.ledger)))


if __name__ == "__main__":
    main()
