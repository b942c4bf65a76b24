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
from keat.experiments.runner import line_of, task_of, trained_run, usual_refresh
from keat.experiments.sources import open_source
from keat.experiments.statistics import spread
from keat.experiments.tables import lines_of
from keat.models.registry import create_link_model
from keat.report.figures import COLOURS, grid, saved
from keat.report.plots import pyplot
from keat.tasks.metrics import ranking_metrics
from keat.training.evaluate import evaluate
from keat.training.runs import evaluate_run

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
            mean = values.mean(axis=0)
            std = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(len(KS))
            place.plot(KS, mean, "--" if arm.is_heuristic else "-o", color=colour, label=arm.label, ms=3)
            place.fill_between(KS, mean - std, mean + std, color=colour, alpha=0.18, linewidth=0)
            rows.append(
                {"dataset": data, "split": split, "model": arm.label, "seeds": len(values)}
                | {f"hits@{k}": str(spread(values[:, at].tolist())) for at, k in enumerate(KS)}
            )
        place.set_xscale("log")
        place.set_xticks(KS, [str(k) for k in KS])
        place.minorticks_off()
        place.set(xlabel="K", ylabel="Hits@K", ylim=(0, 1))
        place.set_title(f"{data}, {split}", loc="left", fontsize=11)
        place.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False, fontsize=8, loc="upper left")
    return {"rows": rows, "by_title": _by_k(rows), **saved(plt, figure, drawing.path)}


def _by_k(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """A table for each panel: a row for each K, a column for each model."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        table = tables.setdefault(f"Hits@K, {row['dataset']}, {row['split']}", [{"K": k} for k in KS])
        for line in table:
            line[row["model"]] = row[f"hits@{line['K']}"]
    return tables


def run_hits(job: Job, key: str, scratch: str) -> dict[str, Any]:
    """Work for the runner: a line with Hits@K of validation and test for every K of the figure. Validation is
    replayed with the weights that were kept, so it is not quite the number that chose them."""
    torch.set_num_threads(1)
    started = time.perf_counter()
    data = open_source(job.source)
    refresh = (job.refresh or (usual_refresh(job),))[0]
    folder = None if job.is_heuristic else trained_run(job, data, Path(scratch))

    def scored(split: str) -> dict[str, float]:
        task = task_of(job, data, split)
        if folder is None:
            found = evaluate(create_link_model(job.model, data.train), task, refresh=refresh)
        else:
            found = evaluate_run(folder, data, task, split, refresh=refresh)
        return ranking_metrics(found.outcomes, KS)

    metrics = {"val": scored("val"), "test": {str(refresh): scored("test")}, "events": len(data.stream)}
    return line_of(job, key, metrics, time.perf_counter() - started)


def _by_seed(lines: dict[int, dict[str, Any]], split: str) -> npt.NDArray[np.float64]:
    """(seeds, K) of an arm."""
    metrics = [
        line["val"] if split == "val" else next(iter(line["test"].values())) for line in lines.values()
    ]
    return np.array([[line[f"hits@{k}"] for k in KS] for line in metrics])
