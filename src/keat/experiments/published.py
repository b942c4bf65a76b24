"""What others published: the paper's own numbers, those of TGB's leaderboard, of DyGLib and of TPNet."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from keat.experiments.line import Settings


@dataclass(frozen=True, slots=True)
class Published:
    """One number of one row of a table, for one dataset and split. ``metric`` None is the table's own."""

    row: str
    data: str
    split: str
    by: Literal["paper", "leaderboard", "DyGLib", "TPNet"]
    mean: float
    std: float | None = None
    metric: str | None = None

    def __str__(self) -> str:
        """With the digits it was printed with, three at least."""
        digits = max(3, len(f"{self.mean:g}".partition(".")[2]))
        return f"{self.mean:.{digits}f}" + ("" if self.std is None else f" ± {self.std:.{digits}f}")


@cache
def published(table: str) -> tuple[Published, ...]:
    """All numbers of a table; none where nobody published it."""
    return tuple(
        Published(record["row"], data, split, record["by"], *_spread(value), metric=record.get("metric"))
        for record in _numbers("published.toml").get(table, [])
        for split in ("test", "val")
        for data, value in record.get(split, {}).items()
    )


def _spread(value: float | list[float]) -> tuple[float, float | None]:
    return (value[0], value[1]) if isinstance(value, list) else (float(value), None)


def paper(kind: str) -> Any:
    """What the paper has of what needs no training: ``sizes``, ``parameters`` or ``ranks``, by name."""
    return _numbers("paper.toml")[kind]


@cache
def _numbers(file: str) -> Settings:
    return tomllib.loads((files("keat.experiments") / file).read_text(encoding="utf-8"))
