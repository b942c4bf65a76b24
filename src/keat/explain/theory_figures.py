"""Pictures of the theory: moments seen and damped, and the variance of logits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from keat.analysis.logit_variance import LogitVariance, correlated_reduction, variance_reduction
from keat.analysis.moments import (
    cosine_coefficients,
    decaying_cosine_coefficients,
    exponential_ratio,
    laplacian,
    limit_of_ratios,
    moment_ratios,
    sample_ratios,
)
from keat.report.plots import BLUE, GREEN, ORANGE, pyplot, save_picture

VERMILION, GREY = "#D55E00", "0.45"
SEEN = 9  # orders of moments
ORDERS = list(range(21))


def draw_moments(path: Path, gaps: Mapping[str, tuple[npt.NDArray[np.int64], float]] | None = None) -> None:
    """Which moments an encoding sees, and R_n with its closed form and where it stops.

    ``gaps`` has, by name, observed gaps and the σ of their Laplacian kernel.
    """
    plt = pyplot()
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    encodings = {
        "cos ωΔ: even moments only": (cosine_coefficients(0.8, SEEN), BLUE),
        "cos(ωΔ + b): all of them": (cosine_coefficients(0.8, SEEN, phase=0.6), GREEN),
        "ψ·cos ωΔ: all of them": (decaying_cosine_coefficients(0.8, 0.5, SEEN), ORANGE),
        "ψ·cos ωΔ with rate = ω: not 2 and 6": (decaying_cosine_coefficients(0.8, 0.8, SEEN), VERMILION),
    }
    for place, (label, (coefficients, colour)) in enumerate(encodings.items()):
        where = np.arange(SEEN) + 0.2 * place - 0.3
        left.bar(where, np.abs(coefficients), 0.19, color=colour, label=label)
    left.set_yscale("log")
    left.set(xlabel="order k of the moment E[Δᵏ]", ylabel="sensitivity |c_k|", xticks=range(SEEN))
    left.set_title("What an expected encoding is made of", loc="left", fontsize=11)

    for rate, colour in ((0.1, BLUE), (0.5, GREEN), (2.0, ORANGE)):
        found = moment_ratios(laplacian(1 / rate), lambda t: -t, ORDERS)
        right.plot(
            ORDERS, exponential_ratio(rate, ORDERS), color=colour, label=f"Exp(1), (1 + {rate})^-(n+1)"
        )
        right.plot(ORDERS, found, "o", color=colour, markersize=3.5)
    bounded = moment_ratios(laplacian(0.5), np.zeros_like, ORDERS, end=1.0)
    right.plot(
        ORDERS, bounded, color=VERMILION, linestyle="--", label="uniform on [0, 1], a = 2: stops at e⁻²"
    )
    right.axhline(limit_of_ratios(laplacian(0.5), 1.0), color=VERMILION, linewidth=0.7, linestyle=":")
    for (name, (values, sigma)), style in zip((gaps or {}).items(), ("-.", (0, (1, 1)), "--"), strict=False):
        ratios = sample_ratios(laplacian(sigma), values, ORDERS)
        right.plot(ORDERS, ratios, color=GREY, linestyle=style, label=f"gaps of {name}")
    right.set_yscale("log")
    right.set(xlabel="order n", ylabel="R_n = E[ψ tⁿ] / E[tⁿ]", ylim=(1e-8, 1.5))
    right.set_title("How a kernel damps moments (dots: measured)", loc="left", fontsize=11)
    _finish(figure, (left, right), path)


def draw_logit_variance(path: Path, measured: Mapping[str, LogitVariance] | None = None) -> None:
    """Var[X+Y] - Var[X+ψY] over ψ, the correlated case, and what trained models show."""
    plt = pyplot()
    count = 3 if measured else 2
    figure, axes = plt.subplots(1, count, figsize=(5.2 * count, 4.2), layout="constrained")
    psi = np.linspace(0, 1, 101)
    for rho, colour in ((0.5, BLUE), (0.0, GREEN), (-0.5, ORANGE), (-1.0, VERMILION)):
        axes[0].plot(psi, variance_reduction(1.0, 1.0, rho, psi), color=colour, label=f"ρ = {rho:g}")
    axes[0].axhline(0, color=GREY, linewidth=0.8)
    axes[0].set(xlabel="ψ, the same for every event", ylabel="Var[X+Y] − Var[X+ψY]")
    axes[0].set_title("σ_X = σ_Y = 1: below 0 the variance rises", loc="left", fontsize=11)

    between = np.linspace(-0.1, 0.9, 51)
    for rho, colour in ((0.3, BLUE), (0.0, GREEN), (-0.6, VERMILION)):
        drawn = [_average_reduction(rho, share) for share in between]
        axes[1].plot(between, drawn, color=colour, label=f"ρ within an event = {rho:g}")
    axes[1].axhline(0, color=GREY, linewidth=0.8)
    axes[1].set(
        xlabel="correlation of edge logits between events", ylabel="reduction of the average's variance"
    )
    axes[1].set_title("10 events, σ_Y = ⅓ σ_X, ψ from 0.1 to 1", loc="left", fontsize=11)

    if measured:
        names, place = list(measured), np.arange(len(measured))
        groups = (
            ("X + Y", [m.plain_within for m in measured.values()], GREY),
            ("X + ψY", [m.modulated_within for m in measured.values()], ORANGE),
        )
        for shift, (label, values, colour) in zip((-0.2, 0.2), groups, strict=True):
            bars = axes[2].bar(place + shift, values, 0.38, color=colour, label=label)
            axes[2].bar_label(bars, fmt="%.3g", fontsize=8, padding=2)
        axes[2].set_xticks(place, names)
        axes[2].set(ylabel="variance of logits within a neighbourhood")
        axes[2].set_title("Measured on trained models", loc="left", fontsize=11)
    _finish(figure, axes, path)


def _average_reduction(rho: float, between: float, sigma_x: float = 1.0, sigma_y: float = 1 / 3) -> float:
    """`correlated_reduction` of ten events whose edge logits are correlated alike."""
    n = 10
    cov_yy = sigma_y**2 * (between + (1 - between) * np.eye(n))
    return correlated_reduction(cov_yy, rho * sigma_x * sigma_y * np.eye(n), np.linspace(0.1, 1.0, n))


def _finish(figure: Any, axes: Any, path: Path) -> None:
    for place in axes:
        place.legend(frameon=False, fontsize=8)
        place.spines[["top", "right"]].set_visible(False)
    save_picture(figure, path)
