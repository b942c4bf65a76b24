"""Reports, opened in a real browser: the numbers are those of the run, and nothing complains."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import ORDERS, keat, write_orders
from small_plan import small_plan

from keat.datasets.dgraphfin_generator import ContactsConfig, write_dgraphfin
from keat.models.registry import LINK_MODELS


class Opened:
    """A page in a browser, with what it asked for and what it complained of."""

    def __init__(self, browser: Any, path: Path, **options: Any) -> None:
        self.path, self.asked, self.complaints = path, list[str](), list[str]()
        self.tab = browser.new_page(**options)
        self.tab.on("console", lambda message: self.complaints.append(message.text))
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.tab.on("request", lambda request: self.asked.append(request.url))
        self.tab.goto(path.as_uri())

    def rows(self) -> list[list[str]]:
        """Cells of every row of every table, as the browser shows them."""
        cells = "row => [...row.cells].map(cell => cell.textContent.replaceAll('\\u00a0', ' '))"
        rows: list[list[str]] = self.tab.evaluate(f"[...document.querySelectorAll('tbody tr')].map({cells})")
        return rows

    def assert_quiet(self) -> None:
        assert self.complaints == []
        assert [url for url in self.asked if not url.startswith("data:")] == [self.path.as_uri()]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("demo")
    return keat("demo", "--events", "1500", "--epochs", "2", "--out", folder, "--json").json


def test_the_demo_ends_with_a_report(demo: dict[str, Any], browser: Any) -> None:
    page = Opened(browser, Path(demo["report"]))
    rows = page.rows()
    metrics = ("mrr", "hits@1", "hits@3", "hits@10")
    for result in demo["results"]:
        assert [result["model"], *(f"{result[metric]:.4f}" for metric in metrics)] in [
            row[:5] for row in rows
        ]
    text = page.tab.inner_text("body")
    for title in (
        "Models and heuristics",
        "How training went",
        "Does the clock change?",
        "What it looked at",
    ):
        assert title in text
    assert page.tab.locator("svg[role=img]").count() == 4  # results, loss, validation, gaps
    shares = [float(share.split()[0]) for share in page.tab.locator(".end td:nth-child(6)").all_inner_texts()]
    assert len(shares) > 0
    assert page.tab.locator(".end").count() == 2
    assert sum(shares) == pytest.approx(200, abs=1.5)  # of two examples
    page.assert_quiet()


def test_its_tables_are_there_for_a_page_of_documentation(demo: dict[str, Any]) -> None:
    text = Path(demo["report"]).with_suffix(".md").read_text(encoding="utf-8")
    for result in demo["results"]:
        assert f"| {result['model']} | {result['mrr']:.4f} | {result['hits@1']:.4f} |" in text
    assert "## Gaps in payments" in text


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_it_fits_screens_and_paper(width: int, demo: dict[str, Any], browser: Any) -> None:
    page = Opened(browser, Path(demo["report"]), viewport={"width": width, "height": 800})
    assert page.tab.evaluate("document.documentElement.scrollWidth") <= width
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.tab.evaluate(background)
    page.tab.emulate_media(color_scheme="dark")
    dark = page.tab.evaluate(background)
    assert light != dark
    page.tab.emulate_media(media="print", color_scheme="dark")
    assert page.tab.evaluate(background) == light  # ink is for letters
    assert page.tab.is_visible("table")


def test_numbers_stay_in_their_card_and_paper_is_no_phone(browser: Any, tmp_path: Path) -> None:
    value = keat("reproduce", "figure-moments", "--out", tmp_path / "m.png", "--json").json
    page = Opened(browser, Path(value["report"]), viewport={"width": 375, "height": 800})
    first = value["rows"][0]
    assert page.rows()[0] == ["0.5", "0", f"{first['R_n']:.4g}", f"{first['closed form']:.4g}"]
    for row in page.rows():
        assert max(map(len, row)) <= len("5.645e-06")
    edge = "document.querySelector('{}').getBoundingClientRect().right"
    assert page.tab.evaluate(edge.format("table")) <= page.tab.evaluate(edge.format("section"))
    head = "getComputedStyle(document.querySelector('thead')).display"
    table = Opened(browser, _data_report(tmp_path), viewport={"width": 375, "height": 800})
    assert table.tab.evaluate("document.documentElement.scrollWidth") <= 375
    assert table.tab.evaluate(head) == "none"  # a card a row
    assert "jodie-reddit are those of the docstring" in table.tab.inner_text("section .hint")
    table.tab.emulate_media(media="print")
    assert table.tab.evaluate(head) == "table-header-group"


def _data_report(folder: Path) -> Path:
    return Path(keat("reproduce", "table-data", "--out", folder / "d.png", "--json").json["report"])


def test_training_ends_with_a_report(browser: Any, tmp_path: Path) -> None:
    file = write_orders(tmp_path)
    run = tmp_path / "run"
    arguments = ("train", "keat-tgn", file, *ORDERS, "--epochs", "2", "--set", "dim=8", "--out", run)
    value = keat(*arguments, "--json").json
    assert value["report"] == str(run / "report.html")
    page = Opened(browser, run / "report.html")
    rows = page.rows()
    for name, metrics in {"keat-tgn": value["test"], **value["beside"]}.items():
        assert [name, *(f"{number:.4f}" for number in metrics.values())] in rows
    assert set(value["beside"]) == {name for name, entry in LINK_MODELS.items() if entry.heuristic}
    assert f"{value['val']['mrr']:.4f}" in page.tab.inner_text(".tiles")
    page.assert_quiet()
    ran = keat(*arguments, "--resume")
    assert ran.out.splitlines()[-1] == f"The report: {run / 'report.html'}"


def test_node_tasks_have_one_too(tmp_path: Path) -> None:
    run = tmp_path / "run"
    arguments = ("payments:2000", "--period", "week", "--epochs", "1", "--set", "dim=8", "--out", run)
    value = keat("train", "tgn", *arguments, "--json").json
    text = (run / "report.md").read_text(encoding="utf-8")
    assert f"| tgn | {value['test']['ndcg@10']:.4f} |" in text
    assert f"| moving-average | {value['beside']['moving-average']['ndcg@10']:.4f} |" in text
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "What it looked at" not in page


@pytest.mark.parametrize("model", ["gearsage", "keat-gearsage"])
def test_a_whole_graph_has_one_too(model: str, browser: Any, tmp_path: Path) -> None:
    graph, run = tmp_path / "graph.npz", tmp_path / "run"
    write_dgraphfin(graph, 400, 600, seed=1, config=ContactsConfig(fraud_share=0.3))
    arguments = ("train", model, graph, "--epochs", "2", "--out", run)
    value = keat(*arguments, "--json").json
    assert value["report"] == str(run / "report.html")
    assert list(value["beside"]) == ["degree", "logistic"]
    page = Opened(browser, run / "report.html", viewport={"width": 360, "height": 800})
    rows = page.rows()
    for name, metrics in {model: value["test"], **value["beside"]}.items():
        assert [name, *(f"{number:.4f}" for number in metrics.values())] in rows
    with np.load(graph) as arrays:
        y = arrays["y"][arrays["test_mask"]]
    assert ["test", f"{len(y)}", f"{(y == 1).sum()}", f"{100 * (y == 1).mean():.1f} %"] in rows
    assert f"{value['val']['auc']:.4f}" in page.tab.inner_text(".tiles")
    assert "seed 1 · " in page.tab.inner_text(".facts")
    fades = model == "keat-gearsage"
    assert page.tab.locator("svg[role=img]").count() == 4 + fades  # results, reliability, loss, validation, ψ
    assert ("How evidence fades" in page.tab.inner_text("body")) == fades
    assert page.tab.evaluate("document.documentElement.scrollWidth") <= 360
    page.assert_quiet()
    text = (run / "report.md").read_text(encoding="utf-8")
    assert f"| logistic | {value['beside']['logistic']['auc']:.4f} |" in text
    said = keat(*arguments, "--resume").out.splitlines()
    assert said[-1] == f"The report: {run / 'report.html'}"
    assert any(re.match(rf"│ degree +│ {value['beside']['degree']['auc']:.4f} │", line) for line in said)


def test_reproducing_ends_with_a_report(browser: Any, tmp_path: Path) -> None:
    plan = small_plan(tmp_path, epochs=2, label="KEAT & kernel", published="published = { mine = 0.25 }")
    command = (*plan, "--out", tmp_path / "small.png")
    value = keat(*command, "--json").json
    assert value["report"] == str(tmp_path / "small.html")
    page = Opened(browser, tmp_path / "small.html")
    rows = page.rows()
    (table,) = value["tables"]
    for row in table["rows"]:
        expected = [row["label"], str(row["seeds"]), row["val"], row["test"], row["difference"] or ""]
        assert [*expected, row["beside"].get("paper", "")] in rows
    assert "What it looked at" in page.tab.inner_text("body")
    assert page.tab.locator("svg[role=img]").count() == 4  # dots, loss, validation, gaps
    page.assert_quiet()
    assert page.tab.inner_text(".story").count("KEAT & kernel on mine") == 1
    assert keat(*command).out.splitlines()[-1] == f"The report: {tmp_path / 'small.html'}"
    markdown = keat(*command, "--markdown")
    assert markdown.out.startswith("| model |")
    assert "The report:" in markdown.err  # so that the table can go into a file


def test_a_computed_figure_is_in_its_report(browser: Any, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    value = keat("reproduce", "figure-moments", "--out", tmp_path / "m.png", "--json").json
    page = Opened(browser, Path(value["report"]))
    assert page.tab.evaluate("document.querySelector('img').naturalWidth") > 100
    assert len(page.rows()) == len(value["rows"])
    page.assert_quiet()


def test_reports_stand_alone(demo: dict[str, Any]) -> None:
    text = Path(demo["report"]).read_text(encoding="utf-8")
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", text)
    assert "<script" not in text
