"""Every number of a page of results that looks like a metric is in a ledger, or on a list that says why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("studies", reason="studies/ is not on the path; run as python -m pytest")

from page_numbers import Numbers, differences, is_among, numbers_in, of_recipes, of_study, unknown_numbers
from studies.study import RESULTS
from test_published_tables import REPORTS

from studies import evidence

LEDGER = RESULTS / "ledger.jsonl"
TRIALS = RESULTS / "rank_trials.jsonl"  # of keat-rank: single runs of what is no setting
RECIPES: dict[str, tuple[str, ...]] = {  # whose runs a page tells of
    "ablations": ("table-modulation", "figure-width", "table-time-encodings", "table-jodie", "table-kernels"),
    "board": ("table-board",),
    "backbones": ("uci-backbones", "uci-readings", "wikipedia-readings"),
    "evidence": ("table-evidence", "table-evidence-links", "table-evidence-late"),
    "kernels": ("table-kernels", "table-link", "table-released", "table-rank"),
    "rank": ("table-rank", "rank-parts", "rank-training", "uci-cooccurrence", "wikipedia-cooccurrence"),
    "rank_editions": ("rank-editions", "table-rank"),
    "rank_features": ("table-rank-features",),
    "rank_groups": ("rank-editions",),
}
BY_HAND = "the paired interval over seeds of two rows, worked out for the page"
ALLOWED: dict[str, dict[str, str]] = {  # numbers that no ledger has, each with the reason
    "dgraphfin": {"0.660": "dgraphfin_full_size.jsonl has it"},
    "node_labels": dict.fromkeys(("+0.053", "+0.222", "-0.058", "+0.054"), BY_HAND),
    "rank_training": {
        "+0.013": "of the second seed alone",
        "0.017": "after two epochs, by_epoch of its lines",
    },
    "trade": dict.fromkeys(("0.855", "0.735", "0.374"), "published, of tgbn-trade")
    | dict.fromkeys(("0.011", "0.026"), "a seed of the legacy protocol less that of the strict one"),
}
OF_DIFFERENCES = ("rank_training",)  # whose sentences tell how far two rows of a table are apart
PAGES = [*sorted(RESULTS.glob("*.md")), RESULTS.parent / "understand" / "findings.md"]


def numbers_of(name: str) -> Numbers:
    """What the ledgers of a page know; findings are of all pages."""
    numbers = Numbers()
    for each in [*RECIPES, *REPORTS] if name == "findings" else [name]:
        if each in REPORTS:
            ledger, report = REPORTS[each]
            numbers.join(of_study(ledger.lines(), report))
        if each in RECIPES:
            numbers.join(of_recipes(LEDGER, RECIPES[each]))
        if each == "rank_groups":
            lines = map(json.loads, TRIALS.read_text(encoding="utf-8").splitlines())
            numbers.add("", [value for line in lines for value in line.values() if isinstance(value, float)])
        if each == "evidence":
            numbers.add("", numbers_in(evidence.report(LEDGER)))
    return numbers


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_number_of_a_page_was_measured(page: Path) -> None:
    text, numbers = page.read_text(encoding="utf-8"), numbers_of(page.stem)
    if page.stem in OF_DIFFERENCES:
        numbers.anywhere.update(differences(text))
    assert unknown_numbers(text, numbers, ALLOWED.get(page.stem, {})) == []


def test_what_is_allowed_is_needed() -> None:
    for name, tokens in ALLOWED.items():
        text = (RESULTS / f"{name}.md").read_text(encoding="utf-8")
        missing = " ".join(unknown_numbers(text, numbers_of(name), {}))
        assert [token for token in tokens if f"{token} in:" not in missing] == [], name


def test_a_number_that_nobody_measured_is_found() -> None:
    numbers = Numbers()
    numbers.add("TGN", [0.52651, 0.0056, -0.0081])
    numbers.add("KEAT", [0.5184])
    assert unknown_numbers("TGN has 0.5265 ± 0.0056, or 0.527, 0.0081 less.", numbers, {}) == []
    assert unknown_numbers("| TGN | 3 | 0.5265 |\n`0.1234`\n2.3456 or 12.345 or 0.12", numbers, {}) == []
    for text in ("0.5898", "| TGN | 0.5184 |", "+0.0081", "−0.5265"):
        (found,) = unknown_numbers(text, numbers, {})
        assert "in:" in found
    assert unknown_numbers("0.5898", numbers, {"0.5898": "said by others"}) == []
    assert is_among("−0.0081", [-0.0081])


def test_differences_are_of_one_column() -> None:
    found = differences("| a | 0.500 | 0.900 |\n| b | 0.400 | 0.700 |\n")
    assert is_among("+0.100", found)
    assert is_among("−0.200", found)
    assert not is_among("+0.400", found)
