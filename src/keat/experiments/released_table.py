"""What of a gain remains: runs of a table scored soundly, and as the authors' `test.py` does too."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import torch

from keat.experiments.as_released import evaluate_as_released
from keat.experiments.drawing import Drawing
from keat.experiments.job import Job
from keat.experiments.recipe import Arm
from keat.experiments.runner import line_of, task_of, trained_run, usual_refresh
from keat.experiments.sources import open_source
from keat.experiments.statistics import paired_difference, spread
from keat.experiments.tables import Lines, lines_of
from keat.report.figures import COLOURS, grid, saved
from keat.report.plots import pyplot
from keat.tasks.link import LinkTask

SUFFIX = "-released"  # of the names of such lines
WAYS = ("sound", "as released")


def draw_released(drawing: Drawing) -> dict[str, Any]:
    """A row for each arm and way to evaluate; the picture has the difference of every seed."""
    scored = {"sound": drawing.results, "as released": drawing.ask(run_released, SUFFIX)}
    plt = pyplot()
    figure, axes = grid(plt, len(drawing.datasets))
    rows = []
    for place, data in zip(axes, drawing.datasets, strict=True):
        at = 0
        for arm in drawing.recipe.arms:
            for way, colour in zip(WAYS, COLOURS, strict=False):
                values = _by_seed(drawing, arm, data, scored[way])
                row = {"dataset": data, "model": arm.label, "evaluation": way, "seeds": len(values)}
                row[f"test {drawing.recipe.metric}"] = str(spread(list(values.values())))
                row["difference, paired"] = ""
                if arm.against is not None:
                    other = next(one for one in drawing.recipe.arms if one.label == arm.against)
                    theirs = _by_seed(drawing, other, data, scored[way])
                    row["difference, paired"] = f"{paired_difference(values, theirs)} vs {arm.against}"
                    gains = [values[seed] - theirs[seed] for seed in values.keys() & theirs.keys()]
                    place.plot(gains, [-at] * len(gains), "o", color=colour, label=way if at < 2 else None)
                    place.text(
                        0,
                        -at + 0.18,
                        f"{arm.label}, {way}",
                        transform=place.get_yaxis_transform(),
                        fontsize=8,
                    )
                    at += 1
                rows.append(row)
        place.axvline(0, color="0.4", linewidth=0.8)
        place.set(xlabel=f"difference in test {drawing.recipe.metric}, a dot a seed", ylim=(0.4 - at, 0.6))
        place.set_yticks([])
        place.set_title(data, loc="left", fontsize=11)
        place.spines[["top", "right", "left"]].set_visible(False)
    return {"rows": rows, **saved(plt, figure, drawing.path)}


def run_released(job: Job, key: str, scratch: str) -> dict[str, Any]:
    """Work for the runner: validation, then test, from the state the released script starts from."""
    torch.set_num_threads(1)
    started = time.perf_counter()
    data = open_source(job.source)
    folder = trained_run(job, data, Path(scratch))
    val, test = task_of(job, data, "val"), task_of(job, data, "test")
    assert isinstance(val, LinkTask)
    assert isinstance(test, LinkTask)
    found = evaluate_as_released(folder, data, val, test)
    metrics = {"val": found["val as released"], "test": {str(usual_refresh(job)): found["test as released"]}}
    return line_of(job, key, metrics | {"events": len(data.stream)}, time.perf_counter() - started)


def _by_seed(drawing: Drawing, arm: Arm, data: str, results: Lines) -> dict[int, float]:
    mine = lines_of(drawing.recipe, arm, [(job, line) for job, line in results if job.data == data])
    return {
        seed: float(next(iter(line["test"].values()))[drawing.recipe.metric]) for seed, line in mine.items()
    }
