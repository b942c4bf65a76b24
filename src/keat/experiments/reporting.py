"""The reports that `keat reproduce` ends with."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from keat.datasets.loading import Dataset
from keat.events import humanize
from keat.experiments.job import Job
from keat.experiments.recipe import Recipe
from keat.experiments.tables import Lines, RecipeTable, headline, shown, side_by_side
from keat.experiments.work import run_folder
from keat.explain.examples import attention_section, explain_style
from keat.models.explainable import attends_by_kernel
from keat.report.charts import Dots, dot_chart, dot_key
from keat.report.curves import curves_section
from keat.report.drift import drift_section
from keat.report.made import Made
from keat.report.page import Page, Report, Section, present, write_report
from keat.report.tables import Table
from keat.runs.epochs import read_history
from keat.runs.run_file import is_run
from keat.runs.run_subject import subject_of
from keat.runs.spec import RunSpec


@dataclass(frozen=True, slots=True)
class Reproduced:
    """All that was found of a recipe: a table for each dataset, what was drawn, and the runs behind it."""

    recipe: Recipe
    tables: Sequence[RecipeTable]
    drawn: Made
    results: Lines
    scratch: Path


def recipe_report(found: Reproduced, path: Path, command: str = "") -> Page:
    """A table or figure of trained runs, for every dataset at hand."""
    recipe, tables, results = found.recipe, found.tables, found.results
    seconds = sum(line.seconds or 0 for _, line in results)
    report = Report(
        title=recipe.title,
        eyebrow=f"keat reproduce {recipe.name}" + (f" · {recipe.paper} in the paper" if recipe.paper else ""),
        facts=recipe.about,
        tiles=[
            (str(len(results)), "runs, each in the ledger"),
            (str(max(job.seed for job, _ in results)), "seeds a model"),
            (str(len(tables)), f"dataset{'s' * (len(tables) > 1)}: {', '.join(t['data'] for t in tables)}"),
            (humanize(max(seconds, 1), "s"), "of one thread in all"),
        ],
        story=_verdict(tables),
        sections=present(
            _figure_section(recipe.title, found.drawn),
            *(Section("All datasets", "", "", [table]) for table in side_by_side(tables)),
            *map(_table_section, tables),
            *_run_sections(found),
        ),
        command=command,
        style=explain_style(),
    )
    return write_report(report, path)


def _run_sections(found: Reproduced) -> list[Section | None]:
    """Curves, drift and attention of the first seed, as far as the runs are still in scratch."""
    recipe = found.recipe
    jobs = [job for job, _ in found.results if job.seed == 1 and not job.is_heuristic]
    data = {name: job.open() for name, job in {job.data: job for job, _ in found.results}.items()}
    streams = {name: each for name, each in data.items() if isinstance(each, Dataset)}
    folders = [run_folder(job, found.scratch, data[job.data]) for job in jobs]
    runs = {_name(job, len(found.tables)): (job, folder) for job, folder in zip(jobs, folders, strict=True)}
    histories = {name: read_history(folder) for name, (_, folder) in runs.items()}
    kernelized = (
        attention_section(subject_of(folder), streams[job.data], f"{name}, seed 1")
        for name, (job, folder) in runs.items()
        if recipe.task == "link-ranking" and _attends_by_kernel(job) and is_run(folder)
    )
    return [
        curves_section(histories, recipe.metric),
        drift_section(streams) if streams else None,
        next(kernelized, None),
    ]


def _attends_by_kernel(job: Job) -> bool:
    """Whether it is a TGN whose attention an explanation can show, and which has a kernel."""
    config = job.spec.config if isinstance(job.spec, RunSpec) else None
    return attends_by_kernel(config)


def _name(job: Job, datasets: int) -> str:
    return f"{job.arm} on {job.data}" if datasets > 1 else job.arm


def computed_report(name: str, title: str, paper: str, made: Made, path: Path, command: str = "") -> Page:
    """A table or figure that needs no training."""
    tables = tables_of(title, made)
    report = Report(
        title=title,
        eyebrow=f"keat reproduce {name} · {paper} in the paper",
        facts="Computed when it was asked for; nothing was trained.",
        tiles=[(str(len(table.rows)), f"rows: {table.title}") for table in tables],
        story="",
        sections=present(_figure_section(title, made)),
        command=command,
    )
    return write_report(report, path)


def tables_of(title: str, made: Made) -> list[Table]:
    """Its rows as people read them."""
    return [
        Table(name, list(rows[0]), [[_cell(value) for value in row.values()] for row in rows], made.caption)
        for name, rows in made.tables(title).items()
        if rows
    ]


def _cell(value: object) -> str:
    """Four digits are enough to read; JSON has all of them."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else str(value)


def _table_section(table: RecipeTable) -> Section:
    seen = shown(table)
    rows = [
        Dots(row["label"], list(row["values"].values()), _numbers(row["beside"]), muted=row["heuristic"])
        for row in table["rows"]
    ]
    number = headline(table)
    what = f"T{number[1:]} of every seed on {table['data']}"
    chart = dot_chart(number, rows, what) if rows else ""
    caption = (
        "Mean ± standard deviation over seeds. Differences are paired by seed, with a 95 % interval "
        "(Student's t); bold where it excludes zero."
    )
    table_shown = Table(seen.title, seen.columns, seen.rows, caption)
    return Section(
        seen.title, "", f'{dot_key()}<div class="panels wide"><figure>{chart}</figure></div>', [table_shown]
    )


def _numbers(beside: Mapping[str, str]) -> list[float]:
    """What others published of the metric that is compared; of another metric a column says so."""
    return [float(number.split()[0]) for column, number in beside.items() if "," not in column]


def _figure_section(title: str, made: Made) -> Section | None:
    tables = tables_of(title, made)
    if not made.pictures and not tables:
        return None
    images = "\n".join(_embedded(picture, title) for picture in made.pictures)
    return Section(title, "", images, tables)


def _embedded(picture: Path, title: str) -> str:
    content = base64.b64encode(picture.read_bytes()).decode()
    return f'<img class="picture" alt="{escape(title)}" src="data:image/png;base64,{content}">'


def _verdict(tables: Sequence[RecipeTable]) -> str:
    """The comparisons of all tables in a sentence or two."""
    compared = [(table, row) for table in tables for row in table["rows"] if row["difference"]]
    if not compared:
        return ""
    clear = [
        f"{row['label']} on {table['data']} {row['difference']}" for table, row in compared if row["clear"]
    ]
    if max(row["seeds"] for _, row in compared) < 2:
        return "One seed has no interval, and without one no difference is a finding; run more seeds."
    if not clear and len(compared) == 1:
        (table, row), *_ = compared
        return (
            f"{row['label']} on {table['data']}: {row['difference']}. Not clear: the interval includes zero."
        )
    if not clear:
        return f"{len(compared)} comparisons, none of them clear: every interval includes zero."
    return f"{len(clear)} of {len(compared)} comparisons are clear: {'; '.join(clear)}."
