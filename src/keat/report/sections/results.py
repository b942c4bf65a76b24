"""What evaluating a model on a split came to, as a row of a table, a bar of a chart and an object of JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from keat.models.registry import TRAINED
from keat.report.html.bar_chart import bar_chart, bar_key
from keat.report.html.report_page import Section
from keat.report.html.text_table import Table

AGAINST_HEURISTICS = "A heuristic needs no training; a model that does not beat it has not earned its keep."


@dataclass(frozen=True, slots=True)
class Negatives:
    """The negatives that a positive was ranked against, or distinguished from."""

    strategy: str
    fewest: int
    most: int


@dataclass(frozen=True, slots=True)
class Result:
    """Metrics of one model on one split, and how they were measured."""

    model: str
    dataset: str
    split: str
    task: str
    metrics: dict[str, float]
    events: int  # targets that were scored
    refresh: int | None = None  # events scored before any is observed; none where there is no time
    candidates: int | None = None
    negatives: Negatives | None = None
    standard_errors: dict[str, float] | None = None  # where only a sample was asked
    intervals: dict[str, tuple[float, float]] | None = None  # 95 %
    seconds: float | None = None
    seed: int | None = None  # of the sampling

    def to_json(self) -> dict[str, object]:
        """Metrics stand beside the rest, by their names; what there is not is left out."""
        plain: dict[str, object] = {}
        for name in self.__slots__:
            value = getattr(self, name)
            if name == "metrics":
                plain |= value
            elif isinstance(value, Negatives):
                plain[name] = {part: getattr(value, part) for part in value.__slots__}
            elif value is not None:
                plain[name] = value
        return plain


def results_table(results: Sequence[Result]) -> Table:
    """Results of one task, best first."""
    first = results[0]
    metrics = list(first.metrics)
    timed = first.seconds is not None
    rows = [
        [
            r.model,
            *(f"{r.metrics[metric]:.4f}" for metric in metrics),
            *([f"{r.seconds:.1f}"] if timed else []),
        ]
        for r in sorted(results, key=lambda r: -r.metrics[metrics[0]])
    ]
    caption = f"{first.events:,} targets{_against(first)}{_freshness(first)}."
    errors = [r.standard_errors[metrics[0]] for r in results if r.standard_errors is not None]
    if errors:
        caption += f" A sample of the split: standard error of {metrics[0]} at most {max(errors):.4f}."
    spans = [
        f"{name} {low:.3f} to {high:.3f} ({r.model})"
        for r in results
        for name, (low, high) in (r.intervals or {}).items()
    ]
    if spans:
        caption += f" 95 % by the bootstrap over nodes: {', '.join(spans)}."
    title = f"{first.dataset}, {first.split} split: {first.task}"
    return Table(title, ["model", *metrics, *(["seconds"] if timed else [])], rows, caption)


def results_section(groups: Sequence[Sequence[Result]], metric: str, hint: str) -> Section:
    """Groups are results at different freshness, of the same models."""
    rows = best_first(groups, metric)
    key = bar_key([state_of(group[0].refresh) for group in groups]) if len(groups) > 1 else ""
    learned = [model for model, _ in rows if model in TRAINED]
    chart = bar_chart(f"test {metric}", rows, f"Test {metric} of every model, the best first", learned)
    return Section(
        "Models and heuristics",
        hint,
        f"{key}<figure>{chart}</figure>",
        [_titled(group, several=len(groups) > 1) for group in groups],
        beside=True,
    )


def best_first(groups: Sequence[Sequence[Result]], metric: str) -> list[tuple[str, list[float]]]:
    """Models with their metric in each group, by the best of them."""
    values = {
        r.model: [next(o.metrics[metric] for o in group if o.model == r.model) for group in groups]
        for r in groups[0]
    }
    return sorted(values.items(), key=lambda row: -max(row[1]))


def state_of(refresh: int | None) -> str:
    """How fresh it was, in words."""
    return "state always fresh" if refresh == 1 else f"state refreshed every {refresh} events"


def _titled(group: Sequence[Result], several: bool) -> Table:
    """Where a report has several, their freshness tells them apart."""
    table = results_table(group)
    return replace(table, title=state_of(group[0].refresh).capitalize()) if several else table


def _against(result: Result) -> str:
    """How many negatives a target was ranked against."""
    if result.negatives is None:
        return ""
    fewest, most = result.negatives.fewest, result.negatives.most
    return f", each against {most:,} negatives" + (f" (some {fewest:,})" if fewest < most else "")


def _freshness(result: Result) -> str:
    """How often the state was refreshed; a whole graph has none."""
    if result.refresh is None:
        return ""
    often = "at every distinct time" if result.refresh == 1 else f"every {result.refresh} events"
    return f"; state refreshed {often}"
