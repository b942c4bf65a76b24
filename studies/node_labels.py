"""Labels of events: bans, frauds and stolen cards: docs/results/node_labels.md.

    python -m studies.node_labels --data FOLDER --fraud CSV    run what the ledger lacks, and print the tables
    python -m studies.node_labels --only payments              one part of it
    python -m studies.node_labels --report                     print the tables

FOLDER has wikipedia.parquet and bitcoin_otc.parquet; CSV has a user and a label in each row, negative for a
fraud. Payments are simulated. A line of the ledger for every (study, cell, seed).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np
from pyarrow.csv import ReadOptions, read_csv

import keat
from keat.datasets.loading import Dataset
from keat.events.fingerprint import DataFacts
from keat.models.registry import create_label_model
from keat.runs.epochs import best_epoch, read_history
from keat.runs.run_evaluation import evaluate_run
from keat.runs.run_file import is_run
from keat.runs.run_model import train_run
from keat.runs.spec import RunSpec, configuration
from keat.tasks.derived_labels import label_events_by_node
from keat.tasks.kinds import End
from keat.tasks.node_label import NodeLabel
from keat.tasks.task_spec import TaskSpec
from keat.training.evaluate import evaluate
from keat.training.fit import FitConfig
from studies.study import Cell, Found, Result, StudyLedger, config_hash, gain, spread, study_parser, table


class Arm(msgspec.Struct, frozen=True):
    model: str
    how: str = "-"  # end-to-end, or on an encoder trained on links
    reads: str = "-"  # embeddings, or these and counts


class LabelCell(Cell, frozen=True, kw_only=True):
    study: str
    cell: Arm
    seed: int


class LabelFound(Found, frozen=True, kw_only=True):
    """AUC and AP with their intervals; of what was trained also how."""

    test: dict[str, float]
    interval: dict[str, tuple[float, float]]  # 95 %, by the bootstrap over nodes
    asked: int
    positive: int
    val: dict[str, float] | None = None
    epoch: int | None = None  # that was kept
    epochs: int | None = None
    cpu_seconds: float | None = None
    data: DataFacts | None = None
    sigma: float | None = None
    config_hash: str | None = None
    threads: int | None = None  # of older lines, which do not say it with the machine


LabelLine: TypeAlias = Result[LabelCell, LabelFound]

COUNTS = Arm("counts")
MODELS = ("tgn", "keat-tgn")
TRAINED = (("end-to-end", "embeddings"), ("end-to-end", "both"), ("links", "both"))
ARMS = [COUNTS, *(Arm(model, how, reads) for how, reads in TRAINED for model in MODELS)]
EPOCHS = {"wikipedia": 3, "bitcoin": 6, "bitcoin-new": 6, "payments": 6}
LINK_EPOCHS = 1
LR = 1e-3


def cells(studies: list[str], seeds: int) -> Iterator[LabelCell]:
    """Nothing is random in counts, so one seed of them is enough."""
    for study, seed, arm in product(studies, range(1, seeds + 1), ARMS):
        if seed == 1 or arm != COUNTS:
            yield LabelCell(study=study, cell=arm, seed=seed)


def end_of(study: str) -> End:
    """Whose labels they are."""
    return "dst" if study.startswith("bitcoin") else "src"


@cache
def data_of(study: str, folder: Path, fraud: Path) -> Dataset:
    if study == "payments":
        return keat.load("payments:60000")
    if study == "wikipedia":
        return keat.load(folder / "wikipedia.parquet", label="label")
    data = keat.load(folder / "bitcoin_otc.parquet", features=["rating"], unit="s")
    data = Dataset(replace(data.stream, features=data.stream.features / np.float32(10)))
    columns = read_csv(fraud, ReadOptions(column_names=["user", "label"])).to_pydict()
    user, label = (np.array(columns[name]) for name in ("user", "label"))
    known = np.isin(user, [data.stream.ids.label(n) for n in range(data.stream.num_nodes)])
    node = data.stream.ids.index(user[known].tolist())
    data = label_events_by_node(data, node[label[known] < 0], node[label[known] > 0], "dst")
    return _hold_out(data) if study == "bitcoin-new" else data


def _hold_out(data: Dataset) -> Dataset:
    """Half of the users, drawn at random, are taught about and never asked; the others the reverse."""
    stream = data.stream
    assert stream.labels is not None
    taught = (np.random.default_rng(0).random(stream.num_nodes) < 0.5)[stream.dst]
    in_training = np.arange(len(stream)) < data.val.offset
    return Dataset(replace(stream, labels=np.where(taught == in_training, stream.labels, -1)))


@dataclass(frozen=True)
class Asking:
    """Where the data and the trained runs are."""

    folder: Path
    fraud: Path
    scratch: Path

    def __call__(self, cell: LabelCell) -> LabelFound:
        data = data_of(cell.study, self.folder, self.fraud)
        task = TaskSpec(kind="node-label", labelled=end_of(cell.study))
        test = task.make(data, "test")
        assert isinstance(test, NodeLabel)
        started, how = time.process_time(), dict[str, Any]()
        if cell.cell == COUNTS:
            result = evaluate(create_label_model("counts", data.train), test)
        else:
            spec = self._spec(cell, data, task)
            name = f"{cell.study}-{cell.cell.model}-{cell.cell.how}-{cell.cell.reads}-{cell.seed}"
            folder = self.scratch / name
            facts = train_run(spec, data, folder, resume=is_run(folder)).file.facts
            result, best = evaluate_run(folder, data, test, "test"), best_epoch(folder)
            how = {
                "val": best.val,
                "epoch": best.epoch,
                "epochs": len(read_history(folder)),
                "cpu_seconds": round(time.process_time() - started, 1),
                "data": facts.data,
                "sigma": facts.sigma,
                "config_hash": config_hash(asdict(spec.config), asdict(spec.fitting)),
            }
        return LabelFound(
            test=result.metrics,
            interval=test.intervals(result.outcomes),
            asked=len(test),
            positive=int(test.truth.sum()),
            **how,
        )

    def _spec(self, cell: LabelCell, data: Dataset, task: TaskSpec) -> RunSpec:
        """End to end, or on an encoder that is trained on links first."""
        arm, epochs = cell.cell, EPOCHS[cell.study]
        config = configuration(arm.model)
        fitting = FitConfig(epochs=epochs, patience=epochs, lr=LR, seed=cell.seed)
        encoder = None
        if arm.how == "links":
            encoder = self.scratch / f"links-{cell.study.removesuffix('-new')}-{arm.model}-{cell.seed}"
            briefly = replace(fitting, epochs=LINK_EPOCHS, validate_every=LINK_EPOCHS)
            links = RunSpec(arm.model, config, briefly, TaskSpec(kind="link-classification"))
            train_run(links, data, encoder, resume=is_run(encoder))
        return RunSpec(
            arm.model,
            config,
            fitting,
            task,
            encoder=None if encoder is None else str(encoder),
            counts=arm.reads == "both",
        )


def report(lines: list[LabelLine]) -> str:
    """A table for each study: mean ± std over seeds, the bootstrap interval of the first seed, and the
    difference of KEAT-TGN from TGN trained the same way, paired by seed."""
    head = ["model", "trained", "reads", "seeds", "AUC", "95 %, seed 1", "AP", "95 %, seed 1", "AUC - TGN"]
    text = []
    for study in dict.fromkeys(line.cell.study for line in lines):
        mine = [line for line in lines if line.cell.study == study]
        rows = [_row(mine, arm) for arm in ARMS if _by_seed(mine, arm)]
        first = mine[0].found
        text += [
            f"**{study}**: {first.positive:,} of {first.asked:,} labelled events of the test split are "
            f"positive ({first.positive / first.asked:.2%}; a guess has that AP).",
            "",
            *table(head, rows),
            "",
        ]
    return "\n".join(text)


def _row(lines: list[LabelLine], arm: Arm) -> list[str]:
    found = _by_seed(lines, arm)
    cells = [arm.model, arm.how, arm.reads, str(len(found))]
    for metric in ("auc", "ap"):
        low, high = found[min(found)].interval[metric]
        cells += [spread([each.test[metric] for each in found.values()]), f"{low:.3f} to {high:.3f}"]
    plain = _by_seed(lines, Arm("tgn", arm.how, arm.reads)) if arm.model == "keat-tgn" else {}
    ours, theirs = ({seed: each.test["auc"] for seed, each in by_seed.items()} for by_seed in (found, plain))
    return [*cells, gain(ours, theirs)]


def _by_seed(lines: list[LabelLine], arm: Arm) -> dict[int, LabelFound]:
    return {line.cell.seed: line.found for line in lines if line.cell.cell == arm}


def main() -> None:
    parser = study_parser("node_labels", __doc__)
    parser.add_argument("--only", choices=list(EPOCHS), help="one part of the study")
    parser.add_argument("--data", type=Path, default=Path(), help="folder of the Parquet files")
    parser.add_argument("--fraud", type=Path, default=Path("bitcoin_fraud.csv"), help="labels of users")
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    ledger = StudyLedger(given.ledger, LabelCell, LabelFound)
    if not given.report:
        studies = list(EPOCHS) if given.only is None else [given.only]
        ledger.complete(cells(studies, given.seeds), Asking(given.data, given.fraud, given.scratch))
    print(report(ledger.lines()))


if __name__ == "__main__":
    main()
