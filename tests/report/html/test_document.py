"""What every page has in common."""

from __future__ import annotations

from keat.report.html.document import document, in_notebook

PARTS = {"title": "a < b", "eyebrow": "e", "facts": "f", "tiles": [("1", "<one>")], "story": "", "style": ""}


def test_text_is_text_and_what_is_empty_is_left_out() -> None:
    page = document(**PARTS, sections="<section>s</section>")  # type: ignore[arg-type]
    assert "<title>a &lt; b</title>" in page
    assert "<h1>a &lt; b</h1>" in page
    assert "<li><b>1</b>&lt;one&gt;</li>" in page
    assert "<section>s</section>" in page
    assert 'class="story"' not in page
    assert 'class="notice"' not in page
    assert "$" not in page


def test_a_page_in_a_notebook_stays_by_itself() -> None:
    assert in_notebook('<p class="x">').startswith('<iframe srcdoc="&lt;p class=&quot;x&quot;&gt;"')
