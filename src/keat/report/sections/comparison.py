"""The arms of a recipe side by side: as a table, with a dot for every seed, and in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypedDict

from keat.report.html.bar_chart import Dots, dot_chart, dot_key
from keat.report.html.line_chart import figures
from keat.report.html.report_page import Section
from keat.report.html.text_table import Strong, Table

OF_TRAINING = {  # headings of columns that are no metrics of the test split
    "loss": "loss",
    "parameters": "parameters",
    "epochs": "epochs trained",
    "train_seconds": "seconds of training",
}
OF_TEST = {"milliseconds": "ms a question", "over_heuristic": "over the best heuristic"}


class Row(TypedDict):
    """An arm that was run: numbers as text, but for the metric of every seed."""

    label: str
    sample: int | None
    model: str
    heuristic: bool
    seeds: int
    val: str
    val_refresh: str  # how fresh the state was
    test: str
    test_refresh: str
    values: dict[int, float]
    by_refresh: dict[str, str]
    also: dict[str, str]
    difference: str | None
    clear: bool
    beside: dict[str, str]


class Other(TypedDict):
    """A row that others published and that was not run."""

    label: str
    beside: dict[str, str]


class RecipeTable(TypedDict):
    """One dataset of a recipe, as it goes into JSON."""

    recipe: str
    title: str
    about: str
    data: str
    metric: str
    also: list[str]
    refreshes: list[str]
    rows: list[Row]
    others: list[Other]
    notes: list[str]  # of the code, the intervals, and what is not there


def headline(table: RecipeTable) -> str:
    """The number of the test split that is compared. Of several refreshes it is the first."""
    return f"test {table['metric']}{_fresh(table, 'test_refresh')}"


def _fresh(table: RecipeTable, which: Literal["val_refresh", "test_refresh"]) -> str:
    """How fresh the state was, as a heading says it: as in most rows. Those that differ say so themselves.
    A whole graph has no state."""
    usual = _usual(table, which)
    return f", refresh {usual}" if usual.isdigit() else ""


def _usual(table: RecipeTable, which: Literal["val_refresh", "test_refresh"]) -> str:
    found = [row[which] for row in table["rows"]]
    return max(found, key=found.count) if found else ""


def _number(row: Row, which: Literal["val", "test"], table: RecipeTable) -> str:
    """A cell, with its freshness where it is not that of the heading."""
    own = row["val_refresh"] if which == "val" else row["test_refresh"]
    usual = _usual(table, "val_refresh" if which == "val" else "test_refresh")
    return row[which] if own == usual else f"{row[which]} (refresh {own})"


def shown(table: RecipeTable) -> Table:
    """The table as people read it. A difference stands out where its interval excludes zero. Where the
    state was refreshed in several ways, the metric has a column for each, and all else is of the first."""
    metric, also = table["metric"], table["also"]
    others_too = table["refreshes"][1:]
    rows, others = table["rows"], table["others"]
    theirs = [*(row["beside"] for row in rows), *(other["beside"] for other in others)]
    beside = list(dict.fromkeys(column for numbers in theirs for column in numbers))
    columns = ["model", "seeds", f"val {metric}{_fresh(table, 'val_refresh')}", headline(table)]
    columns += [f"test {metric}, refresh {refresh}" for refresh in others_too]
    columns += [_heading(name, table) for name in also]
    paired = any(row["difference"] for row in rows)
    columns += [f"difference in test, paired{_fresh(table, 'test_refresh')}"] if paired else []
    samples = {row["sample"] for row in rows}
    of_all = samples.pop() if len(samples) == 1 else None  # said once
    body: list[list[str]] = []
    for row in rows:
        difference = row["difference"] or ""
        own = row["sample"] if row["sample"] != of_all else None
        label = row["label"] + (f" ({own:,} positives)" if own else "")
        cells = [label, str(row["seeds"]), _number(row, "val", table), _number(row, "test", table)]
        cells += [row["by_refresh"].get(refresh, "") for refresh in others_too]
        cells += row["also"].values()
        cells += [Strong(difference) if row["clear"] else difference] if paired else []
        body.append([*cells, *(row["beside"].get(column, "") for column in beside)])
    for other in others:
        nothing = [""] * (len(columns) - 1)
        body.append([other["label"], *nothing, *(other["beside"].get(column, "") for column in beside)])
    title = f"{table['title']}: {table['data']}" + (f", {of_all:,} positives" if of_all else "")
    return Table(title, [*columns, *beside], body, " ".join([table["about"], *table["notes"]]))


def side_by_side(tables: Sequence[RecipeTable]) -> list[Table]:
    """Models by datasets, test split, where there is more than one dataset: the tables at a glance."""
    if len(tables) < 2:
        return []
    found = {
        table["data"]: {row["label"]: _number(row, "test", table) for row in table["rows"]}
        for table in tables
    }
    labels = dict.fromkeys(label for rows in found.values() for label in rows)
    body = [[label, *(rows.get(label, "") for rows in found.values())] for label in labels]
    title = f"{tables[0]['title']}: {headline(tables[0])}, all datasets"
    return [Table(title, ["model", *found], body)]


def _heading(name: str, table: RecipeTable) -> str:
    if name in OF_TRAINING:
        return OF_TRAINING[name]
    return f"{OF_TEST.get(name, f'test {name}')}{_fresh(table, 'test_refresh')}"


def table_section(table: RecipeTable) -> Section:
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
        "(Student's t). " + " ".join(table["notes"])
    )
    return Section(seen.title, body=dot_key() + figures([chart]), tables=[replace(seen, caption=caption)])


def _numbers(beside: Mapping[str, str]) -> list[float]:
    """What others published of the metric that is compared; of another metric a column says so."""
    return [float(number.split()[0]) for column, number in beside.items() if "," not in column]


def verdict_of(tables: Sequence[RecipeTable]) -> str:
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
