"""Hits@K over K. The ledger of a table has three of them; the others need the ranks of the runs, so they are
asked for once and kept in the ledger as lines of their own."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from keat.experiments.drawing import Drawing
from keat.experiments.job import Job
from keat.experiments.runner import line_of, refresh_of, task_of, trained_run
from keat.experiments.sources import open_source
from keat.experiments.statistics import spread
from keat.experiments.tables import lines_of
from keat.models.registry import create_link_model
from keat.report.figures import COLOURS, grid, saved
from keat.report.plots import pyplot
from keat.tasks.metrics import ranking_metrics
from keat.training.evaluate import evaluate
from keat.training.runs import best_epoch, evaluate_run

KS = (1, 2, 3, 5, 10, 20, 50, 100)
SUFFIX = "-hits"  # of the names of such lines


def draw_hits(drawing: Drawing) -> dict[str, Any]:
    """Validation and test, mean over seeds; the band is one standard deviation."""
    found = drawing.ask(run_hits, SUFFIX)
    plt = pyplot()
    figure, axes = grid(plt, 2 * len(drawing.datasets), columns=2)
    panels = [(data, split) for data in drawing.datasets for split in ("val", "test")]
    rows = []
    for place, (data, split) in zip(axes, panels, strict=True):
        of_data = [(job, line) for job, line in found if job.data == data]
        for arm, colour in zip(drawing.recipe.arms, COLOURS, strict=False):
            values = _by_seed(lines_of(drawing.recipe, arm, of_data), split)
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
    return {"rows": rows, "by_title": _by_k(rows), **saved(figure, drawing.path)}


def _by_k(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """A table for each panel: a row for each K, a column for each model."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        table = tables.setdefault(f"Hits@K, {row['dataset']}, {row['split']}", [{"K": k} for k in KS])
        for line in table:
            line[row["model"]] = row.get(f"hits@{line['K']}", "")
    return tables


def run_hits(job: Job, key: str, scratch: str) -> dict[str, Any]:
    """Work for the runner: a line with Hits@K of validation and test for every K of the figure. Of a trained
    run the validation split has the three that training kept: played again, its state would be made by other
    weights than those it had on the way, and that is another state."""
    torch.set_num_threads(1)
    started = time.perf_counter()
    data = open_source(job.source)
    refresh = (job.refresh or (refresh_of(job, data),))[0]
    test = task_of(job, data, "test")
    if job.is_heuristic:

        def hits(task: Any) -> dict[str, float]:
            found = evaluate(create_link_model(job.model, data.train), task, refresh=refresh)
            return ranking_metrics(found.outcomes, KS)

        val, tested = hits(task_of(job, data, "val")), hits(test)
    else:
        folder = trained_run(job, data, Path(scratch))
        val = best_epoch(folder)["val"]
        tested = ranking_metrics(evaluate_run(folder, data, test, "test", refresh=refresh).outcomes, KS)
    metrics = {"val": val, "test": {str(refresh): tested}, "events": len(data.stream)}
    return line_of(job, key, metrics, time.perf_counter() - started)


def _by_seed(lines: dict[int, dict[str, Any]], split: str) -> npt.NDArray[np.float64]:
    """(seeds, K) of an arm; NaN where a run has no such K."""
    metrics = [
        line["val"] if split == "val" else next(iter(line["test"].values())) for line in lines.values()
    ]
    return np.array([[line.get(f"hits@{k}", np.nan) for k in KS] for line in metrics])
