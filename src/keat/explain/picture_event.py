"""A labelled event in a picture: what each part of what was read is worth."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill

from keat.explain.event import EventExplanation
from keat.explain.event_wording import known, model_line, title
from keat.explain.picture_pair import effect_bars
from keat.explain.wording import ago
from keat.report.plots import pyplot, save_picture

SHOWN = 12  # bars a panel
LABEL = 40  # letters in a line beside a bar


def write_event_picture(x: EventExplanation, path: Path) -> None:
    """Effects of the parts, and of the past events where an attention tells."""
    parts, past = x.parts[:SHOWN], x.past[:SHOWN]
    panels = [
        (
            "effect: how much lower the score would be otherwise",
            [fill(f"{title(x, part)}: {known(x, part)}", LABEL) for part in parts],
            [part.effect for part in parts],
        ),
        (
            "past events: effect of each",
            [f"{event.end} with {event.other}, {ago(event.since, x.unit)}" for event in past],
            [event.effect for event in past],
        ),
    ]
    drawn = [panel for panel in panels if panel[1]]
    tall = 2.2 + 0.3 * max((len(names) for _, names, _ in drawn), default=0)
    figure = pyplot().figure(figsize=(4 + 5 * max(1, len(drawn)), tall), layout="constrained")
    figure.suptitle(f"{fill(x.why, 60 + 60 * len(drawn))}\n{model_line(x)}", fontsize=10)
    if drawn:
        for axes, panel in zip(figure.subplots(1, len(drawn), squeeze=False)[0], drawn, strict=True):
            effect_bars(axes, *panel)
    save_picture(figure, path, dpi=130)
