"""Tables in Markdown: what people call things is shown as it is."""

from __future__ import annotations

import pytest

from keat.report.html.report_page import Report, markdown
from keat.report.html.text_table import Strong, Table, as_markdown

SHOWN = [
    ("hits@1", "hits@1"),
    ("ap_batch_mean", "ap_batch_mean"),
    ("-0.0080 [-0.0472, +0.0311]", "-0.0080 [-0.0472, +0.0311]"),
    ("books & co", "books & co"),
    ("_a_ *b* **c**", r"\_a\_ \*b\* \*\*c\*\*"),
    ("a|b", r"a\|b"),
    ("[x](https://example.org)", r"[x\](https://example.org)"),
    ("<script>", r"\<script>"),
    ("`code`", r"\`code\`"),
    ("$x^2$", r"\$x^2\$"),
    ("&lt;", r"\&lt;"),
    (r"c:\data", r"c:\\data"),
    ("two\nlines", "two lines"),
]


@pytest.mark.parametrize(("text", "shown"), SHOWN, ids=[text for text, _ in SHOWN])
def test_markup_is_escaped_and_nothing_else(text: str, shown: str) -> None:
    assert as_markdown(text) == shown


def test_every_part_of_a_report_is() -> None:
    table = Table("of *a*", ["col|umn", "b"], [["<i>", Strong("1")], ["two\nlines", "x_"]], "_caption_")
    sections = [type("S", (), {"tables": [table]})()]
    text = markdown(Report("on [a](b)", "", "*facts*", [], "story `s`", sections, "keat train 'a```b'"))
    assert text.splitlines() == [
        r"# on [a\](b)",
        "",
        r"\*facts\*",
        "",
        r"story \`s\`",
        "",
        r"## of \*a\*",
        "",
        r"| col\|umn | b |",
        "| --- | --- |",
        r"| \<i> | **1** |",
        r"| two<br>lines | x\_ |",
        "",
        r"\_caption\_",
        "",
        "````text",
        "keat train 'a```b'",
        "````",
    ]
