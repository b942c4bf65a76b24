"""`keat analyze`: the theory put to the test, on paper and on trained runs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from keat.cli.console import err, print_json, print_line, print_table
from keat.cli.options import Json, open_dataset, picture_place, reads_events
from keat.errors import MissingExtraError, Notice
from keat.events import Reading

if TYPE_CHECKING:
    from keat.explain.run_measures import Measured

app = typer.Typer(no_args_is_help=True, help="Put the theory to the test: moments, variance, blur.")
Picture = Annotated[
    Path | None, typer.Option("--out", callback=picture_place, help="Draw it into this PNG file.")
]
ORDERS = list(range(11))
SEEN = 6  # orders of moments
RATES = (0.1, 0.5, 1.0, 2.0)


@app.command("moments")
@reads_events(without=("label",))
def moments_command(
    dataset: Annotated[
        str | None,
        typer.Argument(metavar="[DATASET]", help="Also the gaps of this dataset's training split."),
    ] = None,
    picture: Picture = None,
    json: Json = False,
    *,
    reading: Reading,
) -> None:
    """Which moments of p(Δt) an encoding sees, and R_n, what a kernel leaves of the n-th: E(ψtⁿ) / E(tⁿ)."""
    from keat.analysis.gaps import gaps_of
    from keat.analysis.moments import (
        cosine_coefficients,
        decaying_cosine_coefficients,
        exponential_ratio,
        laplacian,
        moment_ratios,
        sample_ratios,
    )

    found = {
        rate: {
            "measured": moment_ratios(laplacian(1 / rate), np.negative, ORDERS),
            "closed_form": exponential_ratio(rate, ORDERS),
        }
        for rate in RATES
    }
    seen = {
        "cos ωΔ": cosine_coefficients(0.8, SEEN),
        "cos(ωΔ+b)": cosine_coefficients(0.8, SEEN, phase=0.6),
        "ψ·cos ωΔ": decaying_cosine_coefficients(0.8, 0.5, SEEN),
    }
    gaps = {}
    if dataset is not None:
        data = open_dataset(dataset, reading)
        gaps[data.name] = (gaps_of(data.train), data.sigma())
    samples = {
        name: sample_ratios(laplacian(sigma), values, ORDERS) for name, (values, sigma) in gaps.items()
    }
    _draw(picture, lambda path: _draw_moments(path, gaps))
    if json:
        print_json(
            {
                "ratios": [
                    {"rate": rate, **{k: v.tolist() for k, v in both.items()}} for rate, both in found.items()
                ],
                "coefficients": {name: values.tolist() for name, values in seen.items()},
                "datasets": {name: values.tolist() for name, values in samples.items()},
                "picture": picture and str(picture),
            }
        )
        return
    rows = [
        [
            str(n),
            *(f"{both['measured'][n]:.3e}" for both in found.values()),
            *(f"{s[n]:.3e}" for s in samples.values()),
        ]
        for n in ORDERS
    ]
    worst = max(float(np.abs(b["measured"] / b["closed_form"] - 1).max()) for b in found.values())
    print_table(
        "R_n = E[ψ tⁿ] / E[tⁿ], t ~ Exp(1), ψ = e^-at",
        ["n", *(f"a = {rate:g}" for rate in RATES), *(f"gaps of {name}" for name in samples)],
        rows,
        f"closed form (1 + a)^-(n+1), met to {worst:.0e}; gaps with the kernel of their own σ",
    )
    table = [[name, *(f"{value:.2g}" for value in values)] for name, values in seen.items()]
    print_table("Sensitivity to the k-th moment", ["encoding", *map(str, range(SEEN))], table)


@app.command("attention")
@reads_events(without=("label",))
def attention_command(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs of TGN.")],
    dataset: Annotated[str, typer.Option("--data", help="What they were trained on.")],
    picture: Picture = None,
    json: Json = False,
    *,
    reading: Reading,
) -> None:
    """Of trained runs: the blur meter with and without the kernel, variance of logits, faithfulness."""
    from keat.explain.run_measures import measure_run
    from keat.runs.run_subject import subject_of

    data = open_dataset(dataset, reading)
    runs = list({run.absolute(): run for run in runs}.values())  # each once
    found = {}
    for run, name in zip(runs, shortest_names(runs), strict=True):
        print_line(f"Looking at {run} …", err)
        found[name] = measure_run(subject_of(run), data)
    _draw(picture, lambda path: _draw_variance(path, found))
    if json:
        told = [
            {"run": str(run), **measured.to_json()}
            for run, measured in zip(runs, found.values(), strict=True)
        ]
        print_json({"dataset": data.name, "runs": told, "picture": picture and str(picture)})
        return
    rows = [
        [
            name,
            m.kernel,
            *(f"{100 * value:.1f}" for value in (m.blur.meter, m.blur_without_kernel.meter)),
            *(f"{100 * v:.1f}" for v in (m.blur.response, m.blur.jitter, m.blur.kernel_response)),
            f"{100 * m.blur.edge_share:.0f}",
            f"{m.faithfulness:.2f}",
        ]
        for name, m in found.items()
    ]
    print_table(
        "Attention and time, in % of attention",
        ["run", "kernel", "meter", "ψ=1", "moved", "jitter", "ψ only", "edge", "faith"],
        rows,
        "meter = moved when ages are exchanged, less jitter (all 1 % older): 0 is blurred.\n"
        "ψ=1: the meter of the same weights without their kernel. edge: its share of the\n"
        "logits' variance. faith: above 1, attention points at what mattered.",
        text_columns=2,
    )
    rows = [
        [
            name,
            *(f"{v:.3g}" for v in (m.variance.plain, m.variance.modulated, m.variance.moments.modulated())),
            f"{m.variance.moments.modulated_by_a_constant():.3g}",
            *(f"{v:.3f}" for v in (m.variance.ratio, m.variance.ratio_within)),
        ]
        for name, m in found.items()
    ]
    print_table(
        "Variance of logits",
        ["run", "X+Y", "X+ψY", "closed form", "one ψ", "ratio", "ratio within"],
        rows,
        "closed form: ψ independent of X and Y. one ψ: each its mean, as in the theorem.\n"
        "within: within a neighbourhood, which is all that a softmax sees.",
    )


def shortest_names(runs: Sequence[Path]) -> list[str]:
    """As much of the end of each path as tells different runs apart: a/run, where there is b/run too."""
    whole = [run.absolute().parts for run in runs]
    for parts in range(1, max(map(len, whole)) + 1):
        names = [str(Path(*path[-parts:])) for path in whole]
        if len(set(names)) == len(runs):
            break
    return names


def _draw(picture: Path | None, draw: Callable[[Path], None]) -> None:
    if picture is None:
        return
    try:
        draw(picture)
        print_line(f"The picture: {picture}", err)
    except MissingExtraError as error:
        warnings.warn(str(error), Notice, stacklevel=1)


def _draw_moments(path: Path, gaps: dict[str, tuple[np.ndarray, float]]) -> None:
    from keat.report.figures.theory import draw_moments

    draw_moments(path, gaps)


def _draw_variance(path: Path, found: dict[str, Measured]) -> None:
    from keat.report.figures.theory import draw_logit_variance

    draw_logit_variance(path, {name: measured.variance for name, measured in found.items()})
