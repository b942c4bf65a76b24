"""What a ledger already has of a recipe, without running anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import keat
from keat.errors import KeatError
from keat.experiments.graph_job import GRAPH_LABEL, GraphJob
from keat.experiments.job import Job
from keat.experiments.ledger import Ledger
from keat.experiments.recipe import Recipe
from keat.experiments.sources import fingerprint_of


def measured(recipe: Recipe, sources: Mapping[str, str], ledger: Path) -> list[tuple[Job, dict[str, Any]]]:
    """Jobs of the recipe that are in the ledger, with their lines.

    Where a file is given, it is the file's content that counts. Where none is, it is the name the data had
    when it was run, so that a ledger can be read without the data.
    """
    lines = Ledger(ledger).lines()
    if not lines:
        return []
    by_key = {line["key"]: line for line in lines}
    by_name = {key: line for line in lines if (key := _name_of(line)) is not None}
    places = {name: sources.get(name, name) for name in recipe.datasets}
    prints = {
        job.source: fingerprint_of(job.source)
        for job in recipe.jobs(places, seeds=1)
        if job.source != job.data  # a file: a name of the registry says by itself what it is
    }
    found = []
    for job in recipe.jobs(places):
        given = job.source in prints
        line = by_key.get(job.key(prints[job.source])) if given else by_name.get(job.key(job.data))
        if line is not None:
            found.append((job, line))
    return found


def _name_of(line: dict[str, Any]) -> str | None:
    """The key its job would have if the data's name were its content; None for what is no run of a job."""
    parts = {field.name: line[field.name] for field in fields(Job) if field.name in line}
    other_work = "-" in line["key"]  # has a suffix, see `run_jobs`
    if other_work or line.get("keat") != keat.__version__ or "data" not in parts:
        return None
    kind = GraphJob if parts.get("task") == GRAPH_LABEL else Job
    try:
        return kind(**parts | {"refresh": tuple(parts["refresh"])}).key(line["data"])
    except (KeatError, KeyError, TypeError):  # of a model or setting that is no more
        return None
