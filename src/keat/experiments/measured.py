"""What a ledger already has of a recipe, without running anything."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import keat
from keat.errors import KeatError
from keat.experiments.job import Job, spec_of
from keat.experiments.ledger import Ledger
from keat.experiments.line import Line
from keat.experiments.recipe import Recipe
from keat.runs.spec import SourceSpec
from keat.tasks.task_spec import TaskSpec


def measured(recipe: Recipe, sources: Mapping[str, str], ledger: Path) -> list[tuple[Job, Line]]:
    """Jobs of the recipe that are in the ledger, with their lines.

    Where a file is given, it is the file's content that counts. Where none is, it is the name the data had
    when it was run, so that a ledger can be read without the data.
    """
    lines = Ledger(ledger).lines()
    if not lines:
        return []
    by_key = {line.key: line for line in lines}
    by_name = {key: line for line in lines if (key := _name_of(line)) is not None}
    places = {name: sources.get(name, name) for name in recipe.datasets}
    prints = {
        job.data: job.fingerprint()
        for job in {job.data: job for job in recipe.jobs(places, seeds=1)}.values()
        if job.spec.source.name != job.data  # a file: a name of the registry says by itself what it is
    }
    found = []
    for job in recipe.jobs(places):
        given = job.data in prints
        line = by_key.get(job.key(prints[job.data])) if given else by_name.get(job.key(job.data))
        if line is not None:
            found.append((job, line))
    return found


def _name_of(line: Line) -> str | None:
    """The key its job would have if the data's name were its content; None for what is no run of a job."""
    other_work = "-" in line.key  # has a suffix, see `run_jobs`
    if other_work or line.keat != keat.__version__ or not line.data:
        return None
    task = TaskSpec(kind=line.task, sample=line.sample)  # type: ignore[arg-type]  # one that is no more has no job
    try:
        spec = spec_of(line.model, line.config, line.fit, line.seed, task, SourceSpec())
    except (KeatError, TypeError):  # of a model or setting that is no more
        return None
    return Job(line.data, spec, line.refresh).key(line.data)
