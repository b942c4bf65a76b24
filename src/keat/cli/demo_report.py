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
from keat.runs.explaining import subject_of_run
from keat.runs.reporting import HINT, about_data, command_line
from keat.tasks.link import LinkRanking


def demo_report(
    data: Dataset, task: LinkRanking, results: Sequence[Result], runs: Mapping[str, Run], path: Path
) -> Page:
    """Trained models beside the heuristics, stale and fresh."""
    stale, fresh = ([r for r in results if r.refresh == refresh] for refresh in (200, 1))
    mrr = {r.model: r.metrics["mrr"] for r in stale}
    best, best_fresh = (max(part, key=lambda r: r.metrics["mrr"]) for part in (stale, fresh))
    first = results[0]
    fresher = "it" if best_fresh.model == best.model else best_fresh.model
    story = (
        f"{best.model} is best with a test MRR of {best.metrics['mrr']:.3f}; where the state is always "
        f"fresh, {fresher} has {best_fresh.metrics['mrr']:.3f}. Of the trained ones, keat-rank has "
        f"{mrr['keat-rank']:.3f}, KEAT-TGN {mrr['keat-tgn']:.3f} and TGN {mrr['tgn']:.3f}: one seed and a "
        "few epochs each, so an impression and no verdict."
    )
    return write_report(
        Report(
            title=f"Who will pay whom next? {len(data.stream):,} simulated payments",
            eyebrow="keat demo",
            facts=about_data(data),
            tiles=[
                (f"{best.metrics['mrr']:.3f}", f"test MRR of {best.model}, the best"),
                (f"{mrr['keat-tgn']:.3f}", "test MRR of KEAT-TGN"),
                (f"{mrr['tgn']:.3f}", "test MRR of TGN"),
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
