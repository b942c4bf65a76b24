"""The reports that `keat demo` and `keat train` end with: one page to keep and to show."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from keat.cli.evaluating import results_table
from keat.datasets.loading import Dataset
from keat.events import humanize
from keat.explain.examples import attention_section, explain_style
from keat.models.registry import ARCHITECTURES
from keat.report.charts import bar_chart, bar_key
from keat.report.curves import curves_section, epochs_of
from keat.report.drift import drift_section
from keat.report.page import Report, Section, present, write_report
from keat.report.tables import Table
from keat.training.checkpoint import read_description

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
                _results_section([stale, fresh], "mrr"),
                curves_section(runs, "mrr"),
                drift_section({data.name: data}),
                attention_section(runs["keat-tgn"], data, "KEAT-TGN"),
            ),
            command=command_line(),
            style=explain_style(),
        ),
        path,
    )


def train_report(folder: Path, data: Dataset, task: str, events: int, result: Mapping[str, Any]) -> Path:
    """One run beside the heuristics of its task. ``result`` has metrics (``val``, ``test``, ``beside``) and
    ``refresh``."""
    run = read_description(folder)
    about = {
        "dataset": data.name,
        "split": "test",
        "task": task,
        "refresh": result["refresh"],
        "events": events,
    }
    scored = {run["model"]: result["test"], **result["beside"]}
    results = [{**about, "model": name, **metrics} for name, metrics in scored.items()]
    mine, others = results[0], results[1:]
    val = result["val"]
    headline = next(iter(val))
    score, epochs = mine[headline], epochs_of(folder)
    story = f"{mine['model']} has a test {headline} of {score:.4f}."
    tiles = [
        (f"{score:.4f}", f"test {headline}"),
        (f"{val[headline]:.4f}", f"validation {headline} of the epoch that was kept"),
    ]
    if others:
        best = max(others, key=lambda r: r[headline])
        difference = score - best[headline]
        side = "above" if difference > 0 else "below"
        story += (
            f" The best that needs no training, {best['model']}, has {best[headline]:.4f}: the model is "
            f"{abs(difference):.4f} {side} it, with one seed."
        )
        tiles.append((f"{best[headline]:.4f}", f"test {headline} of {best['model']}, the best heuristic"))
    seconds = sum(epoch["train_seconds"] + epoch["val_seconds"] for epoch in epochs)
    tiles.append((f"{len(epochs)}", f"epochs in {humanize(max(seconds, 1), 's')}"))
    report = Report(
        title=f"{mine['model']} on {data.name}",
        eyebrow=f"keat train · {task}",
        facts=f"{_facts(data)} · {_settings(run)}",
        tiles=tiles,
        story=story,
        sections=present(
            _results_section([results], headline),
            curves_section({mine["model"]: folder}, headline),
            drift_section({data.name: data}),
            attention_section(folder, data, mine["model"]) if task == "link-ranking" else None,
        ),
        command=command_line(),
        style=explain_style(),
    )
    return write_report(report, folder / "report.html")


def _results_section(groups: Sequence[Sequence[dict[str, Any]]], metric: str) -> Section:
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
    learned = [model for model in order if model in ARCHITECTURES]
    chart = bar_chart(f"test {metric}", rows, f"Test {metric} of every model, the best first", learned)
    return Section(
        "Models and heuristics",
        "A heuristic needs no training; a model that does not beat it has not earned its keep.",
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


def _settings(run: Mapping[str, Any]) -> str:
    """What was chosen of the model and its training, in a few words."""
    config, fit = run["config"], run["fit"]
    chosen = [
        f"{name.replace('_', ' ')} {config[name]}" for name in SHOWN if config.get(name, "none") != "none"
    ]
    return ", ".join([*chosen, f"learning rate {fit['lr']:g}", f"seed {fit['seed']}"])


def command_line() -> str:
    return " ".join(["keat", *sys.argv[1:]])
