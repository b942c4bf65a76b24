"""When does a kernel help? Evidence with a known half-life, and who finds it: docs/results/fading.md.

    python -m studies.fading                  run what the ledger lacks, and print the tables
    python -m studies.fading --report         print the tables
    python -m studies.fading --report --picture docs/images/fading.png

One layer of TGAT, which attends to a card's last five payments, or its last, by their age when the question
is asked. A line of the ledger for every (world, time encoding, kernel, number of payments, seed).
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
from studies.fading_world import DAY, simulate, without_a_graph
from studies.study import StudyLedger, gain, spread, study_parser, table

FADES = "fades in a day"
WORLDS = {FADES: DAY, "lasts": math.inf, "means nothing": 0.0}
ENCODERS = ("cosine-geometric", "cosine")  # and "lete", which has steps that last, for some kernels
KERNELS = ("identity", "laplacian", "rbf", "mlp", "learnable", "gated", "planted")
SOME_KERNELS = ("identity", "laplacian", "learnable")
OTHER_HALF_LIVES = {"fades in 6 hours": DAY / 4, "fades in 4 days": 4 * DAY}  # for the learned width
HALF_LIVES = WORLDS | OTHER_HALF_LIVES
FIT: dict[str, Any] = {"epochs": 10, "patience": 10, "lr": 3e-3}
SIZE = {"layers": 1, "time_dim": 16, "out_dim": 32, "dropout": 0.0}


def cells(seeds: int) -> Iterator[FadingCell]:
    """A whole table of one seed comes before the next. With one neighbour there is nothing to choose from: a
    kernel can only say how much the last payment still counts."""
    for seed in range(1, seeds + 1):
        of = partial(FadingCell, seed=seed)
        for neighbors, encoder in ((1, ENCODERS[0]), (5, ENCODERS[0]), (5, ENCODERS[1])):
            for world, kernel in product(WORLDS, KERNELS):
                if kernel != "planted" or world == FADES:
                    yield of(world=world, encoder=encoder, kernel=kernel, neighbors=neighbors)
        for world, kernel in product(WORLDS, SOME_KERNELS):
            yield of(world=world, encoder="lete", kernel=kernel, neighbors=5)
        for world, kernel in product(OTHER_HALF_LIVES, SOME_KERNELS):
            yield of(world=world, encoder=ENCODERS[0], kernel=kernel, neighbors=1)


@cache
def world_of(name: str) -> Dataset:
    return simulate(HALF_LIVES[name])


def ask(cell: FadingCell, scratch: Path) -> FadingFound:
    data, half_life = world_of(cell.world), HALF_LIVES[cell.world]
    started = time.process_time()
    sigma = estimate_sigma(data.train.src, data.train.dst, data.train.t)
    kernel: dict[str, Any] = {"kernel": cell.kernel}
    if cell.kernel == "planted":
        kernel = {"kernel": "laplacian", "width": half_life / math.log(2) / sigma}
    config = configuration("tgat", time_encoder=cell.encoder, neighbors=cell.neighbors, **kernel, **SIZE)
    spec = RunSpec("tgat", config, FitConfig(**FIT, seed=cell.seed), TaskSpec(kind="node-label"))
    folder = scratch / f"{cell.world}-{cell.encoder}-{cell.kernel}-{cell.neighbors}-{cell.seed}"
    train_run(spec, data, folder, resume=folder.exists())
    return FadingFound(
        half_life=half_life if math.isfinite(half_life) else None,
        test=evaluate_run(folder, data, spec.task.make(data, "test"), "test").metrics,
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
    for neighbors, encoder in sorted({(line.cell.neighbors, line.cell.encoder) for line in lines}):
        seen = "last five payments" if neighbors == 5 else "last payment alone"
        rows = [
            [kernel, *(_auc(lines, world, encoder, kernel, neighbors) for world in WORLDS)]
            for kernel in KERNELS
        ]
        text += [f"**The {seen}, time encoding `{encoder}`**", ""]
        text += [*table(["kernel", *WORLDS], [row for row in rows if any(row[1:])]), ""]
    known = {line.cell.world: line.found.knows_half_life for line in lines}
    regression = ", ".join(f"{world} {auc:.4f}" for world, auc in known.items())
    text += [f"Logistic regression that knows the half-life: {regression}.", ""]
    text += ["The last payment alone, `cosine-geometric`, other half-lives:", ""]
    head = ["evidence", "plain", "Laplacian, σ from the data", "learnable", "learned half-lives"]
    rows = [
        [
            world,
            *(_auc(lines, world, ENCODERS[0], kernel, 1) for kernel in SOME_KERNELS),
            _half_lives(lines, world),
        ]
        for world in sorted((FADES, *OTHER_HALF_LIVES), key=HALF_LIVES.__getitem__)
    ]
    return "\n".join([*text, *table(head, rows)])


def _auc(lines: list[FadingLine], world: str, encoder: str, kernel: str, neighbors: int) -> str:
    """Mean ± std, and the difference from the plain model, paired by seed."""
    row = {"world": world, "encoder": encoder, "neighbors": neighbors}
    ours, plain = (
        {
            line.cell.seed: line.found.test["auc"]
            for line in lines
            if line.cell == FadingCell(**row, kernel=one, seed=line.cell.seed)  # type: ignore[arg-type]
        }
        for one in (kernel, "identity")
    )
    if not ours:
        return ""
    told = spread(list(ours.values()))
    difference = gain(ours, plain) if kernel != "identity" else ""
    return f"{told}, {difference}" if difference else told


def _half_lives(lines: list[FadingLine], world: str) -> str:
    """In days, a number for each head, the seeds apart."""
    found = [
        line.found.half_lives
        for line in lines
        if line.cell.world == world and line.found.half_lives and line.cell.neighbors == 1
    ]
    seeds = [", ".join(f"{seconds / DAY:.2f}" for seconds in sorted(heads)) for heads in found]
    return "; ".join(seeds) + " days"


def main() -> None:
    parser = study_parser("fading", __doc__)
    parser.add_argument("--seeds", type=int, default=2)
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
