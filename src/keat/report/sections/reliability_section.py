"""How far the numbers of a run can be trusted: what was said beside what happened."""

from __future__ import annotations

from keat.calibration.calibration_error import Reliability
from keat.calibration.collectors import Judgement
from keat.calibration.temperature import Temperature
from keat.report.html.line_chart import BLUE, GREY, Curve, Dot, chart, figures, legend
from keat.report.html.report_page import Section
from keat.report.html.text_table import Table


def reliability_section(judged: Judgement | None) -> Section | None:
    """A picture for each kind of forecast on the test split, before and after calibration; the numbers."""
    if judged is None:
        return None
    key = legend([Curve([], GREY, "the model's own"), Curve([], BLUE, "calibrated on validation")])
    pictures = map(_picture, judged.before, judged.after)
    return Section(
        "Can the numbers be trusted?",
        f"What was said beside how often it came true, on the test split: on the diagonal is right, below it "
        f"too sure. Bars are 95 %, over stretches of time. {_about(judged)}",
        key + figures(pictures),
        [_errors(judged), _bins(judged.after[0])],
    )


def _about(judged: Judgement) -> str:
    made = judged.calibration
    if not isinstance(made, Temperature):
        return "The probability of a label or a pair is read from its score by a curve fitted on validation."
    among = f"{made.candidates:,} {'sampled candidates' if made.sampled else 'candidates'}"
    return (
        f"A share is among the {among} of a question. The best candidate: its share, and whether it was the "
        "true one. All candidates: the share of each."
    )


def _picture(before: Reliability, after: Reliability) -> str:
    dots = [Dot(b.forecast, b.observed, GREY) for b in before.bins]
    dots += [Dot(b.forecast, b.observed, BLUE, (b.low, b.high)) for b in after.bins]
    return chart(
        f"{after.of}: ECE {after.ece:.3f}",
        [Curve([0.0, 1.0], GREY, dash="3 3")],
        [(0.0, "0"), (0.5, "0.5"), (1.0, "1")],
        0.0,
        1.0,
        f"How often forecasts came true, by their height: {after.of}",
        dots=dots,
    )


def _errors(judged: Judgement) -> Table:
    rows = [
        [
            after.of,
            f"{before.ece:.4f}",
            f"{after.ece:.4f}",
            f"{after.interval[0]:.4f} to {after.interval[1]:.4f}",
        ]
        for before, after in zip(judged.before, judged.after, strict=True)
    ]
    caption = (
        "Expected calibration error: how far what was said is from what happened, in bins of equal mass, a "
        "question. That of a sample is a little too large, which the interval allows for."
    )
    return Table("Expected calibration error", ["of", "before", "calibrated", "95 %"], rows, caption)


def _bins(found: Reliability) -> Table:
    rows = [
        [f"{b.forecast:.3f}", f"{b.observed:.3f}", f"{b.low:.3f} to {b.high:.3f}", f"{b.count:,}"]
        for b in found.bins
    ]
    return Table(f"Said and seen: {found.of}", ["said", "came true", "95 %", "times"], rows)
