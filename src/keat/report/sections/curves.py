"""How training went, from the reports of its epochs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from keat.report.html.bar_chart import SERIES
from keat.report.html.line_chart import Curve, chart, figures, legend, round_steps
from keat.report.html.report_page import Section
from keat.training.fit import EpochReport

MANY = 60  # epochs, of which points would make a thick line
DASHES = ("", "6 3", "2 3", "8 3 2 3")


def curves_section(runs: Mapping[str, Sequence[EpochReport]], metric: str) -> Section | None:
    """Loss and validation metric over epochs, a line for each run; None where no run has kept two epochs."""
    histories = {name: epochs for name, epochs in runs.items() if len(epochs) > 1}
    if not histories:
        return None
    looks = dict(zip(histories, ((SERIES[k % 6], DASHES[k // 6 % 4]) for k in range(99)), strict=False))
    kept = {name: _best(epochs) for name, epochs in histories.items()}
    losses = {name: [epoch.loss for epoch in epochs] for name, epochs in histories.items()}
    panels = [_panel("training loss", losses, looks, kept)]
    validated = {  # epochs that were not are NaN
        name: [epoch.val.get(metric, math.nan) for epoch in epochs]
        for name, epochs in histories.items()
        if sum(bool(epoch.val) for epoch in epochs) > 1
    }
    if validated:
        panels.append(_panel(f"validation {metric}", validated, looks, kept))
    key = legend([Curve([], colour, name, dash) for name, (colour, dash) in looks.items()])
    best = [f"{name}: epoch {kept[name]} of {len(epochs)}" for name, epochs in histories.items()]
    longest = max(len(epochs) for epochs in histories.values())
    points = "Each point is an epoch." if longest <= MANY else "The point is the epoch that was kept."
    higher = any(
        epoch.val.get(metric, -math.inf) > epochs[kept[name] - 1].val[metric]
        for name, epochs in histories.items()
        for epoch in epochs
    )
    gains = " A later epoch is kept only if it gains more than the tolerance of the run." if higher else ""
    return Section(
        "How training went",
        f"{points} What is kept is the best by validation {metric}: {'; '.join(best)}.{gains}",
        key + figures(panels),
    )


def _panel(
    title: str,
    values: Mapping[str, list[float]],
    looks: Mapping[str, tuple[str, str]],
    kept: Mapping[str, int],
) -> str:
    longest = max(len(y) for y in values.values())
    many = longest > MANY
    curves = [
        Curve(y, looks[name][0], dash=looks[name][1], dots=not many, mark=kept[name] - 1 if many else None)
        for name, y in values.items()
    ]
    every = [value for y in values.values() for value in y if not math.isnan(value)]
    room = 0.04 * (max(every) - min(every)) or 0.01
    every_few = range(1, longest + 1, -(-longest // 8))
    named = [max(1, round(epoch)) for epoch in round_steps(longest)] if many else every_few
    ticks = [(epoch - 1, str(epoch)) for epoch in named]
    return chart(title, curves, ticks, min(every) - room, max(every) + room, f"{title} over epochs")


def _best(epochs: Sequence[EpochReport]) -> int:
    return [epoch.epoch for epoch in epochs if epoch.best][-1]
