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

import numpy as np

from keat.bandwidth import estimate_sigma
from keat.datasets.loading import Dataset
from keat.kernels import LearnableLaplacian
from keat.runs.run_evaluation import evaluate_run
from keat.runs.run_file import read_run_file
from keat.runs.run_model import open_model, train_run
from keat.runs.spec import RunSpec, configuration
from keat.tasks.task_spec import TaskSpec
from keat.training.fit import FitConfig
from studies.fading_figure import NAMES, draw
from studies.fading_lines import FadingCell, FadingFound, FadingLine
from studies.fading_world import DAY, simulate, without_a_graph
from studies.study import StudyLedger, gain, spread, study_parser, table

FADES = "fades in a day"
WORLDS = {FADES: DAY, "lasts": math.inf, "means nothing": 0.0}
OTHER_HALF_LIVES = {"fades in 6 hours": DAY / 4, "fades in 4 days": 4 * DAY}  # for the learned width
HALF_LIVES = WORLDS | OTHER_HALF_LIVES
PLAIN, LEARNED = "identity", "learnable"
KERNELS = (PLAIN, "laplacian", LEARNED, "planted")
TGAT, OTHER_MODELS = "tgat", ("tgn", "dygformer")
FIT: dict[str, Any] = {"epochs": 4, "patience": 4, "lr": 3e-3, "batch_size": 100}
SIZES: dict[str, dict[str, Any]] = {
    TGAT: {"layers": 1, "time_dim": 16, "out_dim": 32, "dropout": 0.0},
    "tgn": {"dim": 32, "delta": "query", "time_encoder": "cosine-geometric", "dropout": 0.0},
    "dygformer": {"layers": 1, "channel": 8, "time_dim": 16, "out_dim": 32, "dropout": 0.0},
}


def cells(seeds: int) -> Iterator[FadingCell]:
    """A whole table of one seed comes before the next. With one payment there is nothing to choose from: a
    kernel can only say how much it still counts."""
    numbered = range(1, seeds + 1)
    for seed in numbered:
        of = partial(FadingCell, model=TGAT, seed=seed)
        for world, kernel in product(WORLDS, KERNELS):
            if kernel != "planted" or world == FADES:
                yield of(world=world, neighbors=5, kernel=kernel)
        for kernel in KERNELS[:3]:
            yield of(world=FADES, neighbors=1, kernel=kernel)
        for world in OTHER_HALF_LIVES:
            yield of(world=world, neighbors=1, kernel=LEARNED)
    for seed, model, kernel in product(numbered, OTHER_MODELS, KERNELS[:3]):
        yield FadingCell(world=FADES, model=model, neighbors=5, kernel=kernel, seed=seed)


@cache
def data_of(world: str, seed: int) -> Dataset:
    return simulate(HALF_LIVES[world], seed)


def ask(cell: FadingCell, scratch: Path) -> FadingFound:
    data, half_life = data_of(cell.world, cell.seed), HALF_LIVES[cell.world]
    started = time.process_time()
    sigma = estimate_sigma(data.train.src, data.train.dst, data.train.t)
    kernel: dict[str, Any] = {"kernel": cell.kernel}
    if cell.kernel == "planted":
        kernel = {"kernel": "laplacian", "width": half_life / math.log(2) / sigma}
    past = {"length": cell.neighbors + 1} if cell.model == "dygformer" else {"neighbors": cell.neighbors}
    config = configuration(cell.model, **past, **kernel, **SIZES[cell.model])
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
    columns = {world: (TGAT, 5, world) for world in WORLDS}
    text += ["**TGAT, the last five payments**", "", *_gains(lines, columns), ""]
    columns = {"TGAT, the last payment alone": (TGAT, 1, FADES)}
    columns |= {f"{NAMES[model]}, the last five": (model, 5, FADES) for model in OTHER_MODELS}
    text += [f"**Evidence that {FADES}**, other models", "", *_gains(lines, columns), ""]
    text += [
        "**The half-life that is learned** from the last payment alone, by TGAT; a number for each head",
        "",
    ]
    return "\n".join([*text, *_half_lives(lines)])


def _gains(lines: list[FadingLine], columns: dict[str, tuple[str, int, str]]) -> list[str]:
    """Mean ± std of test AUC, and the difference from the plain model, paired by seed; last, what one has who
    knows the rule."""
    rows = []
    for kernel in KERNELS:
        row = [kernel]
        for column in columns.values():
            ours, plain = (_aucs(lines, *column, one) for one in (kernel, PLAIN))
            difference = gain(ours, plain) if kernel != PLAIN else ""
            row.append(", ".join(filter(None, (spread(list(ours.values())), difference))) if ours else "")
        rows.append(row)
    worlds = (world for _, _, world in columns.values())
    rows.append(["*one who knows the rule*", *(_known(lines, world) for world in worlds)])
    return table(["kernel", *columns], rows)


def _aucs(lines: list[FadingLine], model: str, neighbors: int, world: str, kernel: str) -> dict[int, float]:
    wanted = (world, model, neighbors, kernel)
    found = ((line.cell, line.found.test["auc"]) for line in lines)
    return {
        cell.seed: auc
        for cell, auc in found
        if (cell.world, cell.model, cell.neighbors, cell.kernel) == wanted
    }


def _known(lines: list[FadingLine], world: str) -> str:
    known = {line.cell.seed: line.found.knows_half_life for line in lines if line.cell.world == world}
    return spread(list(known.values())) if known else ""


def _half_lives(lines: list[FadingLine]) -> list[str]:
    rows = []
    for world, half_life in sorted(HALF_LIVES.items(), key=lambda item: item[1]):
        found = [
            line
            for line in lines
            if (line.cell.world, line.cell.model, line.cell.neighbors) == (world, TGAT, 1)
            and line.found.half_lives
        ]
        if found:
            days = [[each / DAY for each in sorted(line.found.half_lives or ())] for line in found]
            seeds = "; ".join(", ".join(f"{each:.2f}" for each in heads) for heads in days)
            start = math.log(2) * sum(line.found.sigma for line in found) / len(found) / DAY
            middle = f"{np.exp(np.mean(np.log(days))):.2f}"
            rows.append(
                [world, "" if half_life == 0 else f"{half_life / DAY:g}", f"{start:.2f}", middle, seeds]
            )
    return table(
        ["evidence", "planted, days", "where it starts", "learned (geometric mean)", "by seed"], rows
    )


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
