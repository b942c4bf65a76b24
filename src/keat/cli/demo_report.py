"""The page that `keat demo` ends with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from keat.datasets.loading import Dataset
from keat.explain.examples import attention_section, explain_style
from keat.report.curves import curves_section
from keat.report.drift import drift_section
from keat.report.page import Page, Report, present, write_report
from keat.report.results import Result, results_section
from keat.runs import Run
from keat.runs.epochs import read_history
from keat.runs.run_report import HINT, about_data, command_line
from keat.runs.run_subject import subject_of_run
from keat.tasks.link import LinkRanking


def demo_report(
    data: Dataset, task: LinkRanking, results: Sequence[Result], runs: Mapping[str, Run], path: Path
) -> Page:
    """Trained models beside the heuristics, stale and fresh."""
    stale, fresh = ([r for r in results if r.refresh == refresh] for refresh in (200, 1))
    mrr = {r.model: r.metrics["mrr"] for r in stale}
    heuristic = max((model for model in mrr if model not in runs), key=lambda model: mrr[model])
    freshest, first = max(fresh, key=lambda r: r.metrics["mrr"]), results[0]
    story = (
        f"KEAT-TGN has a test MRR of {mrr['keat-tgn']:.3f}, TGN {mrr['tgn']:.3f}, keat-rank "
        f"{mrr['keat-rank']:.3f} and {heuristic}, the best heuristic, {mrr[heuristic]:.3f}; where the state "
        f"is always fresh, {freshest.model} is best with {freshest.metrics['mrr']:.3f}. This is one seed and "
        "a few epochs each, so an impression and no verdict."
    )
    return write_report(
        Report(
            title=f"Who will pay whom next? {len(data.stream):,} simulated payments",
            eyebrow="keat demo",
            facts=about_data(data),
            tiles=[
                (f"{mrr['keat-tgn']:.3f}", "test MRR of KEAT-TGN"),
                (f"{mrr['tgn']:.3f}", "test MRR of TGN"),
                (f"{mrr[heuristic]:.3f}", f"test MRR of {heuristic}, the best heuristic"),
                (f"{first.candidates:,}", f"candidates for each of {first.events:,} test events"),
            ],
            story=story,
            sections=present(
                results_section([stale, fresh], "mrr", HINT),
                curves_section({name: read_history(run.folder) for name, run in runs.items()}, "mrr"),
                drift_section({data.name: data}),
                attention_section(subject_of_run(runs["keat-tgn"]), data, "KEAT-TGN", task),
            ),
            command=command_line(),
            style=explain_style(),
        ),
        path,
    )
