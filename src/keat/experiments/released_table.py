"""What of a gain remains: runs of a table scored soundly, and as the authors' `test.py` does too."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from keat.experiments.as_released import evaluate_as_released
from keat.experiments.drawing import Drawing
from keat.experiments.job import Job
from keat.experiments.recipe import Arm
from keat.experiments.runner import line_of, refresh_of, task_of, trained_run
from keat.experiments.sources import open_source
from keat.experiments.tables import table_of
from keat.report.figures import COLOURS, grid, saved
from keat.report.plots import pyplot
from keat.tasks.link import LinkTask

SUFFIX = "-released"  # of the names of such lines


def draw_released(drawing: Drawing) -> dict[str, Any]:
    """A row for each arm and way to evaluate; the picture has the difference of every seed."""
    scored = {"sound": drawing.results, "as released": drawing.ask(run_released, SUFFIX)}
    plt = pyplot()
    figure, axes = grid(plt, len(drawing.datasets))
    rows = []
    for place, data in zip(axes, drawing.datasets, strict=True):
        tables = {way: table_of(drawing.recipe, data, lines)["rows"] for way, lines in scored.items()}
        rows += [
            {
                "dataset": data,
                "model": row["label"],
                "evaluation": way,
                "seeds": row["seeds"],
                f"test {drawing.recipe.metric}": row["test"],
                "difference, paired": row["difference"] or "",
            }
            for each in zip(*tables.values(), strict=True)
            for way, row in zip(tables, each, strict=True)
        ]
        _draw_gains(place, drawing.recipe.arms, tables)
        place.set_xlabel(f"difference in test {drawing.recipe.metric}, a dot a seed")
        place.set_title(data, loc="left", fontsize=11)
    return {"rows": rows, **saved(figure, drawing.path)}


def _draw_gains(place: Any, arms: Sequence[Arm], tables: Mapping[str, Sequence[dict[str, Any]]]) -> None:
    """A line for each arm that is compared and way to evaluate, a dot a seed."""
    values = {(row["label"], way): row["values"] for way, rows in tables.items() for row in rows}
    compared = [(arm, way) for arm in arms if arm.against is not None for way in tables]
    colours = dict(zip(tables, COLOURS, strict=False))
    beside = place.get_yaxis_transform()  # across the panel, whatever the differences are
    for at, (arm, way) in enumerate(compared):
        ours, theirs = values[arm.label, way], values[arm.against, way]
        gains = [ours[seed] - theirs[seed] for seed in ours.keys() & theirs.keys()]
        place.plot(gains, [-at] * len(gains), "o", color=colours[way])
        place.text(0, -at + 0.18, f"{arm.label}, {way}", transform=beside, fontsize=8)
    place.axvline(0, color="0.4", linewidth=0.8)
    place.set_ylim(0.4 - len(compared), 0.6)
    place.set_yticks([])
    place.spines[["top", "right", "left"]].set_visible(False)


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
    metrics = {
        "val": found["val as released"],
        "test": {str(refresh_of(job, data)): found["test as released"]},
    }
    return line_of(job, key, metrics | {"events": len(data.stream)}, time.perf_counter() - started)
