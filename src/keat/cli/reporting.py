"""The reports that `keat demo` and `keat train` end with: one page to keep and to show."""

from __future__ import annotations

import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from keat.calibration.fitting import Judgement
from keat.cli.evaluating import results_table
from keat.datasets.loading import Dataset
from keat.events import humanize
from keat.explain.examples import attention_section, explain_style
from keat.models.gearsage import GEARSAGE_CONFIGS
from keat.models.registry import ARCHITECTURES
from keat.report.charts import bar_chart, bar_key
from keat.report.curves import curves_section
from keat.report.drift import drift_section
from keat.report.page import Report, Section, present, write_report
from keat.report.reliability import reliability_section
from keat.report.tables import Table
from keat.training.description import read_description
from keat.training.epochs import read_history

HINT = "A heuristic needs no training; a model that does not beat it has not earned its keep."
SHOWN = ("kernel", "width", "delta", "time_encoder", "pair_term")  # settings, of models that have them


def demo_report(
    data: Dataset, results: Sequence[dict[str, Any]], runs: Mapping[str, Path], path: Path
) -> Path:
    """Trained models beside the heuristics, stale and fresh."""
    stale, fresh = ([r for r in results if r["refresh"] == refresh] for refresh in (200, 1))
    mrr = {r["model"]: r["mrr"] for r in stale}
    best, best_fresh = (max(part, key=lambda r: r["mrr"]) for part in (stale, fresh))
    first = results[0]
    fresher = "it" if best_fresh["model"] == best["model"] else best_fresh["model"]
    story = (
        f"{best['model']} is best with a test MRR of {best['mrr']:.3f}; where the state is always fresh, "
        f"{fresher} has {best_fresh['mrr']:.3f}. Of the trained ones, keat-rank has {mrr['keat-rank']:.3f}, "
        f"KEAT-TGN {mrr['keat-tgn']:.3f} and TGN {mrr['tgn']:.3f}: one seed and a few epochs each, so an "
        "impression and no verdict."
    )
    return write_report(
        Report(
            title=f"Who will pay whom next? {len(data.stream):,} simulated payments",
            eyebrow="keat demo",
            facts=_facts(data),
            tiles=[
                (f"{best['mrr']:.3f}", f"test MRR of {best['model']}, the best"),
                (f"{mrr['keat-tgn']:.3f}", "test MRR of KEAT-TGN"),
                (f"{mrr['tgn']:.3f}", "test MRR of TGN"),
                (f"{first['candidates']:,}", f"candidates for each of {first['events']:,} test events"),
            ],
            story=story,
            sections=present(
                results_section([stale, fresh], "mrr", HINT),
                curves_section(runs, "mrr"),
                drift_section({data.name: data}),
                attention_section(runs["keat-tgn"], data, "KEAT-TGN"),
            ),
            command=command_line(),
            style=explain_style(),
        ),
        path,
    )


def train_report(
    folder: Path,
    data: Dataset,
    task: str,
    events: int,
    result: Mapping[str, Any],
    device: str = "cpu",
    judged: Judgement | None = None,
) -> Path:
    """One run beside the heuristics of its task. ``result`` has metrics (``val``, ``test``, ``beside``) and
    ``refresh``; ``device`` is where it was trained; ``judged`` says how reliable its scores are in test."""
    run = read_description(folder)
    about = {
        "dataset": data.name,
        "split": "test",
        "task": task,
        "refresh": result["refresh"],
        "events": events,
    }
    name, headline = run["model"], next(iter(result["val"]))
    story, tiles = beside_others(name, folder, result, "heuristic")
    report = Report(
        title=f"{name} on {data.name}",
        eyebrow=f"keat train · {task}",
        facts=f"{_facts(data)} · {settings(run)} · {machine(device)}",
        tiles=tiles,
        story=story,
        sections=present(
            results_section([scored(name, about, result)], headline, HINT),
            reliability_section(judged),
            curves_section({name: folder}, headline),
            drift_section({data.name: data}),
            attention_section(folder, data, name) if task == "link-ranking" else None,
        ),
        command=command_line(),
        style=explain_style(),
    )
    return write_report(report, folder / "report.html")


