"""The report that `keat reproduce` ends with: the tables of a recipe, and a look into its runs."""

from __future__ import annotations

from pathlib import Path

from keat.datasets.loading import Dataset
from keat.events import humanize
from keat.experiments.job import Job
from keat.experiments.reproduction import Reproduction
from keat.experiments.work import run_folder
from keat.models.explainable import attends_by_kernel
from keat.report.figures.made import Made, reproduced_as
from keat.report.html.report_page import Page, Report, Section, present, write_report
from keat.report.sections.attention_examples import attention_section
from keat.report.sections.comparison import side_by_side, table_section, verdict_of
from keat.report.sections.curves import curves_section
from keat.report.sections.drift import drift_section
from keat.runs.epochs import read_history
from keat.runs.run_file import is_run
from keat.runs.run_subject import subject_of
from keat.runs.spec import RunSpec


def recipe_report(found: Reproduction, drawn: Made, path: Path) -> Page:
    """A table or figure of trained runs, for every dataset at hand."""
    recipe, tables, results = found.recipe, found.tables, found.results
    seconds = sum(line.seconds or 0 for _, line in results)
    report = Report(
        title=recipe.title,
        eyebrow=reproduced_as(recipe.name, recipe.paper),
        facts=recipe.about,
        tiles=[
            (str(len(results)), "runs, each in the ledger"),
            (str(max(job.seed for job, _ in results)), "seeds a model"),
            (str(len(tables)), f"dataset{'s' * (len(tables) > 1)}: {', '.join(t['data'] for t in tables)}"),
            (humanize(max(seconds, 1), "s"), "of one thread in all"),
        ],
        story=verdict_of(tables),
        sections=present(
            drawn.section(recipe.title),
            *(Section("All datasets", tables=[table]) for table in side_by_side(tables)),
            *map(table_section, tables),
            *_run_sections(found),
        ),
    )
    return write_report(report, path)


def _run_sections(found: Reproduction) -> list[Section | None]:
    """Curves, drift and attention of the first seed, as far as the runs are still in scratch."""
    recipe = found.recipe
    jobs = [job for job, _ in found.results if job.seed == 1 and not job.is_heuristic]
    data = {name: job.open() for name, job in {job.data: job for job, _ in found.results}.items()}
    streams = {name: each for name, each in data.items() if isinstance(each, Dataset)}
    folders = [run_folder(job, found.scratch, data[job.data]) for job in jobs]
    runs = {_name(job, len(found.datasets)): (job, folder) for job, folder in zip(jobs, folders, strict=True)}
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
