"""What a figure of trained runs is drawn from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from keat.experiments.ledger import Ledger
from keat.experiments.recipe import Recipe
from keat.experiments.runner import Engine, Told, Work, run_jobs
from keat.experiments.tables import Lines


@dataclass(frozen=True, slots=True)
class Drawing:
    """A recipe, its jobs with their lines, where the runs are, and where the picture goes."""

    recipe: Recipe
    results: Lines
    ledger: Ledger
    scratch: Path
    path: Path
    parallel: int = 1
    engine: Engine = "local"
    told: Told = print

    @property
    def datasets(self) -> list[str]:
        return list(dict.fromkeys(job.data for job, _ in self.results))

    def ask(self, work: Work, suffix: str) -> Lines:
        """More of every run than a table has: asked once, kept in the ledger under names with a suffix."""
        jobs = [job for job, _ in self.results]
        lines = run_jobs(
            jobs,
            self.ledger,
            self.scratch,
            parallel=self.parallel,
            engine=self.engine,
            told=self.told,
            work=work,
            suffix=suffix,
        )
        return list(zip(jobs, lines, strict=True))
