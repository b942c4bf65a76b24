"""The lines of docs/results/fading.jsonl."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from studies.study import Cell, Found, Result


class FadingCell(Cell, frozen=True, kw_only=True):
    """A model in a world."""

    world: str
    model: str
    neighbors: int  # past payments attended to
    kernel: str
    seed: int  # of the world and of the model


class FadingFound(Found, frozen=True, kw_only=True):
    """How well it predicts, beside one who knows the rule; half-lives in seconds."""

    half_life: float | None = None  # planted; None where evidence lasts
    val: float  # AUC of the epoch that was kept, its state refreshed every 200 payments
    test: dict[str, float]  # at refresh 1
    knows_half_life: float = msgspec.field(name="knows the half-life")  # test AUC of a regression that does
    half_lives: list[float] | None = None  # learned, of each head
    sigma: float
    cpu_seconds: float


FadingLine: TypeAlias = Result[FadingCell, FadingFound]
