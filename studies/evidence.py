"""What the runs of the fair test of KEAT say beyond their tables: docs/results/evidence.md.

    python -m studies.evidence

From the ledger of recipes alone: how the spread over seeds changes with a kernel, and whether a gain is
another one with features, or with another time encoding or age.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import stats

from keat.experiments.measured import Known, measured
from keat.experiments.recipe import load_recipe
from keat.experiments.statistics import paired_difference
from studies.study import RESULTS, table

ATTRIBUTES, LINKS, LATE = "table-evidence", "table-evidence-links", "table-evidence-late"
TOLD = {ATTRIBUTES: "attribute", LINKS: "links", LATE: "attribute"}
SEEDS = 20  # of a row, at most
QUERY, NEIGHBOR, FIXED = "TGN, Δ query", "TGN, Δ neighbor", "TGN, Δ query, φ fixed"
SPREADS = (  # (recipe, data, plain row, what is added)
    (LINKS, "bitcoin_otc", QUERY, "Laplacian"),
    (LINKS, "bitcoin_otc_bare", QUERY, "Laplacian"),
    (LINKS, "bitcoin_otc", FIXED, "Laplacian"),
    (LINKS, "bitcoin_otc", NEIGHBOR, "Laplacian"),
    (ATTRIBUTES, "us_flights", "TGAT", "learned width"),
    (ATTRIBUTES, "icews14", "TGAT", "learned width"),
    (ATTRIBUTES, "icews14", "TGAT", "gated"),
    (ATTRIBUTES, "bitcoin_otc", "TGAT", "learned width"),
    (LATE, "us_flights_late", "TGAT", "Laplacian"),
    (LATE, "us_flights_late", "TGAT", "learned width"),
)
WITH, BARE = ("bitcoin_otc", QUERY), ("bitcoin_otc_bare", QUERY)
LAPLACIAN = " + Laplacian"
QUESTIONS = (  # of links: a row, and the row it is more or less than
    (
        "the gain of the kernel, with ratings less without",
        ((*WITH, LAPLACIAN), WITH),
        ((*BARE, LAPLACIAN), BARE),
    ),
    (
        "the gain of the kernel, φ cosine less φ fixed",
        ((*WITH, LAPLACIAN), WITH),
        (("bitcoin_otc", FIXED, LAPLACIAN), ("bitcoin_otc", FIXED)),
    ),
    ("plain TGN, φ fixed less φ cosine", (("bitcoin_otc", FIXED), WITH), None),
    (
        "TGN + Laplacian, Δ query less Δ neighbor",
        ((*WITH, LAPLACIAN), ("bitcoin_otc", NEIGHBOR, LAPLACIAN)),
        None,
    ),
    ("plain TGN, Δ query less Δ neighbor", (WITH, ("bitcoin_otc", NEIGHBOR)), None),
    (
        "TGN, Δ query + Laplacian less plain, Δ neighbor",
        ((*WITH, LAPLACIAN), ("bitcoin_otc", NEIGHBOR)),
        None,
    ),
)
Row = tuple[str, ...]  # data, label, and what is added to it
Results = dict[tuple[str, str], dict[int, float]]  # by data and label, then by seed


def results_of(ledger: Path, name: str) -> Results:
    """The metric that a recipe compares, of every run."""
    recipe = replace(load_recipe(name), seeds=SEEDS)
    found: Results = {}
    for job, line in measured(recipe, {}, Known.of(ledger)):
        found.setdefault((job.data, job.arm), {})[job.seed] = line.tested()[recipe.metric]
    return found


def ratio_of_spreads(
    ours: list[float], theirs: list[float], level: float = 0.95
) -> tuple[float, float, float]:
    """The ratio of two standard deviations with an interval by Fisher's F, which takes both for normal."""
    ratio = float(np.var(ours, ddof=1) / np.var(theirs, ddof=1))
    tail, freedom = (1 - level) / 2, (len(ours) - 1, len(theirs) - 1)
    low, high = ratio / stats.f.ppf(1 - tail, *freedom), ratio / stats.f.ppf(tail, *freedom)
    return math.sqrt(ratio), math.sqrt(low), math.sqrt(high)


def report(ledger: Path) -> str:
    results = {name: results_of(ledger, name) for name in TOLD}
    return "\n".join([*_spreads(results), "", *_questions(results[LINKS])])


def _spreads(results: dict[str, Results]) -> list[str]:
    rows = []
    for name, data, plain, kernel in SPREADS:
        theirs, ours = (results[name].get((data, label), {}) for label in (plain, f"{plain} + {kernel}"))
        seeds = sorted(ours.keys() & theirs.keys())
        if len(seeds) > 2:
            numbers = ratio_of_spreads([ours[seed] for seed in seeds], [theirs[seed] for seed in seeds])
            told = "{:.2f} [{:.2f}, {:.2f}]".format(*numbers)
            rows.append([f"{data}, {TOLD[name]}", plain, kernel, str(len(seeds)), told])
    return table(["data", "model", "kernel", "seeds", "standard deviation, with over without"], rows)


def _questions(links: Results) -> list[str]:
    rows = []
    for question, first, second in QUESTIONS:
        gains = [_gain(links, *pair) for pair in (first, second) if pair is not None]
        found = paired_difference(gains[0], gains[1] if len(gains) > 1 else dict.fromkeys(gains[0], 0.0))
        if found is not None:
            rows.append([question, str(found.n), str(found)])
    return table(["bitcoin_otc, links, AP", "seeds", "difference, paired"], rows)


def _gain(links: Results, ours: Row, theirs: Row) -> dict[int, float]:
    mine, other = (links.get((row[0], "".join(row[1:])), {}) for row in (ours, theirs))
    return {seed: mine[seed] - other[seed] for seed in mine.keys() & other.keys()}


if __name__ == "__main__":
    print(report(RESULTS / "ledger.jsonl"))
