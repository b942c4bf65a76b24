"""Every link of the pages leads somewhere: to a file, a folder, a picture or a heading."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

import keat

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^ *(`{3,}|~{3,}).*?^ *\1 *$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"(?<!\\)\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(\s*<?([^)\s>]*)>?(?:\s+\"[^\"]*\")?\s*\)")
HEADING = re.compile(r"^ {0,3}#{1,6}\s+(.+?)\s*#*\s*$", re.MULTILINE)
NAMED = re.compile(r"<a (?:id|name)=\"([^\"]+)\"")


def prose(text: str) -> str:
    """A page without its blocks of code."""
    return FENCE.sub("", text)


def links(text: str) -> list[str]:
    return [found.strip() for found in LINK.findall(CODE.sub("code", prose(text)))]


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub and the site make it."""
    shown = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)  # a link is read by its text
    shown = re.sub(r"[`*]", "", shown)
    return re.sub(r"[^\w\- ]", "", shown.strip().lower()).replace(" ", "-")


def anchors_of(text: str) -> set[str]:
    found: set[str] = set(NAMED.findall(text))
    seen: dict[str, int] = {}
    for heading in HEADING.findall(prose(text)):
        name = slug(heading)
        found.add(f"{name}-{seen[name]}" if name in seen else name)
        seen[name] = seen.get(name, 0) + 1
    return found


@cache
def anchors(page: Path) -> set[str]:
    return anchors_of(page.read_text(encoding="utf-8")) if page.suffix == ".md" else set()


def broken(page: Path, text: str) -> list[str]:
    """The links of a page that lead nowhere."""
    found = []
    for link in links(text):
        target, _, anchor = link.partition("#")
        if "://" in link or link.startswith("mailto:"):
            continue
        place = (page.parent / target).resolve() if target else page
        there = place.is_relative_to(ROOT) and place.exists()
        if there and anchor:
            headings = anchors(place) if target else anchors_of(text)
            there = anchor in headings
        if not there:
            found.append(link)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    assert broken(page, page.read_text(encoding="utf-8")) == []


def test_every_page_can_be_reached_from_the_first() -> None:
    reached, ahead = set(), [ROOT / "docs" / "index.md"]
    while ahead:
        page = ahead.pop()
        if page in reached:
            continue
        reached.add(page)
        targets = [link.partition("#")[0] for link in links(page.read_text(encoding="utf-8"))]
        places = [(page.parent / target).resolve() for target in targets if target and "://" not in target]
        ahead += [place for place in places if place.suffix == ".md"]
    assert {page for page in PAGES if page.is_relative_to(ROOT / "docs")} <= reached


def test_every_page_is_in_the_menu_of_the_site() -> None:
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    pages = {str(page.relative_to(ROOT / "docs")) for page in PAGES if page.is_relative_to(ROOT / "docs")}
    assert set(re.findall(r"\S+\.md$", menu, re.MULTILINE)) == pages


def test_the_reference_has_every_public_name() -> None:
    page = (ROOT / "docs" / "reference" / "index.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^::: keat\.(\w+)$", page, re.MULTILINE)) == [
        name for name in dir(keat) if name != "__version__"
    ]


def test_what_the_test_would_notice() -> None:
    page = ROOT / "README.md"
    text = (
        "# A: `--b`\n[fine](#a---b) [file](LICENSE) [web](https://example.org/x#y) `[code](none)`\n"
        "```\n[code](none)\n```\n[gone](none.md) [no heading](#b) ![picture](docs/images/none.png) "
        "[elsewhere](docs/understand/protocol.md#none) [outside](../none)\n"
    )
    assert broken(page, text) == [
        "none.md",
        "#b",
        "docs/images/none.png",
        "docs/understand/protocol.md#none",
        "../none",
    ]
