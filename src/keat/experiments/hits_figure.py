"""Hits@K over K. The ledger of a table has three of them; the others need the ranks of the runs, so they are
asked for once and kept in the ledger as lines of their own."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from keat.experiments.drawing import Drawing
from keat.experiments.job import Job
from keat.experiments.line import Line, Metrics, Score
from keat.experiments.statistics import spread
from keat.experiments.tables import lines_of
from keat.experiments.work import Found, line_of, refresh_of, task_of, trained_run, untrained_model
from keat.report.figures import COLOURS, grid
from keat.report.made import Made, PlainRow
from keat.report.plots import pyplot, save_picture
from keat.runs.epochs import best_epoch
from keat.runs.run_evaluation import SomeTask, evaluate_run
from keat.tasks.metrics import ranking_metrics
from keat.training.evaluate import evaluate

KS = (1, 2, 3, 5, 10, 20, 50, 100)
SUFFIX = "-hits"  # of the names of such lines


def draw_hits(drawing: Drawing) -> Made:
    """Validation and test, mean over seeds; the band is one standard deviation."""
    found = drawing.ask(run_hits, SUFFIX)
    plt = pyplot()
    figure, axes = grid(plt, 2 * len(drawing.datasets), columns=2)
    panels = [(data, split) for data in drawing.datasets for split in ("val", "test")]
    rows: list[dict[str, object]] = []
    for place, (data, split) in zip(axes, panels, strict=True):
        of_data = [(job, line) for job, line in found if job.data == data]
        for arm, colour in zip(drawing.recipe.arms, COLOURS, strict=False):
            values = _by_seed(lines_of(arm, of_data), split)
            known = np.flatnonzero(~np.isnan(values).any(axis=0))
            ks, values = np.array(KS)[known], values[:, known]
            mean = values.mean(axis=0)
            std = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(len(ks))
            place.plot(ks, mean, "--" if arm.is_heuristic else "-o", color=colour, label=arm.label, ms=3)
            place.fill_between(ks, mean - std, mean + std, color=colour, alpha=0.18, linewidth=0)
            rows.append(
                {"dataset": data, "split": split, "model": arm.label, "seeds": len(values)}
                | {f"hits@{k}": str(spread(values[:, at].tolist())) for at, k in enumerate(ks)}
            )
        place.set_xscale("log")
        place.set_xticks(KS, [str(k) for k in KS])
        place.minorticks_off()
        place.set(xlabel="K", ylabel="Hits@K", ylim=(0, 1))
        place.set_title(f"{data}, {split}", loc="left", fontsize=11)
        place.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False, fontsize=8, loc="lower right")
    save_picture(figure, drawing.path)
    return Made(rows, by_title=_by_k(rows), pictures=[drawing.path])


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
    torch.set_num_threads(1)
    started = time.perf_counter()
    data = job.open()
    refresh = (job.refresh or (refresh_of(job, data),))[0]
    test = task_of(job, data, "test")
    if job.is_heuristic:

        def hits(task: SomeTask) -> Metrics:
            found = evaluate(untrained_model(job, data, task), task, refresh=refresh)
            return ranking_metrics(found.outcomes, KS)

        val, tested = hits(task_of(job, data, "val")), hits(test)
    else:
        folder = trained_run(job, data, Path(scratch))
        val = best_epoch(folder).val
        tested = ranking_metrics(evaluate_run(folder, data, test, "test", refresh=refresh).outcomes, KS)
    found = Found(len(data.stream), val, {str(refresh): Score(tested)})
    return line_of(job, key, found, time.perf_counter() - started)


def _by_seed(lines: Mapping[int, Line], split: str) -> npt.NDArray[np.float64]:
    """(seeds, K) of an arm; NaN where a run has no such K."""
    metrics = [line.val if split == "val" else line.tested() for line in lines.values()]
    return np.array([[each.get(f"hits@{k}", np.nan) for k in KS] for each in metrics])
