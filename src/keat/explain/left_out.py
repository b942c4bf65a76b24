"""Why a pair scores as it does, by leaving out past events: exact for models that know the events themselves.

Such a model has no memory that an event has gone into. Scored without an event, it says what it would have
said had the event not been.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from keat.explain.phrases import ago, signed
from keat.explain.scored import Names, Scored, placed
from keat.models.contract import LearnedLinkModel, Queries
from keat.models.explainable import history_of

LAST = 32  # events of either end that are left out, each by itself


@dataclass(frozen=True, slots=True)
class LeftEvent:
    """A past event of an end of the pair, or of both."""

    end: str | int
    other: str | int
    since: int  # how long before the question
    row: int | None  # of the dataset
    effect: float  # how much lower the score would be without it


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LeftOut(Scored):
    """A pair whose past events were left out one by one."""

    past: tuple[LeftEvent, ...]  # the largest effect first, up or down

    def to_json(self) -> dict[str, Any]:
        return Scored.to_json(self) | {"past": [asdict(event) for event in self.past]}


def explain_by_leaving_out(
    model: LearnedLinkModel,
    source: int,
    destination: int,
    t: int,
    score: float,
    *,
    names: Names | None = None,
    rank: tuple[float, int] | None = None,
) -> LeftOut:
    """The last events of both ends before ``t``, each with what it is worth."""
    names = names or Names()
    history = history_of(model)
    assert history is not None
    ask = Queries(np.array([source], np.int32), np.array([t]), np.array([[destination]], np.int32))
    entries = history.before(np.array([source, destination]), np.array([t, t]), LAST)
    owner = np.broadcast_to(np.array([[source], [destination]]), entries.shape)[entries >= 0]
    entries = entries[entries >= 0]
    _, first = np.unique(entries // 2, return_index=True)  # an event of the two with each other is one
    past = []
    for place in first.tolist():
        entry, end = int(entries[place]), int(owner[place])
        other, when = int(history.other_end(np.array([entry]))[0]), int(history.time_of(np.array([entry]))[0])
        with history.without(entry // 2):
            effect = score - float(model.score(ask))
        ends = (other, end) if entry % 2 else (end, other)  # as they were in the event
        past.append(
            LeftEvent(names.label(end), names.label(other), t - when, names.row_of(*ends, when), effect)
        )
    return LeftOut(
        model={"name": names.model, "loss": names.loss, "sigma": model.sigma_in_ticks},
        pair=None,
        score=score,
        past=tuple(sorted(past, key=lambda event: -abs(event.effect))),
        **placed(names, source, destination, t, rank),
    )


def most_telling(x: LeftOut) -> str:
    """The event that counted most, in a sentence."""
    if not x.past:
        return "Neither of the two has a past event."
    most = x.past[0]
    if most.effect == 0:
        return "No past event of the two makes a difference by itself."
    then = signed(x.score - most.effect, plus=False)
    return (
        f"What counted most is the event of {most.end} with {most.other}, {ago(most.since, x.unit)} before: "
        f"without it, the score would be {then} ({signed(-most.effect)})."
    )
