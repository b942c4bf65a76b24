"""`keat analyze`: the theory put to the test, on paper and on trained runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from keat.cli.console import draw_picture, err, print_json, print_line, print_table
from keat.cli.fading_command import fading_command
from keat.cli.options import Json, open_dataset, picture_place, reads_events
from keat.events import Reading

if TYPE_CHECKING:
    from keat.explain.run_measures import RunMeasures

app = typer.Typer(no_args_is_help=True, help="Put the theory to the test: fading, moments, variance, blur.")
Picture = Annotated[
    Path | None, typer.Option("--out", callback=picture_place, help="Draw it into this PNG file.")
]
app.command("fading")(fading_command)
Cells = Mapping[str, Callable[["RunMeasures"], str]]
ORDERS = list(range(11))
SEEN = 6  # orders of moments
RATES = (0.1, 0.5, 1.0, 2.0)

ATTENTION: Cells = {
    "kernel": lambda m: m.kernel,
    "meter": lambda m: f"{100 * m.blur.meter:.1f}",
    "ψ=1": lambda m: f"{100 * m.blur_without_kernel.meter:.1f}",
    "moved": lambda m: f"{100 * m.blur.response:.1f}",
    "jitter": lambda m: f"{100 * m.blur.jitter:.1f}",
    "ψ only": lambda m: f"{100 * m.blur.kernel_response:.1f}",
    "edge": lambda m: f"{100 * m.blur.edge_share:.0f}",
    "faith": lambda m: f"{m.faithfulness:.2f}",
}
ATTENTION_CAPTION = (
    "meter = moved when ages are exchanged, less jitter (all 1 % older): 0 is blurred.\n"
    "ψ=1: the meter of the same weights without their kernel. edge: its share of the\n"
    "logits' variance. faith: above 1, attention points at what mattered."
)
VARIANCE: Cells = {
    "X+Y": lambda m: f"{m.variance.plain:.3g}",
    "X+ψY": lambda m: f"{m.variance.modulated:.3g}",
    "closed form": lambda m: f"{m.variance.moments.modulated():.3g}",
    "one ψ": lambda m: f"{m.variance.moments.modulated_by_a_constant():.3g}",
    "ratio": lambda m: f"{m.variance.ratio:.3f}",
    "ratio within": lambda m: f"{m.variance.ratio_within:.3f}",
}
VARIANCE_CAPTION = (
    "closed form: ψ independent of X and Y. one ψ: each its mean, as in the theorem.\n"
    "within: within a neighbourhood, which is all that a softmax sees."
)


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
    from keat.analysis import moments
    from keat.analysis.gaps import gaps_of
    from keat.report.figures.theory import draw_moments

    measured = {
        rate: moments.moment_ratios(moments.laplacian(1 / rate), np.negative, ORDERS) for rate in RATES
    }
    closed = {rate: moments.exponential_ratio(rate, ORDERS) for rate in RATES}
    seen = {
        "cos ωΔ": moments.cosine_coefficients(0.8, SEEN),
        "cos(ωΔ+b)": moments.cosine_coefficients(0.8, SEEN, phase=0.6),
        "ψ·cos ωΔ": moments.decaying_cosine_coefficients(0.8, 0.5, SEEN),
    }
    gaps = {}
    if dataset is not None:
        data = open_dataset(dataset, reading)
        gaps[data.name] = (gaps_of(data.train), data.sigma())
    samples = {
        name: moments.sample_ratios(moments.laplacian(sigma), values, ORDERS)
        for name, (values, sigma) in gaps.items()
    }
    drawn = _drawn(picture, lambda path: draw_moments(path, gaps))
    if json:
        ratios = [
            {"rate": rate, "measured": measured[rate].tolist(), "closed_form": closed[rate].tolist()}
            for rate in RATES
        ]
        coefficients, datasets = ({name: v.tolist() for name, v in part.items()} for part in (seen, samples))
        print_json({"ratios": ratios, "coefficients": coefficients, "datasets": datasets, "picture": drawn})
        return
    worst = max(float(np.abs(measured[rate] / closed[rate] - 1).max()) for rate in RATES)
    print_table(
        "R_n = E[ψ tⁿ] / E[tⁿ], t ~ Exp(1), ψ = e^-at",
        ["n", *(f"a = {rate:g}" for rate in RATES), *(f"gaps of {name}" for name in samples)],
        [[str(n), *(f"{of[n]:.3e}" for of in (*measured.values(), *samples.values()))] for n in ORDERS],
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
    from keat.report.figures.theory import draw_logit_variance
    from keat.runs.run_subject import subject_of

    data = open_dataset(dataset, reading)
    runs = list({run.absolute(): run for run in runs}.values())  # each once
    found = {}
    for run, name in zip(runs, shortest_names(runs), strict=True):
        print_line(f"Looking at {run} …", err)
        found[name] = measure_run(subject_of(run), data)
    variances = {name: measured.variance for name, measured in found.items()}
    drawn = _drawn(picture, lambda path: draw_logit_variance(path, variances))
    if json:
        measured = zip(runs, found.values(), strict=True)
        each = [{"run": str(run), **of_run.to_json()} for run, of_run in measured]
        print_json({"dataset": data.name, "runs": each, "picture": drawn})
        return
    for title, cells, caption, text_columns in (
        ("Attention and time, in % of attention", ATTENTION, ATTENTION_CAPTION, 2),
        ("Variance of logits", VARIANCE, VARIANCE_CAPTION, 1),
    ):
        rows = [[name, *(cell(of_run) for cell in cells.values())] for name, of_run in found.items()]
        print_table(title, ["run", *cells], rows, caption, text_columns)


def shortest_names(runs: Sequence[Path]) -> list[str]:
    """As much of the end of each path as tells different runs apart: a/run, where there is b/run too."""
    whole = [run.absolute().parts for run in runs]
    for parts in range(1, max(map(len, whole)) + 1):
        names = [str(Path(*path[-parts:])) for path in whole]
        if len(set(names)) == len(runs):
            break
    return names


def _drawn(picture: Path | None, draw: Callable[[Path], object]) -> str | None:
    """Where the picture is that was asked for."""
    drawn = None if picture is None else draw_picture(picture, draw)
    if drawn is None:
        return None
    print_line(f"The picture: {drawn}", err)
    return str(drawn)
