"""Packages whose names are loaded when they are first used.

Such a package lists its names once, in the stub that type checkers read (`__init__.pyi`). Importing it does
not import what it consists of, and a reader sees on one page what there is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

_LISTED = re.compile(r"^from ([\w.]+) import \w+ as (\w+)", re.MULTILINE)


def listed_names(init: str) -> dict[str, str]:
    """The names of a package and the module each is at home in, as the stub beside ``init`` lists them."""
    stub = Path(init).with_suffix(".pyi").read_text(encoding="utf-8")
    return {name: module for module, name in _LISTED.findall(stub)}


def loader(package: str, home: Mapping[str, str]) -> Callable[[str], Any]:
    """What ``__getattr__`` of such a package is."""

    def load(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        return getattr(import_module(home[name]), name)

    return load
