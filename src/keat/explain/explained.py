"""What every explanation has: whose score it is, when, in which data, and a plain sentence why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from keat.events.units import TimeUnit


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Explained:
    """A score that was explained. ``unit`` is that of all times."""

    model: dict[str, Any]
    dataset: str | None
    unit: TimeUnit
    source: str | int
    destination: str | int
    t: int
    score: float
    observed: int | None  # events of the dataset, from its first, that the model had seen
    notice: str | None

    @property
    def why(self) -> str:
        """In plain sentences, made only of numbers that were measured."""
        from keat.explain.why import why  # which reads every kind of explanation

        return why(self)

    def __str__(self) -> str:
        return self.why

    def _repr_html_(self) -> str:
        """The page, in a notebook."""
        from keat.report.explained.explained_page import page
        from keat.report.html.document import in_notebook

        return in_notebook(page(self))

    def to_json(self) -> dict[str, Any]:
        """Everything a person would read, in plain values."""
        names = ("why", "model", "dataset", "unit", "source", "destination", "t", "score")
        return {name: getattr(self, name) for name in (*names, "observed", "notice")}
