"""How training went, from the lines that runs keep."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keat.report.charts import SERIES
from keat.report.page import Section
from keat.report.svg import Line, chart, legend

MANY = 60  # epochs, of which points would make a thick line
DASHES = ("", "6 3", "2 3", "8 3 2 3")


def epochs_of(folder: Path) -> list[dict[str, Any]]:
    """The lines of a run, one an epoch; none where there is no run."""
    path = folder / "metrics.jsonl"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def curves_section(runs: Mapping[str, Path], metric: str) -> Section | None:
    """Loss and validation metric over epochs, a line for each run; None where no run has kept two epochs."""
    histories = {name: epochs_of(folder) for name, folder in runs.items()}
    histories = {name: epochs for name, epochs in histories.items() if len(epochs) > 1}
    if not histories:
        return None
    looks = dict(zip(histories, ((SERIES[k % 6], DASHES[k // 6 % 4]) for k in range(99)), strict=False))
    panels = [_panel("training loss", {n: [e["loss"] for e in h] for n, h in histories.items()}, looks)]
    validated = {
        name: [epoch["val"][metric] for epoch in epochs]
        for name, epochs in histories.items()
        if all(epoch["val"] for epoch in epochs)
    }
    if validated:
        panels.append(_panel(f"validation {metric}", validated, looks))
    key = legend([Line([], colour, name, dash) for name, (colour, dash) in looks.items()])
    figures = "".join(f"<figure>{panel}</figure>" for panel in panels)
    best = [f"{name}: epoch {_best(epochs)} of {len(epochs)}" for name, epochs in histories.items()]
    return Section(
        "How training went",
        f"Over epochs. The epoch with the best validation {metric} is kept: {'; '.join(best)}.",
        f'{key}<div class="panels wide">{figures}</div>',
    )


def _panel(title: str, values: Mapping[str, list[float]], looks: Mapping[str, tuple[str, str]]) -> str:
    longest = max(len(y) for y in values.values())
    dots = longest <= MANY
    lines = [Line(y, looks[name][0], dash=looks[name][1], dots=dots) for name, y in values.items()]
    every = [value for y in values.values() for value in y]
    room = 0.04 * (max(every) - min(every)) or 0.01
    ticks = [(k, str(k + 1)) for k in range(0, longest, max(1, -(-longest // 8)))]
    return chart(title, lines, ticks, min(every) - room, max(every) + room, f"{title} over epochs")


def _best(epochs: list[dict[str, Any]]) -> int:
    return int([epoch["epoch"] for epoch in epochs if epoch["best"]][-1])
