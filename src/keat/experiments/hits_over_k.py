"""Hits@K over K. The ledger of a table has three of them; the others need the ranks of the runs, so they are
asked for once and kept in the ledger as lines of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt

from keat.experiments.job import Job
from keat.experiments.line import Line, Score
from keat.experiments.recipe_table import lines_of
from keat.experiments.reproduction import Reproduction
from keat.experiments.statistics import spread
from keat.experiments.work import Found, measure, refresh_of, task_of, trained_run, untrained_model
from keat.report.figures.made import Made, PlainRow
from keat.report.figures.run_results import HitsCurve, draw_hits
from keat.runs.epochs import best_epoch
from keat.runs.run_evaluation import evaluate_run
from keat.runs.run_model import Data
from keat.tasks.metrics import ranking_metrics
from keat.training.evaluate import evaluate

KS = (1, 2, 3, 5, 10, 20, 50, 100)
SUFFIX = "-hits"  # of the names of such lines


def hits_figure(found: Reproduction, path: Path) -> Made:
    """Hits@K over K, for the validation and the test split of every dataset."""
    lines = found.ask(run_hits, SUFFIX)
    curves: dict[str, list[HitsCurve]] = {}
    rows: list[dict[str, object]] = []
    for data, split in product(found.datasets, ("val", "test")):
        of_data = [(job, line) for job, line in lines if job.data == data]
        for arm in found.recipe.arms:
            values = _by_seed(lines_of(arm, of_data), split)
            known = np.flatnonzero(~np.isnan(values).any(axis=0))
            curve = HitsCurve(arm.label, np.array(KS)[known], values[:, known], arm.is_heuristic)
            curves.setdefault(f"{data}, {split}", []).append(curve)
            rows.append(
                {"dataset": data, "split": split, "model": arm.label, "seeds": len(values)}
                | {f"hits@{k}": str(spread(curve.values[:, at].tolist())) for at, k in enumerate(curve.ks)}
            )
    draw_hits(curves, KS, path)
    return Made(rows, by_title=_by_k(rows), pictures=[path])


def _by_k(rows: Sequence[PlainRow]) -> Mapping[str, Sequence[PlainRow]]:
    """A table for each panel: a row for each K, a column for each model."""
    tables: dict[str, list[dict[str, object]]] = {}
    for row in rows:
        table = tables.setdefault(f"Hits@K, {row['dataset']}, {row['split']}", [{"K": k} for k in KS])
        for line in table:
            line[str(row["model"])] = row.get(f"hits@{line['K']}", "")
    return tables


def run_hits(job: Job, key: str, scratch: str) -> Line:
    """Work for the runner: a line with Hits@K of validation and test for every K of the figure. Of a trained
    run the validation split has the three that training kept: played again, its state would be made by other
    weights than those it had on the way, and that is another state."""

    def find(data: Data) -> Found:
        refresh = (job.refresh or (refresh_of(job, data),))[0]
        test = task_of(job, data, "test")
        if job.is_heuristic:
            val, tested = (
                ranking_metrics(
                    evaluate(untrained_model(job, data, task), task, refresh=refresh).outcomes, KS
                )
                for task in (task_of(job, data, "val"), test)
            )
        else:
            folder = trained_run(job, data, Path(scratch))
            val = best_epoch(folder).val
            tested = ranking_metrics(evaluate_run(folder, data, test, "test", refresh=refresh).outcomes, KS)
        fresh = refresh if job.is_heuristic else refresh_of(job, data)
        return Found(len(data.stream), val, {str(refresh): Score(tested)}, val_refresh=fresh)

    return measure(job, key, find)


def _by_seed(lines: Mapping[int, Line], split: str) -> npt.NDArray[np.float64]:
    """(seeds, K) of an arm; NaN where a run has no such K."""
    metrics = [line.val if split == "val" else line.tested() for line in lines.values()]
    return np.array([[each.get(f"hits@{k}", np.nan) for k in KS] for each in metrics])
