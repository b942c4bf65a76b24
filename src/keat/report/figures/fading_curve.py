"""The picture of the fading meter: AUC against the half-life of the means that trees were given."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from keat.analysis.fading_meter import NONE, PLAIN, FadingCurve
from keat.analysis.fading_verdict import Fading
from keat.events import TimeUnit, humanize
from keat.report.figures.picture import BLUE, GREY, ORANGE, VERMILION, pyplot, save_picture, tidy


def draw_fading(path: Path, curve: FadingCurve, found: Fading, unit: TimeUnit) -> None:
    """The curve with one standard error over blocks of time of its distance from the plain mean."""
    figure, axes = pyplot().subplots(figsize=(6.4, 3.8), layout="constrained")
    auc, faded = curve.mean_auc(), curve.auc[PLAIN + 1 :]
    off = (faded - curve.auc[PLAIN]).std(axis=1, ddof=1) / np.sqrt(faded.shape[1])
    axes.fill_between(
        curve.half_lives, auc[PLAIN + 1 :] - off, auc[PLAIN + 1 :] + off, color=BLUE, alpha=0.15, lw=0
    )
    axes.plot(curve.half_lives, auc[PLAIN + 1 :], "o-", color=BLUE, markersize=4, label="faded means")
    axes.axhline(auc[PLAIN], color=ORANGE, linestyle="--", label="plain means")
    axes.axhline(auc[NONE], color=GREY, linestyle=":", label="no features")
    if found.verdict == "fades":
        axes.axvspan(found.low, found.high, color=VERMILION, alpha=0.12, lw=0)
        axes.axvline(found.half_life, color=VERMILION, label=f"half-life {humanize(found.half_life, unit)}")
    axes.set_xscale("log")
    shown = curve.half_lives[::3]
    axes.set_xticks(shown, [humanize(each, unit) for each in shown])
    axes.minorticks_off()
    axes.set(xlabel="half-life", ylabel="AUC")
    tidy(axes, f"What the past tells: {found.verdict}", legend="best")
    save_picture(figure, path)
