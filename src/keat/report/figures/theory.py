"""Figures of the theory: kernels, moments seen and damped, and the variance of logits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

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
from keat.kernels import create_kernel
from keat.report.figures.made import Made
from keat.report.figures.picture import (
    BLUE,
    COLOURS,
    DASHES,
    GREEN,
    ORANGE,
    VERMILION,
    pyplot,
    save_picture,
    tidy,
)

GREY = "0.45"
SEEN = 9  # orders of moments
FEW, ORDERS = list(range(11)), list(range(21))
RATES = (0.5, 1.0, 2.0)


def kernel_shapes(path: Path) -> Made:
    """ψ over age in multiples of σ, for the paper's kernels; its MLP has no shape but what training gives it,
    and is drawn as it starts, of one seed."""
    ages = np.linspace(0, 5, 201)
    figure, axes = pyplot().subplots(figsize=(6, 3.6), layout="constrained")
    scale = 1_000  # ages are whole numbers of a unit
    shapes = {"identity": "none", "laplacian": "Laplacian", "rbf": "RBF", "mlp": "MLP, before training"}
    for (name, label), colour, style in zip(shapes.items(), COLOURS, DASHES, strict=False):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            kernel = create_kernel(name, float(scale), 1.0, 1)
        psi = kernel(torch.from_numpy((ages * scale).astype(np.int64))).detach().flatten().numpy()
        axes.plot(ages, np.broadcast_to(psi, ages.shape), color=colour, linestyle=style, label=label)
    axes.set(xlabel="age Δt / σ", ylabel="ψ(Δt)", ylim=(0, 1.05))
    axes.legend(frameon=False)
    save_picture(figure, path)
    return Made(pictures=[path])


def moment_decay(path: Path) -> Made:
    """R_n = E[ψ tⁿ]/E[tⁿ] for t ~ Exp(1), ψ = e^{-at}: by quadrature, and (1 + a)^-(n+1)."""
    figure, axes = pyplot().subplots(figsize=(6, 3.6), layout="constrained")
    rows = []
    for rate, colour, style, marker in zip(RATES, COLOURS, DASHES, "os^", strict=False):
        found, closed = moment_ratios(laplacian(1 / rate), np.negative, FEW), exponential_ratio(rate, FEW)
        axes.semilogy(FEW, closed, color=colour, linestyle=style, label=f"(1 + {rate:g})^-(n+1)")
        axes.semilogy(FEW, found, marker, color=colour, markersize=4)
        rows += [{"a": rate, "n": n, "R_n": float(found[n]), "closed form": float(closed[n])} for n in FEW]
    axes.set(xlabel="order n", ylabel="R_n")
    axes.legend(frameon=False)
    save_picture(figure, path)
    return Made(rows, pictures=[path])


def draw_moments(path: Path, gaps: Mapping[str, tuple[npt.NDArray[np.int64], float]]) -> None:
    """Which moments an encoding sees, and R_n with its closed form and where it stops.

    ``gaps`` has, by name, observed gaps and the σ of their Laplacian kernel.
    """
    figure, (left, right) = pyplot().subplots(1, 2, figsize=(11, 4.2), layout="constrained")
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
    tidy(left, "What an expected encoding is made of", legend="best")

    for rate, colour in ((0.1, BLUE), (0.5, GREEN), (2.0, ORANGE)):
        found = moment_ratios(laplacian(1 / rate), np.negative, ORDERS)
        right.plot(
            ORDERS, exponential_ratio(rate, ORDERS), color=colour, label=f"Exp(1), (1 + {rate})^-(n+1)"
        )
        right.plot(ORDERS, found, "o", color=colour, markersize=3.5)
    bounded = moment_ratios(laplacian(0.5), np.zeros_like, ORDERS, end=1.0)
    right.plot(
        ORDERS, bounded, color=VERMILION, linestyle="--", label="uniform on [0, 1], a = 2: stops at e⁻²"
    )
    right.axhline(limit_of_ratios(laplacian(0.5), 1.0), color=VERMILION, linewidth=0.7, linestyle=":")
    for (name, (values, sigma)), style in zip(gaps.items(), ("-.", (0, (1, 1)), "--"), strict=False):
        ratios = sample_ratios(laplacian(sigma), values, ORDERS)
        right.plot(ORDERS, ratios, color=GREY, linestyle=style, label=f"gaps of {name}")
    right.set_yscale("log")
    right.set(xlabel="order n", ylabel="R_n = E[ψ tⁿ] / E[tⁿ]", ylim=(1e-8, 1.5))
    tidy(right, "How a kernel damps moments (dots: measured)", legend="best")
    save_picture(figure, path)


def draw_logit_variance(path: Path, measured: Mapping[str, LogitVariance]) -> None:
    """Var[X+Y] - Var[X+ψY] over ψ, the correlated case, and what trained models show."""
    figure, axes = pyplot().subplots(1, 3, figsize=(15.6, 4.2), layout="constrained")
    psi = np.linspace(0, 1, 101)
    for rho, colour in ((0.5, BLUE), (0.0, GREEN), (-0.5, ORANGE), (-1.0, VERMILION)):
        axes[0].plot(psi, variance_reduction(1.0, 1.0, rho, psi), color=colour, label=f"ρ = {rho:g}")
    axes[0].axhline(0, color=GREY, linewidth=0.8)
    axes[0].set(xlabel="ψ, the same for every event", ylabel="Var[X+Y] − Var[X+ψY]")
    tidy(axes[0], "σ_X = σ_Y = 1: below 0 the variance rises", legend="best")

    between = np.linspace(-0.1, 0.9, 51)
    for rho, colour in ((0.3, BLUE), (0.0, GREEN), (-0.6, VERMILION)):
        drawn = [_average_reduction(rho, share) for share in between]
        axes[1].plot(between, drawn, color=colour, label=f"ρ within an event = {rho:g}")
    axes[1].axhline(0, color=GREY, linewidth=0.8)
    axes[1].set(
        xlabel="correlation of edge logits between events", ylabel="reduction of the average's variance"
    )
    tidy(axes[1], "10 events, σ_Y = ⅓ σ_X, ψ from 0.1 to 1", legend="best")

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
    tidy(axes[2], "Measured on trained models", legend="best")
    save_picture(figure, path)


def _average_reduction(rho: float, between: float) -> float:
    """`correlated_reduction` of ten events, σ_X = 1, whose edge logits are correlated alike."""
    n, sigma_y = 10, 1 / 3
    cov_yy = sigma_y**2 * (between + (1 - between) * np.eye(n))
    return correlated_reduction(cov_yy, rho * sigma_y * np.eye(n), np.linspace(0.1, 1.0, n))
