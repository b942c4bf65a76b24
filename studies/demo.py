"""The world of `keat demo` over several seeds: docs/results/demo.md.

    python -m studies.demo              run what the ledger lacks, and print the table
    python -m studies.demo --report     print the table

A seed is of the simulation and of the training. A line of the ledger for every (arm, seed), with the test MRR
of a stale and of a fresh state.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeAlias

from keat.cli.demo_command import EPOCHS, EVENTS, TRAINED
from keat.datasets.loading import Dataset
from keat.datasets.payments import simulate_errands
from keat.models.registry import LINK_MODELS, create_link_model
from keat.runs import train
from keat.runs.run_file import is_run
from keat.tasks.task_factory import make_task
from keat.training.evaluate import evaluate
from studies.study import Cell, Found, Result, StudyLedger, gain, spread, study_parser, table

REFRESHES = (200, 1)  # stale and fresh
HEURISTICS = [name for name, entry in LINK_MODELS.items() if entry.heuristic]
# Whether another reading of ages does the same: an encoding smooth at every scale, or the usual Δ.
VARIANTS: dict[str, dict[str, Any]] = {
    "": {},
    ", cosine-geometric": {"time_encoder": "cosine-geometric"},
    ", neighbor": {"delta": "neighbor"},
}
OF_THE_DEMO = (*HEURISTICS, *TRAINED)
OTHERS = [model + variant for variant in list(VARIANTS)[1:] for model in ("tgn", "keat-tgn")]


class DemoCell(Cell, frozen=True, kw_only=True):
    arm: str  # a model, and of some the variant
    seed: int


class DemoFound(Found, frozen=True, kw_only=True):
    """MRR; of the test split by refresh."""

    test: dict[str, float]
    seconds: float
    val: float | None = None
    epoch: int | None = None  # that was kept
    train_seconds: float | None = None


DemoLine: TypeAlias = Result[DemoCell, DemoFound]


def cells(seeds: int) -> Iterator[DemoCell]:
    """The arms of the demo come first, over all seeds."""
    for arms in (OF_THE_DEMO, OTHERS):
        for seed in range(seeds):
            yield from (DemoCell(arm=arm, seed=seed) for arm in arms)


def variant_of(arm: str) -> str:
    return "".join(arm.partition(", ")[1:])


@lru_cache(maxsize=1)
def data_of(seed: int) -> Dataset:
    return Dataset(simulate_errands(EVENTS, seed=seed))


def ask(cell: DemoCell, scratch: Path) -> DemoFound:
    started, data = time.perf_counter(), data_of(cell.seed)
    if cell.arm in HEURISTICS:
        task = make_task(data, "test", kind="link-ranking")
        built = [create_link_model(cell.arm, data.train) for _ in REFRESHES]
        results = [evaluate(model, task, refresh=each) for model, each in zip(built, REFRESHES, strict=True)]
        trained: dict[str, Any] = {}
    else:
        variant = variant_of(cell.arm)
        model = cell.arm.removesuffix(variant)
        settings = TRAINED[model] | VARIANTS[variant]
        folder = scratch / f"{cell.arm}-{cell.seed}".replace(", ", "-")
        run = train(
            model,
            data,
            out=folder,
            epochs=EPOCHS,
            seed=cell.seed,
            resume=is_run(folder),
            watchers=(),
            **settings,
        )
        trained = {"val": run.metrics["mrr"], "epoch": run.best.epoch}
        trained["train_seconds"] = round(time.perf_counter() - started, 1)
        results = [run.evaluate(data, refresh=each) for each in REFRESHES]
    test = {str(each): result.metrics["mrr"] for each, result in zip(REFRESHES, results, strict=True)}
    return DemoFound(test=test, seconds=round(time.perf_counter() - started, 1), **trained)


def report(lines: list[DemoLine]) -> str:
    rows = []
    for arm in (*OF_THE_DEMO, *OTHERS):
        mine = [_by_seed(lines, arm, refresh) for refresh in REFRESHES]
        keat = [_by_seed(lines, f"keat-tgn{variant_of(arm)}", refresh) for refresh in REFRESHES]
        is_keat = arm.startswith("keat-tgn")
        gains = ["" if is_keat else gain(ours, theirs) for ours, theirs in zip(keat, mine, strict=True)]
        if mine[0]:
            rows.append([arm, *(spread(list(found.values())) for found in mine), *gains])
    head = ["model", "test MRR, stale", "test MRR, fresh", "KEAT-TGN's gain over it, stale", "fresh"]
    seeds = {line.cell.seed for line in lines}
    return "\n".join([*table(head, rows), "", f"{len(seeds)} seeds."])


def _by_seed(lines: list[DemoLine], arm: str, refresh: int) -> dict[int, float]:
    return {line.cell.seed: line.found.test[str(refresh)] for line in lines if line.cell.arm == arm}


def main() -> None:
    parser = study_parser("demo", __doc__)
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    ledger = StudyLedger(given.ledger, DemoCell, DemoFound)
    if not given.report:
        ledger.complete(cells(given.seeds), partial(ask, scratch=given.scratch))
    print(report(ledger.lines()))


if __name__ == "__main__":
    main()
