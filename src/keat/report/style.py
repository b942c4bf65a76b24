"""The look that every page of keat shares."""

from __future__ import annotations

from importlib.resources import files


def base_style() -> str:
    """CSS for light and dark, phones and paper; a page adds what only it needs."""
    return (files("keat.report") / "assets" / "base.css").read_text(encoding="utf-8")
