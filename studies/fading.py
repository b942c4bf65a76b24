"""When does a kernel help? Evidence with a known half-life, and who finds it: docs/results/fading.md.

    python -m studies.fading                  run what the ledger lacks, and print the tables
    python -m studies.fading --report         print the tables
    python -m studies.fading --report --picture docs/images/fading.png

One layer of attention over a card's last payments, or its last, by their age when the question is asked. A
line of the ledger for every (world, model, number of payments, kernel, seed); a seed has a world of its own.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

from keat.bandwidth import estimate_sigma
from keat.datasets.loading import Dataset
from keat.kernels import LearnableLaplacian
from keat.runs.run_evaluation import evaluate_run
from keat.runs.run_file import read_run_file
from keat.runs.run_model import open_model, train_run
from keat.runs.spec import RunSpec, configuration
from keat.tasks.task_spec import TaskSpec
from keat.training.fit import FitConfig
from studies.fading_figure import draw
from studies.fading_lines import FadingCell, FadingFound, FadingLine
from studies.fading_world import DAY, World, without_a_graph
from studies.study import StudyLedger, gain, spread, study_parser, table

FADES = "fades in a day"
WORLDS = {FADES: World(DAY), "lasts": World(math.inf), "means nothing": World(0.0)}
OTHER_HALF_LIVES = {"fades in 6 hours": World(DAY / 4), "fades in 4 days": World(4 * DAY)}
DRIFT = {  # of the gaps: hints fade in a day in all of them
    "gaps become longer": World(DAY, gap=DAY / 8, later_gap=DAY),
    "gaps become shorter": World(DAY, gap=DAY, later_gap=DAY / 8),
}
EVERY_WORLD = WORLDS | OTHER_HALF_LIVES | DRIFT
PLAIN = "identity"
KERNELS = (PLAIN, "laplacian", "learnable", "planted")
ARMS = (("tgat", 1), ("tgat", 5), ("tgn", 5))  # models, and past payments attended to
FIT: dict[str, Any] = {"epochs": 6, "patience": 6, "lr": 3e-3, "batch_size": 100}
SIZES: dict[str, dict[str, Any]] = {
    "tgat": {"layers": 1, "time_dim": 16, "out_dim": 32, "dropout": 0.0},
    "tgn": {"dim": 32, "delta": "query", "time_encoder": "cosine-geometric", "dropout": 0.0},
}


def cells(seeds: int) -> Iterator[FadingCell]:
    """A whole table of one seed comes before the next."""
    for seed in range(1, seeds + 1):
        of = partial(FadingCell, seed=seed)
        for (model, neighbors), world, kernel in product(ARMS, WORLDS, KERNELS):
            if kernel != "planted" or world == FADES:
                yield of(world=world, model=model, neighbors=neighbors, kernel=kernel)
        for world, kernel in product(OTHER_HALF_LIVES, (PLAIN, "learnable")):
            yield of(world=world, model="tgat", neighbors=1, kernel=kernel)
        for world, neighbors, kernel in product(DRIFT, (1, 5), KERNELS):
            yield of(world=world, model="tgat", neighbors=neighbors, kernel=kernel)


@cache
def data_of(world: str, seed: int) -> Dataset:
    return EVERY_WORLD[world].simulate(seed)


def ask(cell: FadingCell, scratch: Path) -> FadingFound:
    data, half_life = data_of(cell.world, cell.seed), EVERY_WORLD[cell.world].half_life
    started = time.process_time()
    sigma = estimate_sigma(data.train.src, data.train.dst, data.train.t)
    kernel: dict[str, Any] = {"kernel": cell.kernel}
    if cell.kernel == "planted":
        kernel = {"kernel": "laplacian", "width": half_life / math.log(2) / sigma}
    config = configuration(cell.model, neighbors=cell.neighbors, **kernel, **SIZES[cell.model])
    spec = RunSpec(cell.model, config, FitConfig(**FIT, seed=cell.seed), TaskSpec(kind="edge-attribute"))
    folder = scratch / "-".join((cell.world, cell.model, str(cell.neighbors), cell.kernel, str(cell.seed)))
    trained = train_run(spec, data, folder, resume=folder.exists())
    tested = evaluate_run(folder, data, spec.task.make(data, "test"), "test", refresh=1)
    return FadingFound(
        half_life=half_life if math.isfinite(half_life) else None,
        val=max(report.val["auc"] for report in trained.reports if report.val),
        test=tested.metrics,
        knows_half_life=without_a_graph(data, half_life),
        half_lives=learned_half_lives(folder),
        sigma=sigma,
        cpu_seconds=round(time.process_time() - started, 1),
    )


def learned_half_lives(folder: Path) -> list[float] | None:
    """Of each head, in seconds, where the kernel has learned them."""
    model = open_model(folder, read_run_file(folder))
    kernels = [module for module in model.modules() if isinstance(module, LearnableLaplacian)]
    rates = [rate for kernel in kernels for rate in kernel.exponentials().rate.flatten().tolist()]
    return [math.log(2) / rate for rate in rates] or None


def report(lines: list[FadingLine]) -> str:
    text: list[str] = []
    for model, neighbors in ARMS:
        text += [f"**{told(model, neighbors)}**", ""]
        text += [*_gains(lines, model, neighbors, WORLDS), ""]
    known: dict[str, list[float]] = {}
    for line in lines:
        if (line.cell.model, line.cell.neighbors, line.cell.kernel) == ("tgat", 1, PLAIN):
            known.setdefault(line.cell.world, []).append(line.found.knows_half_life)
    text += [
        "**One who knows the rule**: logistic regression on the last three baskets, faded as planted",
        "",
    ]
    text += [*table(["world", "test AUC"], [[world, spread(aucs)] for world, aucs in known.items()]), ""]
    text += [
        "**The half-life that is learned** from the last payment alone, in days, a number for each head",
        "",
    ]
    text += [
        *_half_lives(lines),
        "",
        "**Gaps that drift** between training and test; hints fade in a day",
        "",
    ]
    for neighbors in (1, 5):
        text += [
            f"*{told('tgat', neighbors)}*",
            "",
            *_gains(lines, "tgat", neighbors, {FADES: 0, **DRIFT}),
            "",
        ]
    return "\n".join(text)


def told(model: str, neighbors: int) -> str:
    return f"{model.upper()}, {'the last five payments' if neighbors == 5 else 'the last payment alone'}"


def _gains(lines: list[FadingLine], model: str, neighbors: int, worlds: dict[str, Any]) -> list[str]:
    """Mean ± std of test AUC, and the difference from the plain model, paired by seed."""
    rows = []
    for kernel in KERNELS:
        row = [kernel]
        for world in worlds:
            ours, plain = (_aucs(lines, world, model, neighbors, one) for one in (kernel, PLAIN))
            difference = gain(ours, plain) if kernel != PLAIN else ""
            row.append(", ".join(filter(None, (spread(list(ours.values())), difference))) if ours else "")
        rows.append(row)
    return table(["kernel", *worlds], rows)


def _aucs(lines: list[FadingLine], world: str, model: str, neighbors: int, kernel: str) -> dict[int, float]:
    wanted = (world, model, neighbors, kernel)
    found = ((line.cell, line.found.test["auc"]) for line in lines)
    return {
        cell.seed: auc
        for cell, auc in found
        if (cell.world, cell.model, cell.neighbors, cell.kernel) == wanted
    }


def _half_lives(lines: list[FadingLine]) -> list[str]:
    """Seeds apart, beside the gain of learning."""
    rows = []
    for world in sorted(WORLDS | OTHER_HALF_LIVES, key=lambda name: EVERY_WORLD[name].half_life):
        found = [
            sorted(half_life / DAY for half_life in line.found.half_lives)
            for line in lines
            if (line.cell.world, line.cell.model, line.cell.neighbors) == (world, "tgat", 1)
            and line.found.half_lives
        ]
        seeds = "; ".join(", ".join(f"{days:.2f}" for days in heads) for heads in found)
        ours, plain = (_aucs(lines, world, "tgat", 1, kernel) for kernel in ("learnable", PLAIN))
        rows.append([world, seeds, gain(ours, plain)])
    return table(["evidence", "learned half-lives, by seed", "test AUC, learnable less plain"], rows)


def main() -> None:
    parser = study_parser("fading", __doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--picture", type=Path, help="a PNG to draw")
    given = parser.parse_args()
    ledger = StudyLedger(given.ledger, FadingCell, FadingFound)
    if not given.report:
        ledger.complete(cells(given.seeds), partial(ask, scratch=given.scratch))
    print(report(ledger.lines()))
    if given.picture is not None:
        draw(ledger.lines(), given.picture)


if __name__ == "__main__":
    main()
