"""ψ of a trained model: what age does to the evidence it was given."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from keat.events import humanize
from keat.events.units import TimeUnit
from keat.kernels import Kernel
from keat.report.html.line_chart import BLUE, Curve, chart, round_steps
from keat.report.html.report_page import Section
from keat.report.html.text_table import Table

POINTS = 201
SHARES = {"a quarter": 0.25, "half": 0.5, "three quarters": 0.75, "nine tenths": 0.9, "all": 1.0}


def fading_section(
    name: str, kernel: Kernel, ages: npt.NDArray[np.int64], unit: TimeUnit, until: str
) -> Section | None:
    """ψ over age as it was kept, and at ``ages``, those of all messages, which are counted ``until``
    something. None where nothing fades: without a kernel, or with one of infinite width."""
    oldest = float(ages.max(initial=0))
    if oldest == 0 or (psi_of(kernel, np.array([0.0, oldest])) == 1.0).all():
        return None
    sigma, half = float(kernel.sigma), half_age(kernel, oldest)
    reach = oldest if half is None else min(oldest, 5 * max(sigma, half))  # beyond it little happens
    psi = psi_of(kernel, np.linspace(0.0, reach, POINTS))

    def place(age: float) -> float:
        return age / reach * (POINTS - 1)

    drawn = chart(
        f"ψ over age ({unit})",
        [Curve(psi.tolist(), BLUE, mark=None if half is None else place(half))],
        [(place(age), f"{age:,g}") for age in round_steps(reach)],
        min(0.0, float(psi.min())),
        max(1.0, float(psi.max())),
        f"What is left of evidence by age, with the {name} kernel that was kept",
        marks=[(place(sigma), "σ")] if sigma < reach else [],
    )
    fallen = "does not halve at any age that occurs" if half is None else "has halved at the dot"
    return Section(
        "How evidence fades",
        "ψ is the weight that an edge keeps as it ages, here with the kernel of the epoch that was kept. It "
        f"{fallen}. Age is counted until {until}.",
        f"<figure>{drawn}</figure>",
        [_table(name, kernel, half, ages, unit)],
        beside=True,
    )


def psi_of(kernel: Kernel, ages: npt.NDArray[np.floating | np.int64]) -> npt.NDArray[np.float64]:
    """ψ of each age; of a kernel with several heads, the mean."""
    with torch.no_grad():
        psi: npt.NDArray[np.float64] = kernel(torch.from_numpy(ages)).double().mean(-1).cpu().numpy()
    return psi


def half_age(kernel: Kernel, oldest: float) -> float | None:
    """The first age at which ψ is half of ψ(0); None where it is not by ``oldest``."""
    grid = np.append(0.0, np.geomspace(oldest * 1e-6, oldest, 4000))  # short widths want small steps
    psi = psi_of(kernel, grid)
    below = np.flatnonzero(psi <= psi[0] / 2)
    if len(below) == 0 or psi[0] <= 0:
        return None
    right = int(below[0])
    return float(np.interp(-psi[0] / 2, -psi[right - 1 : right + 1], grid[right - 1 : right + 1]))


def _table(
    name: str, kernel: Kernel, half: float | None, ages: npt.NDArray[np.int64], unit: TimeUnit
) -> Table:
    """Ages that parts of the evidence do not exceed. Of parts with the same age the largest is shown."""
    reached = np.quantile(ages, list(SHARES.values()), method="inverted_cdf")
    shown = {int(age): share for share, age in zip(SHARES, reached, strict=True)}
    psi = psi_of(kernel, np.array(list(shown)))
    rows = [
        [share, humanize(age, unit) if age else "0", f"{left:.4f}"]
        for (age, share), left in zip(shown.items(), psi, strict=True)
    ]
    caption = f"{_formula(kernel)}σ is {humanize(float(kernel.sigma), unit)}"
    caption += "." if half is None else f", and ψ has halved at {humanize(half, unit)}."
    columns = ["part of all messages", "at most", "ψ then"]
    return Table(f"ψ at the ages that occur ({name})", columns, rows, caption)


def _formula(kernel: Kernel) -> str:
    """ψ in numbers where it is a sum of exponentials, widths in multiples of σ."""
    sums = kernel.exponentials()
    if sums is None or len(sums.constant) > 1:
        return ""
    constant, sigma = sums.constant[0].item(), float(kernel.sigma)
    terms = [f"{constant:.3g}"] if constant > 0 else []
    for weight, rate in zip(sums.weight[0].tolist(), sums.rate[0].tolist(), strict=True):
        factor = "" if weight == 1 else f"{weight:.3g} "
        width = f"{1 / (rate * sigma):.3g} σ".removeprefix("1 ")
        terms.append(f"{factor}exp(−Δ / {width})")
    return f"ψ(Δ) = {' + '.join(terms)}. "
