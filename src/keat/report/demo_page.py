"""The page that `keat demo` ends with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from keat.datasets.loading import Dataset
from keat.explain.subject import Subject
from keat.report.html.report_page import Page, Report, present, write_report
from keat.report.sections.attention_examples import attention_section
from keat.report.sections.curves import curves_section
from keat.report.sections.data_facts import about_data
from keat.report.sections.drift import drift_section
from keat.report.sections.results import AGAINST_HEURISTICS, Result, results_section
from keat.tasks.link import LinkRanking
from keat.training.fit import EpochReport


def write_demo_page(
    data: Dataset,
    task: LinkRanking,
    results: Sequence[Result],
    histories: Mapping[str, Sequence[EpochReport]],
    looked_at: Subject,
    path: Path,
) -> Page:
    """Trained models, whose ``histories`` are given, beside the heuristics, stale and fresh; and the
    attention of one of them."""
    stale, fresh = ([r for r in results if r.refresh == refresh] for refresh in (200, 1))
    mrr = {r.model: r.metrics["mrr"] for r in stale}
    heuristic = max((model for model in mrr if model not in histories), key=lambda model: mrr[model])
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
                results_section([stale, fresh], "mrr", AGAINST_HEURISTICS),
                curves_section(histories, "mrr"),
                drift_section({data.name: data}),
                attention_section(looked_at, data, "KEAT-TGN", task),
            ),
        ),
        path,
    )
