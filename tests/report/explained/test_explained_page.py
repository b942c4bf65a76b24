"""The page, opened in a real browser: its slider gives Python's numbers, and nothing complains."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from keat.analysis.what_if import all_at, attend, each_at, same_events, score
from keat.explain import Explanation, Names, explain_pair
from keat.explain.link_wording import counterfactual
from keat.models.tgn import TGN, TGNConfig
from keat.report.explained.attention_charts import axis
from keat.report.explained.explained_page import page, write_page
from trained_runs import payments, small, untrained

CONFIGS = [
    small(),
    small(delta="query", kernel="learnable"),
    small(modulate="both", shared_edge_weights=False),
]


def explained(config: TGNConfig) -> tuple[TGN, Explanation]:
    """A pair that met before, so that an event is in both lists."""
    model = untrained(config)
    last, t = payments().before("test"), int(payments().test.t[5])
    names = Names(label=lambda node: f"<em>&{node}", dataset="payments", model="keat-tgn")
    pair = int(last.src[-1]), int(last.dst[-1])
    return model, explain_pair(model, *pair, t, older=259_200, names=names, rank=(3.0, 115))


def whatif(model: TGN, x: Explanation, side: int, event: int, place: int, phi: bool) -> tuple[float, Any]:
    """Score and mean attention of both ends when an event (-1: all) has the age at a place of the sweep."""
    ages, own = torch.tensor([x.ages[place]]), x.ends[side].past
    found = []
    for end in x.ends:
        change = all_at if event < 0 else each_at
        z, attention = attend(model, change(end.past, ages, recompute_phi=phi, event_of=own))
        row = max(event, 0)
        found.append((z[row : row + 1], attention.alpha[row].mean(dim=1)[: len(end.neighbors)].tolist()))
    return float(score(model, found[0][0], found[1][0])), [alphas for _, alphas in found]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: f"{c.kernel}-{c.delta}-{c.modulate}")
def test_the_slider_gives_the_models_numbers(config: TGNConfig, browser: Any, tmp_path: Path) -> None:
    model, x = explained(config)
    assert same_events(x.ends[0].past, x.ends[1].past)[0].any()  # moved in both, below
    write_page(x, tmp_path / "page.html")
    tab = browser.new_page()
    complaints: list[str] = []
    tab.on("console", lambda message: complaints.append(message.text))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto((tmp_path / "page.html").as_uri())

    def shown() -> tuple[float, list[list[float]]]:
        alphas = [
            [float(tab.get_attribute(f"#alpha-{s}-{k}", "data-value")) for k in range(len(end.neighbors))]
            for s, end in enumerate(x.ends)
        ]
        return float(tab.get_attribute("#score", "data-value")), alphas

    value, alphas = shown()
    assert value == pytest.approx(x.score, abs=1e-5)
    assert alphas[0] == pytest.approx([n.attention for n in x.ends[0].neighbors], abs=1e-6)
    middle, last = len(x.ages) // 2, len(x.ages) - 1
    for side, event, place, phi in (
        (0, 0, 0, True),
        (0, 2, middle, True),
        (1, 1, last, True),
        (1, -1, middle, True),
        (0, -1, 3, False),
        (1, 0, middle, False),
    ):
        tab.select_option("#which", f"{side},{event}")
        tab.select_option("#mode", "phi" if phi else "psi")
        tab.locator("#age").fill(str(place))
        value, alphas = shown()
        expected, expected_alphas = whatif(model, x, side, event, place, phi)
        assert value == pytest.approx(expected, abs=2e-5)
        for mine, theirs in zip(alphas, expected_alphas, strict=True):
            assert mine == pytest.approx(theirs, abs=1e-5)
        assert tab.inner_text("#score").replace("−", "-") == f"{expected:.3f}"
    tab.click("#reset")
    assert shown()[0] == pytest.approx(x.score, abs=1e-5)
    assert complaints == []
    assert asked == [(tmp_path / "page.html").as_uri()]  # nothing is fetched from anywhere
    tab.close()


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_it_fits_any_screen(width: int, browser: Any, tmp_path: Path) -> None:
    _, x = explained(small())
    write_page(x, tmp_path / "page.html")
    tab = browser.new_page(viewport={"width": width, "height": 800})
    tab.goto((tmp_path / "page.html").as_uri())
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.is_visible("#age")
    tab.emulate_media(media="print")
    assert not tab.is_visible("#age")  # paper has no slider
    assert tab.is_visible("table")
    assert tab.is_visible("thead")  # and the wide layout, however narrow
    tab.close()


def test_the_keyboard_moves_it(browser: Any, tmp_path: Path) -> None:
    _, x = explained(small())
    write_page(x, tmp_path / "page.html")
    tab = browser.new_page()
    tab.goto((tmp_path / "page.html").as_uri())
    before = tab.inner_text("#age-label")
    tab.focus("#age")
    tab.keyboard.press("ArrowRight")
    assert (before, tab.inner_text("#age-label")) == ("as it was", "0 s")
    assert tab.get_attribute("#age", "aria-valuetext") == "0 s"  # said aloud, not "0" of "-1 to 60"
    tab.close()


def test_the_page_stands_alone_and_names_are_text() -> None:
    _, x = explained(small())
    text = page(x)
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", text)
    assert "$" not in re.sub(r"\$\{", "", text)  # every field of the template is filled
    assert "<em>" not in text
    assert "&lt;em&gt;&amp;" in text
    assert "rank 3 of 115" in text


def test_the_sentence_is_about_the_event_that_matters_most() -> None:
    _, x = explained(small())
    sentence = counterfactual(x)
    assert sentence is not None
    every = [n for end in x.ends for n in end.neighbors]
    most = max(every, key=lambda n: abs(n.score_if_older - x.score))
    assert f"would be {most.score_if_older:.3f}".replace("-", "−") in sentence
    assert "3 days older" in sentence
    assert sentence.startswith("In the attention alone: ")
    told = x.most_telling()
    assert told is not None
    side, k = next((s, end.neighbors.index(told[1])) for s, end in enumerate(x.ends) if end is told[0])
    assert f'<option value="{side},{k}" selected>' in page(x)
    of_destination = max(x.ends[1].neighbors, key=lambda n: abs(n.score_if_older - x.score))
    assert f"{of_destination.score_if_older:.3f}".replace("-", "−") in str(counterfactual(x, sides=(1,)))


def test_the_slider_says_which_clock_it_has() -> None:
    by_query, by_neighbor = (page(explained(small(delta=delta))[1]) for delta in ("query", "neighbor"))
    assert "Age at the question" in by_query
    assert "<small>Δ " not in by_query
    assert "Δ: its age at the neighbour" in by_neighbor
    assert "<small>Δ " in by_neighbor


def test_a_narrow_band_is_seen_from_near() -> None:
    assert list(axis([[0.1, 0.2], [0.7, 0.3]])) == pytest.approx([0.0, 0.735])
    low, high = axis([[0.20, 0.21], [0.19, 0.2]])
    assert 0.18 < low < 0.19 < 0.21 < high < 0.22


def test_a_pair_without_a_past_has_a_page_too() -> None:
    model = untrained(small())
    model.state._recent.clear()
    x = explain_pair(model, 1, 2, 10**9, older=100)
    assert counterfactual(x) is None
    text = page(x)
    assert "memory alone" in text
    assert "Does attention point at what mattered?" not in text
