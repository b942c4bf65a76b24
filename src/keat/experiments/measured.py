"""What a ledger already has of a recipe, without running anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import keat
from keat.errors import KeatError
from keat.experiments.job import FIRST_DEFAULTS, Job, spec_of
from keat.experiments.ledger import Ledger
from keat.experiments.line import Line
from keat.experiments.recipe import Recipe
from keat.runs.spec import SourceSpec
from keat.tasks.task_spec import TaskSpec


@dataclass(frozen=True, slots=True)
class Known:
    """Lines of a ledger by their keys, and by those they would have if data were called by their names."""

    by_key: Mapping[str, Line]
    by_name: Mapping[str, Line]

    @classmethod
    def of(cls, ledger: Path) -> Self:
        lines = Ledger(ledger).lines()
        named = ((_name_of(line), line) for line in lines)
        return cls({line.key: line for line in lines}, {key: line for key, line in named if key is not None})


def measured(recipe: Recipe, sources: Mapping[str, str], known: Known) -> list[tuple[Job, Line]]:
    """Jobs of the recipe that are in the ledger, with their lines.

    Where a file is given, it is the file's content that counts. Where none is, it is the name the data had
    when it was run, so that a ledger can be read without the data.
    """
    if not known.by_key:
        return []
    places = {name: sources.get(name, name) for name in recipe.datasets}
    prints = {
        job.data: job.fingerprint()
        for job in {job.data: job for job in recipe.jobs(places, seeds=1)}.values()
        if job.spec.source.name != job.data  # a file: a name of the registry says by itself what it is
    }
    found = []
    for job in recipe.jobs(places):
        if job.data in prints:
            line = known.by_key.get(job.key(prints[job.data]))
        else:
            line = known.by_name.get(job.key(job.data))
        if line is not None:
            found.append((job, line))
    return found


def _name_of(line: Line) -> str | None:
    """The key its job would have if the data's name were its content; None for what is no run of a job."""
    other_work = "-" in line.key  # has a suffix, see `run_jobs`
    if other_work or line.keat != keat.__version__ or not line.data:
        return None
    task = TaskSpec(kind=line.task, sample=line.sample)  # type: ignore[arg-type]  # of any version
    try:
        config = {**FIRST_DEFAULTS.get(line.model, {}), **line.config}
        spec = spec_of(line.model, config, line.fit, line.seed, task, SourceSpec())
    except (KeatError, TypeError):  # of a model or setting that is no more
        return None
    return Job(line.data, spec, line.refresh).key(line.data)
