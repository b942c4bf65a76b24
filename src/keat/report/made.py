"""What makes a table or figure that is not of one run: rows in plain values, and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

PlainRow = Mapping[str, object]  # a value for each column


@dataclass(frozen=True, slots=True)
class Made:
    """Rows of one table, tables by title where there are several, what to say below, and pictures."""

    rows: Sequence[PlainRow] = ()
    by_title: Mapping[str, Sequence[PlainRow]] = field(default_factory=dict)
    caption: str = ""
    pictures: Sequence[Path] = ()

    def tables(self, title: str) -> Mapping[str, Sequence[PlainRow]]:
        """To be shown, by title; one that nobody named has this."""
        return self.by_title or {title: self.rows}

    def to_json(self) -> dict[str, object]:
        """What there is of it."""
        pictures = [str(picture) for picture in self.pictures]
        told: dict[str, object] = {
            "rows": list(self.rows),
            "by_title": dict(self.by_title),
            "caption": self.caption,
            "picture": pictures[0] if pictures else "",
            "pictures": pictures,
        }
        return {name: value for name, value in told.items() if value}
