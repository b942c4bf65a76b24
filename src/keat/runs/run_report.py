"""The page of a run: how it was trained, how good it is beside the heuristics, and what it looks at."""

from __future__ import annotations

import platform

import torch

from keat.datasets.dgraphfin import DGraphFin
from keat.datasets.loading import Dataset
from keat.events import humanize
from keat.models.gearsage import GEARSage, build_graph
from keat.report.html.report_page import Page, Report, Section, present, write_report
from keat.report.sections.attention_examples import attention_section
from keat.report.sections.curves import curves_section
from keat.report.sections.data_facts import about_data, labels_section
from keat.report.sections.drift import drift_section
from keat.report.sections.kernel_fading import fading_section
from keat.report.sections.reliability_section import reliability_section
from keat.report.sections.results import AGAINST_HEURISTICS, Result, results_section
from keat.runs.epochs import read_history
from keat.runs.run import Run
from keat.runs.run_evaluation import Tested
from keat.runs.run_model import Data
from keat.runs.run_subject import subject_of_run
from keat.runs.spec import RunSpec
from keat.tasks.link import LinkRanking
from keat.training.fit import EpochReport

SHOWN = ("kernel", "width", "delta", "time_encoder", "pair_term")  # settings, of models that have them
UNTIL = {"target": "the latest edge of the one it tells about", "end": "the end of the graph"}
Tile = tuple[str, str]


def write_run_report(run: Run, data: Data, tested: Tested) -> Page:
    """Write the page to ``report.html`` in the folder of the run."""
    spec, history = run.spec, read_history(run.folder)
    headline = next(iter(run.metrics))
    story, tiles = beside_others(run, history, tested)
    about = about_data(data, run.facts.sigma)
    if isinstance(data, DGraphFin):
        frauds = int((data.y[data.test] == 1).sum())
        story += f" Of the {len(data.test):,} test nodes {frauds:,} are frauds."
        hint = "An AUC of 0.5 is a guess. Baselines pass no messages: degree counts contacts, logistic is a "
        hint += "logistic regression on GEARSage's 56 features of each node."
    else:
        hint = AGAINST_HEURISTICS
    if run.memory is not None:
        story += f" {run.memory}"
    name = spec.model
    report = Report(
        title=f"{name} on {run.facts.data.name}",
        eyebrow=f"keat train · {tested.task.kind}",
        facts=f"{about} · {settings(spec)} · {machine(run.device)}",
        tiles=tiles,
        story=story,
        sections=present(
            results_section([results(run, tested)], headline, hint),
            reliability_section(tested.judged),
            curves_section({name: history}, headline),
            *(_of_graph(run, data) if isinstance(data, DGraphFin) else _of_stream(run, data, tested)),
        ),
    )
    return write_report(report, run.folder / "report.html")


def results(run: Run, tested: Tested) -> list[Result]:
    """Test metrics of the run and of the heuristics beside it."""
    every = {run.spec.model: tested.evaluation.metrics, **tested.beside}
    refresh = None if run.spec.is_of_graph else tested.refresh
    return [
        Result(
            model,
            run.facts.data.name,
            "test",
            tested.task.kind,
            metrics,
            tested.evaluation.events,
            refresh=refresh,
        )
        for model, metrics in every.items()
    ]


def beside_others(run: Run, history: list[EpochReport], tested: Tested) -> tuple[str, list[Tile]]:
    """The story and the tiles of one run."""
    kind = "baseline" if run.spec.is_of_graph else "heuristic"
    val, headline = run.metrics, next(iter(run.metrics))
    score = tested.evaluation.metrics[headline]
    story = f"{run.spec.model} has a test {headline} of {score:.4f}."
    tiles = [
        (f"{score:.4f}", f"test {headline}"),
        (f"{val[headline]:.4f}", f"validation {headline} of the epoch that was kept"),
    ]
    others = {other: metrics[headline] for other, metrics in tested.beside.items()}
    if others:
        best = max(others, key=lambda other: others[other])
        difference = score - others[best]
        side = "above" if difference > 0 else "below"
        story += (
            f" The best {kind}, {best}, has {others[best]:.4f}: the model is "
            f"{abs(difference):.4f} {side} it, with one seed."
        )
        tiles.append((f"{others[best]:.4f}", f"test {headline} of {best}, the best {kind}"))
    seconds = sum(epoch.train_seconds + epoch.val_seconds for epoch in history)
    most = run.spec.fitting.epochs
    spent = f"of at most {most} epoch{'s' * (most != 1)}, in {humanize(max(seconds, 1), 's')}"
    return story, [*tiles, (f"{len(history)}", spent)]


def settings(spec: RunSpec) -> str:
    """What was chosen of the model and its training, in a few words."""
    unused = {"width"} if getattr(spec.config, "kernel", None) == "identity" else set()
    chosen = [
        f"{name.replace('_', ' ')} {getattr(spec.config, name)}"
        for name in SHOWN
        if name not in unused and getattr(spec.config, name, "none") != "none"
    ]
    return ", ".join([*chosen, f"learning rate {spec.fitting.lr:g}", f"seed {spec.fitting.seed}"])


def machine(device: str) -> str:
    """Where it ran, without which seconds say little."""
    threads = torch.get_num_threads()
    processor = f"{platform.machine()}, {threads} thread{'s' * (threads != 1)}"
    return processor if device == "cpu" else f"{device} beside {processor}"


def _of_stream(run: Run, data: Dataset, tested: Tested) -> list[Section | None]:
    looked_at = None
    if isinstance(tested.task, LinkRanking):
        looked_at = attention_section(subject_of_run(run), data, run.spec.model, tested.task)
    return [drift_section({data.name: data}), looked_at]


def _of_graph(run: Run, data: DGraphFin) -> list[Section | None]:
    model = run.validated_model()
    assert isinstance(model, GEARSage)
    graph = build_graph(data.stream, data.y, model.config.delta)
    ages = graph.ages[graph.age].numpy()
    until = UNTIL[model.config.delta]
    return [
        fading_section(model.config.kernel, model.kernel, ages, data.stream.unit, until),
        labels_section(data),
    ]
