"""Node properties, and what TGB's order of events is worth: docs/results/trade.md.

    python -m studies.trade --data FOLDER     run what the ledger lacks, and print the tables
    python -m studies.trade --report          print the tables

FOLDER has trade.parquet and highschool.parquet. A line of the ledger for every (study, cell, seed).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import TypeAlias

import msgspec

import keat
from keat.datasets.loading import Dataset
from keat.events.fingerprint import DataFacts
from keat.models.registry import NODE_MODELS
from keat.runs.epochs import best_epoch, read_history
from keat.runs.run_evaluation import evaluate_run
from keat.runs.run_file import is_run
from keat.runs.run_model import train_run
from keat.runs.spec import RunSpec, configuration
from keat.tasks.derived_labels import label_by_period
from keat.tasks.kinds import Protocol
from keat.tasks.task_spec import Split, TaskSpec
from keat.training.evaluate import evaluate
from keat.training.fit import FitConfig
from studies.study import Cell, Found, Result, StudyLedger, config_hash, gain, spread, study_parser, table

METRIC = "ndcg@10"
LR = 3e-3


class Arm(msgspec.Struct, frozen=True):
    model: str
    messages: str = "-"
    protocol: Protocol = "strict"


class TradeCell(Cell, frozen=True, kw_only=True):
    study: str
    cell: Arm
    seed: int


class TradeFound(Found, frozen=True, kw_only=True):
    """NDCG@10 of both splits; of what was trained also how."""

    val: float
    test: float
    epoch: int | None = None  # that was kept
    epochs: int | None = None
    loss: float | None = None
    cpu_seconds: float | None = None
    resumed: bool | None = None
    data: DataFacts | None = None
    sigma: float | None = None
    config_hash: str | None = None
    threads: int | None = None  # of older lines, which do not say it with the machine


TradeLine: TypeAlias = Result[TradeCell, TradeFound]


@dataclass(frozen=True)
class Study:
    """One table: a dataset, its arms, and how long each is trained."""

    load: Callable[[Path], Dataset]
    arms: list[Arm]
    epochs: int


def load_trade(folder: Path) -> Dataset:
    data = keat.load(folder / "trade.parquet", features=["trade"], unit="year")
    return label_by_period(data, "year", weight=0)


def load_contacts(folder: Path) -> Dataset:
    return label_by_period(keat.load(folder / "highschool.parquet"), "hour", undirected=True)


FORECASTS = [Arm(name) for name, entry in NODE_MODELS.items() if entry.heuristic]
STUDIES = {
    "trade": Study(
        load_trade,
        [*FORECASTS, *(Arm(model, version) for version in ("v1", "v2") for model in ("tgn", "keat-tgn"))],
        epochs=24,
    ),
    "protocol": Study(
        load_contacts, [*FORECASTS, Arm("tgn", "v2", "strict"), Arm("tgn", "v2", "legacy")], epochs=6
    ),
}


def cells(seeds: int) -> Iterator[TradeCell]:
    """A forecast is not trained, so one seed of it is enough."""
    for name, study in STUDIES.items():
        for seed, arm in product(range(1, seeds + 1), study.arms):
            if seed == 1 or arm not in FORECASTS:
                yield TradeCell(study=name, cell=arm, seed=seed)


@cache
def data_of(study: str, folder: Path) -> Dataset:
    return STUDIES[study].load(folder)


def ask(cell: TradeCell, folder: Path, scratch: Path) -> TradeFound:
    data = data_of(cell.study, folder)
    task = TaskSpec(kind="node-property", protocol=cell.cell.protocol)
    if cell.cell in FORECASTS:
        splits: tuple[Split, Split] = ("val", "test")
        val, test = (
            evaluate(keat.create_node_model(cell.cell.model, data.train), task.make(data, split))
            for split in splits
        )
        return TradeFound(val=val.metrics[METRIC], test=test.metrics[METRIC])
    return train_one(cell, data, task, scratch)


def train_one(cell: TradeCell, data: Dataset, task: TaskSpec, scratch: Path) -> TradeFound:
    arm, epochs = cell.cell, STUDIES[cell.study].epochs
    config = configuration(arm.model, messages=arm.messages, clock="tick")  # years, as TGB's TGN reads them
    fitting = FitConfig(epochs=epochs, patience=epochs, lr=LR, seed=cell.seed, validate_every=3)
    spec = RunSpec(arm.model, config, fitting, task)
    folder = scratch / f"{cell.study}-{arm.model}-{arm.messages}-{arm.protocol}-{cell.seed}"
    started = time.process_time()
    trained = train_run(spec, data, folder, resume=is_run(folder))
    test = evaluate_run(folder, data, task.make(data, "test"), "test")
    history, best, facts = read_history(folder), best_epoch(folder), trained.file.facts
    return TradeFound(
        val=best.val[METRIC],
        test=test.metrics[METRIC],
        epoch=best.epoch,
        epochs=len(history),
        loss=best.loss,
        cpu_seconds=round(time.process_time() - started, 1),
        resumed=len(trained.reports) < len(history),
        data=facts.data,
        sigma=facts.sigma,
        config_hash=config_hash(asdict(config), asdict(fitting)),
    )


def report(lines: list[TradeLine]) -> str:
    """Mean ± std over seeds, and the difference from an arm's own baseline, paired by seed, with a 95 %
    interval."""
    head = ["model", "messages", "protocol", "seeds", "val NDCG@10", "test NDCG@10", "paired difference"]
    text = []
    for name, study in STUDIES.items():
        rows = []
        for arm in study.arms:
            mine = [line.found for line in lines if (line.cell.study, line.cell.cell) == (name, arm)]
            if mine:
                numbers = spread([found.val for found in mine]), spread([found.test for found in mine])
                plain = baseline(arm)
                difference = gain(tested(lines, name, arm), tested(lines, name, plain)) if plain else ""
                rows.append([arm.model, arm.messages, arm.protocol, str(len(mine)), *numbers, difference])
        text += [f"**{name}**", "", *table(head, rows), ""]
    return "\n".join(text)


def baseline(arm: Arm) -> Arm | None:
    """KEAT-TGN is compared with TGN of the same messages, and the legacy protocol with the strict one."""
    if arm.model == "keat-tgn":
        return Arm("tgn", arm.messages, arm.protocol)
    return Arm(arm.model, arm.messages) if arm.protocol == "legacy" else None


def tested(lines: list[TradeLine], study: str, arm: Arm) -> dict[int, float]:
    """By seed."""
    mine = (line for line in lines if (line.cell.study, line.cell.cell) == (study, arm))
    return {line.cell.seed: line.found.test for line in mine}


def main() -> None:
    parser = study_parser("trade", __doc__)
    parser.add_argument("--data", type=Path, default=Path(), help="folder of the Parquet files")
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    ledger = StudyLedger(given.ledger, TradeCell, TradeFound)
    if not given.report:
        ledger.complete(cells(given.seeds), partial(ask, folder=given.data, scratch=given.scratch))
    print(report(ledger.lines()))


if __name__ == "__main__":
    main()
