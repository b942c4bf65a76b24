"""`keat analyze fading`: how fast the past of a dataset goes stale, and which kernel that asks for."""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keat.cli.console import draw_picture, err, print_json, print_line, print_table, progress_bar
from keat.cli.options import (
    DatasetArgument,
    Json,
    as_typed,
    names_target,
    open_dataset,
    picture_place,
    reads_events,
)
from keat.datasets.loading import Dataset
from keat.events import Reading, humanize
from keat.events.units import SECONDS_PER
from keat.tasks.label_source import LabelSource

if TYPE_CHECKING:
    from keat.analysis.fading_meter import FadingCurve
    from keat.analysis.fading_verdict import Fading

WIDE = 8.0  # a range of half-lives so many times as long as its shortest: let training find the width
CAPTION = (
    "AUC of boosted trees on later time than they learned from; the test split is not looked at.\n"
    "none: how much past there is and how long ago, not what it says. plain, faded: its means."
)


@reads_events(without=("label",))
@names_target
def fading_command(
    dataset: DatasetArgument,
    picture: Annotated[
        Path | None, typer.Option("--out", callback=picture_place, help="Draw it into this PNG file.")
    ] = None,
    json: Json = False,
    *,
    labels: LabelSource,
    reading: Reading,
) -> None:
    """How fast what the past tells goes stale: of an attribute of the coming event (--target), else of links;
    and the kernel and width that ask for it."""
    from keat.analysis.fading_meter import measure_fading
    from keat.analysis.fading_questions import attribute_questions, link_questions
    from keat.analysis.fading_verdict import judge

    data = labels.label(open_dataset(dataset, labels.reading(reading)), "src")
    known = data.before("test")
    questions = link_questions(known) if labels.target is None else attribute_questions(known)
    with progress_bar("measuring fading", unit="half-lives") as progress:
        curve = measure_fading(questions, progress=progress)
    found = judge(curve)
    drawn = None
    if picture is not None:
        from keat.report.figures.fading_curve import draw_fading

        drawn = draw_picture(picture, lambda path: draw_fading(path, curve, found, data.stream.unit))
    advice = _advice(data, dataset, found, labels, reading)
    what = f"{data.name}: {labels.target or 'links'} ({questions.about})"
    if json:
        facts = _facts(data, curve, found) | {"asked": questions.about, "command": advice}
        print_json(facts | {"target": labels.target, "picture": None if drawn is None else str(drawn)})
        return
    _print(what, data, curve, found, advice)
    if drawn is not None:
        print_line(f"The picture: {drawn}", err)


def in_words(found: Fading, unit: Any) -> str:
    """The verdict in a sentence."""
    past, fading = found.of_the_past, found.of_fading
    gained = f"{fading.mean:+.4f} AUC [{fading.low:+.4f}, {fading.high:+.4f}]"
    if found.verdict == "nothing there":
        return (
            "Nothing there: what the past says gains "
            f"{past.mean:+.4f} AUC [{past.low:+.4f}, {past.high:+.4f}] over how much of it there is."
        )
    if found.verdict == "lasts":
        return f"It lasts, as far as can be told: faded means gain {gained} over plain ones."
    half_life, low, high = (humanize(each, unit) for each in (found.half_life, found.low, found.high))
    edge = ", the end of what was tried" if found.at_an_end else ""
    told = f"half-life {half_life}{edge} ({low} to {high} in 95 % of resampled blocks of time)"
    return f"It fades: {told}; it gains {gained}."


def _advice(data: Dataset, source: str, found: Fading, labels: LabelSource, reading: Reading) -> str:
    """The command to type."""
    fades = found.verdict == "fades"
    words = ["keat", "train", "keat-tgn" if fades else "tgn", shlex.quote(source), *as_typed(reading, labels)]
    if fades:
        kernel = "learnable" if found.high > WIDE * found.low else "laplacian"
        width = f"{found.width / data.sigma():.3g}"
        words += ["--kernel", kernel, "--width", width, "--delta", "query"]
    return " ".join([*words, "--out", "run"])


def _facts(data: Dataset, curve: FadingCurve, found: Fading) -> dict[str, Any]:
    auc, unit = curve.mean_auc().tolist(), data.stream.unit
    return {
        "name": data.name,
        "unit": unit,
        **dataclasses.asdict(found),
        "width": found.width,
        "width_seconds": found.width * SECONDS_PER[unit],
        "width_in_sigma": found.width / data.sigma(),
        "questions": curve.questions,
        "share": curve.share,
        "auc": {"none": auc[0], "plain": auc[1], "faded": auc[2:]},
        "half_lives": curve.half_lives.tolist(),
    }


def _print(what: str, data: Dataset, curve: FadingCurve, found: Fading, advice: str) -> None:
    unit, auc = data.stream.unit, curve.mean_auc()
    names = ["none", "plain", *(f"faded, {humanize(each, unit)}" for each in curve.half_lives)]
    loss = curve.loss.mean(axis=1)
    rows = [[name, f"{a:.4f}", f"{b:.4f}"] for name, a, b in zip(names, auc, loss, strict=True)]
    print_table(what, ["past", "AUC", "log-loss"], rows, CAPTION)
    print_line(in_words(found, unit))
    if found.verdict == "fades":
        seconds = found.width * SECONDS_PER[unit]
        print_line(
            f"A Laplacian kernel of width {humanize(found.width, unit)} ({seconds:,.0f} s, "
            f"{found.width / data.sigma():.3g} σ) halves as fast; whether it helps, training tells:"
        )
    else:
        print_line("No kernel is called for; begin with the plain model, beside the heuristics:")
    print_line(f"  {advice}")
