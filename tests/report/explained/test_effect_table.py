"""Effects as bars and numbers."""

from __future__ import annotations

import re

from keat.report.explained.effect_table import EFFECT, Heading, effect_table

COLUMNS = [Heading("part"), Heading("what is known"), Heading("times", "times", right=True), EFFECT]


def test_bars_go_from_the_middle_and_names_are_text() -> None:
    table = effect_table(COLUMNS, [["<a>\nrow 3", "much", "2", -1.0], ["b", "little", "1", 0.5]])
    bars = re.findall(r'class="effect" style="left:([\d.]+)%;width:([\d.]+)%"', table)
    assert bars == [("0.00", "50.00"), ("50.00", "25.00")]
    assert "effect −1.00 … +1.00" in table
    assert '<span class="who">&lt;a&gt;</span><small>row 3</small>' in table
    assert '<td class="right" data-label="times">2</td>' in table
    assert table.count('<td class="wide">') == 6  # names, what is known, and bars have a line of their own
    assert ">−1.000</td>" in table
    assert ">+0.500</td>" in table


def test_one_axis_may_serve_two_tables() -> None:
    assert "width:12.50%" in effect_table([Heading("part"), EFFECT], [["a", 0.5]], reach=2.0)


def test_nothing_has_an_effect() -> None:
    assert "width:0.00%" in effect_table([Heading("part"), EFFECT], [["a", 0.0]])
    assert "<tbody>\n\n</tbody>" in effect_table([Heading("part"), EFFECT], [])
