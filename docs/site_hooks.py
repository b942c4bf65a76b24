"""Hooks of the site (mkdocs.yml): links out of this folder, the examples as pages, and tables of settings."""

from __future__ import annotations

import json
import os
import re
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files, InclusionLevel

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
SETTINGS = re.compile(r"<!-- settings of ([\w.]+)\.(\w+) -->")
LINK = re.compile(r"\[([^\]]*)\]\(([^)#\s]+)\)")


def on_files(files: Files, config: Any) -> Files:
    """Each example is a page of the site."""
    for path in sorted([*EXAMPLES.glob("*.py"), *EXAMPLES.glob("*.ipynb")]):
        page = File.generated(
            config, f"examples/{path.stem}.md", content=_page(path), inclusion=InclusionLevel.NOT_IN_NAV
        )
        files.append(page)
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """A link to an example leads to its page. A link to other files of the repository, which the site does
    not hold, becomes the name of the file."""

    def followed(match: re.Match[str]) -> str:
        text, target = match.groups()
        if "://" in target:
            return match[0]
        place = Path(os.path.normpath(ROOT / "docs" / Path(page.file.src_uri).parent / target))
        if place.is_relative_to(ROOT / "docs"):
            return match[0]
        if place.parent == EXAMPLES:
            here = Path("docs", page.file.src_uri).parent
            return f"[{text}]({os.path.relpath(f'docs/examples/{place.stem}.md', here)})"
        return f"{text} (`{place.relative_to(ROOT)}`)" if text.strip("`") != str(place.name) else text

    return SETTINGS.sub(_settings, LINK.sub(followed, markdown))


def _settings(match: re.Match[str]) -> str:
    """The table of a configuration's settings, from its fields."""
    module, name = match.groups()
    rows = [
        f"| `{each.name}` | `{each.default!r}` | {each.metadata.get('help', '')} |"
        for each in fields(getattr(import_module(module), name))
    ]
    return "\n".join(["| setting | default | meaning |", "| --- | --- | --- |", *rows])


def _page(path: Path) -> str:
    if path.suffix == ".py":
        return f"# {path.name}\n\n```python\n{path.read_text(encoding='utf-8')}```\n"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    sources = [("".join(cell["source"]), cell["cell_type"] == "code") for cell in cells]
    return "\n\n".join(f"```python\n{source}\n```" if is_code else source for source, is_code in sources)