def scored(name: str, about: Mapping[str, Any], result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Test metrics of a model and of those beside it, each with what it is about."""
    every = {name: result["test"], **result["beside"]}
    return [{**about, "model": model, **metrics} for model, metrics in every.items()]


def beside_others(
    name: str, folder: Path, result: Mapping[str, Any], kind: str
) -> tuple[str, list[tuple[str, str]]]:
    """The story and the tiles of one run; ``kind`` is what those beside it are called."""
    val, headline = result["val"], next(iter(result["val"]))
    score, epochs = result["test"][headline], read_history(folder)
    story = f"{name} has a test {headline} of {score:.4f}."
    tiles = [
        (f"{score:.4f}", f"test {headline}"),
        (f"{val[headline]:.4f}", f"validation {headline} of the epoch that was kept"),
    ]
    others = {other: metrics[headline] for other, metrics in result["beside"].items()}
    if others:
        best = max(others, key=lambda other: others[other])
        difference = score - others[best]
        side = "above" if difference > 0 else "below"
        story += (
            f" The best {kind}, {best}, has {others[best]:.4f}: the model is "
            f"{abs(difference):.4f} {side} it, with one seed."
        )
        tiles.append((f"{others[best]:.4f}", f"test {headline} of {best}, the best {kind}"))
    seconds = sum(epoch["train_seconds"] + epoch["val_seconds"] for epoch in epochs)
    most = read_description(folder)["limits"]["epochs"]
    spent = f"of at most {most} epoch{'s' * (most != 1)}, in {humanize(max(seconds, 1), 's')}"
    return story, [*tiles, (f"{len(epochs)}", spent)]


def machine(device: str) -> str:
    """Where it ran, without which seconds say little."""
    threads = torch.get_num_threads()
    processor = f"{platform.machine()}, {threads} thread{'s' * (threads != 1)}"
    return processor if device == "cpu" else f"{device} beside {processor}"


def results_section(
    groups: Sequence[Sequence[dict[str, Any]]], metric: str, hint: str, title: str = "Models and heuristics"
) -> Section:
    """Groups are results at different freshness, of the same models."""
    best = {
        r["model"]: max(o[metric] for group in groups for o in group if o["model"] == r["model"])
        for r in groups[0]
    }
    order = sorted(best, key=lambda model: -best[model])
    rows = [
        (model, [next(r[metric] for r in group if r["model"] == model) for group in groups])
        for model in order
    ]
    key = bar_key([_freshness(group[0]["refresh"]) for group in groups]) if len(groups) > 1 else ""
    learned = [model for model in order if model in ARCHITECTURES or model in GEARSAGE_CONFIGS]
    chart = bar_chart(f"test {metric}", rows, f"Test {metric} of every model, the best first", learned)
    return Section(
        title,
        hint,
        f"{key}<figure>{chart}</figure>",
        [_titled(list(group), several=len(groups) > 1) for group in groups],
        beside=True,
    )


def _titled(group: list[dict[str, Any]], several: bool) -> Table:
    """Where a report has several, their freshness tells them apart."""
    table = results_table(group)
    return replace(table, title=_freshness(group[0]["refresh"]).capitalize()) if several else table


def _freshness(refresh: int) -> str:
    return "state always fresh" if refresh == 1 else f"state refreshed every {refresh} events"


def _facts(data: Dataset) -> str:
    stream = data.stream
    sizes = " / ".join(f"{size:,}" for size in data.splits.sizes.values())
    return (
        f"{stream.num_nodes:,} nodes, {len(stream):,} events ({sizes} to train, validate and test), "
        f"σ {humanize(data.sigma(), stream.unit)}"
    )


def settings(run: Mapping[str, Any]) -> str:
    """What was chosen of the model and its training, in a few words."""
    config, fit = run["config"], run["fit"]
    unused = {"width"} if config.get("kernel") == "identity" else set()
    chosen = [
        f"{name.replace('_', ' ')} {config[name]}"
        for name in SHOWN
        if name not in unused and config.get(name, "none") != "none"
    ]
    return ", ".join([*chosen, f"learning rate {fit['lr']:g}", f"seed {fit['seed']}"])


def command_line() -> str:
    """What was typed, to be typed again: paths with spaces are quoted."""
    return shlex.join(["keat", *sys.argv[1:]])
