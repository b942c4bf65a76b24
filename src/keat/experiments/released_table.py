"""What of a gain remains: runs of a table scored soundly, and as the authors' `test.py` does too."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from keat.datasets.loading import Dataset
from keat.experiments.as_released import evaluate_as_released
from keat.experiments.drawing import Drawing
from keat.experiments.job import Job
from keat.experiments.line import Line, Score
from keat.experiments.recipe import Arm
from keat.experiments.tables import Row, table_of
from keat.experiments.work import Found, line_of, refresh_of, task_of, trained_run
from keat.report.figures import COLOURS, grid
from keat.report.made import Made, PlainRow
from keat.report.plots import pyplot, save_picture
from keat.tasks.link import LinkTask

SUFFIX = "-released"  # of the names of such lines


def draw_released(drawing: Drawing) -> Made:
    """A row for each arm and way to evaluate; the picture has the difference of every seed."""
    scored = {"sound": drawing.results, "as released": drawing.ask(run_released, SUFFIX)}
    plt = pyplot()
    figure, axes = grid(plt, len(drawing.datasets))
    rows: list[PlainRow] = []
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
    save_picture(figure, drawing.path)
    return Made(rows, pictures=[drawing.path])


def _draw_gains(place: Any, arms: Sequence[Arm], tables: Mapping[str, Sequence[Row]]) -> None:
    """A line for each arm that is compared and way to evaluate, a dot a seed."""
    values = {(row["label"], way): row["values"] for way, rows in tables.items() for row in rows}
    compared = [(arm.label, arm.against, way) for arm in arms if arm.against is not None for way in tables]
    colours = dict(zip(tables, COLOURS, strict=False))
    beside = place.get_yaxis_transform()  # across the panel, whatever the differences are
    for at, (label, against, way) in enumerate(compared):
        ours, theirs = values[label, way], values[against, way]
        gains = [ours[seed] - theirs[seed] for seed in ours.keys() & theirs.keys()]
        place.plot(gains, [-at] * len(gains), "o", color=colours[way])
        place.text(0, -at + 0.18, f"{label}, {way}", transform=beside, fontsize=8)
    place.axvline(0, color="0.4", linewidth=0.8)
    place.set_ylim(0.4 - len(compared), 0.6)
    place.set_yticks([])
    place.spines[["top", "right", "left"]].set_visible(False)


def run_released(job: Job, key: str, scratch: str) -> Line:
    """Work for the runner: validation, then test, from the state the released script starts from."""
    torch.set_num_threads(1)
    started = time.perf_counter()
    data = job.open()
    assert isinstance(data, Dataset)
    folder = trained_run(job, data, Path(scratch))
    val, test = task_of(job, data, "val"), task_of(job, data, "test")
    assert isinstance(val, LinkTask)
    assert isinstance(test, LinkTask)
    metrics = evaluate_as_released(folder, data, val, test)
    tested = {str(refresh_of(job, data)): Score(metrics["test as released"])}
    found = Found(len(data.stream), metrics["val as released"], tested)
    return line_of(job, key, found, time.perf_counter() - started)
