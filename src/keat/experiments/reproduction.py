"""A recipe whose runs are done: what its tables, figures and report are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from keat.errors import InputError
from keat.experiments.engines import Engine
from keat.experiments.ledger import Ledger
from keat.experiments.line import Line
from keat.experiments.recipe import Recipe
from keat.experiments.recipe_table import Lines, table_of
from keat.experiments.runner import Listener, Work, run_jobs
from keat.report.sections.comparison import RecipeTable


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A recipe, its jobs with their lines, where its runs are kept, and `run_jobs` as it was asked to run."""

    recipe: Recipe
    results: Lines
    scratch: Path
    run: Callable[..., list[Line]]

    @property
    def datasets(self) -> list[str]:
        return list(dict.fromkeys(job.data for job, _ in self.results))

    @property
    def tables(self) -> list[RecipeTable]:
        """One for each dataset."""
        return [table_of(self.recipe, data, self.results) for data in self.datasets]

    def ask(self, work: Work, suffix: str) -> Lines:
        """More of every run than a table has: asked once, kept in the ledger under names with a suffix."""
        jobs = [job for job, _ in self.results]
        return list(zip(jobs, self.run(jobs, work=work, suffix=suffix), strict=True))


def reproduce(
    recipe: Recipe,
    sources: Mapping[str, str],
    ledger: Ledger,
    scratch: Path,
    *,
    seeds: int | None = None,
    parallel: int = 1,
    engine: Engine = "local",
    listener: Listener = print,
    again: bool = False,
) -> Reproduction:
    """Run what the ledger lacks of a recipe, on the datasets at hand."""
    jobs = recipe.jobs(sources, seeds)
    if not jobs:
        wanted = " ".join(f"--data {dataset}=FILE" for dataset in recipe.datasets)
        raise InputError(f"{recipe.name} needs data: give one or more of {wanted}.")
    run = partial(
        run_jobs,
        ledger=ledger,
        scratch=scratch,
        parallel=parallel,
        engine=engine,
        listener=listener,
        again=again,
    )
    return Reproduction(recipe, list(zip(jobs, run(jobs), strict=True)), scratch, run)
