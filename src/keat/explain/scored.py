"""What there is to say of a score whatever the model: whose it is, its rank, and its pair term."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from keat.events.units import TimeUnit
from keat.explain.contrast import Contrast
from keat.explain.explained import Explained
from keat.models.contract import LearnedLinkModel
from keat.models.explainable import ExplainsPairs
from keat.models.pair_explanation import PairExplanation


def _no_row(_src: int, _dst: int, _t: int) -> int | None:
    return None


@dataclass(frozen=True, slots=True)
class Names:
    """What the user calls things: a node, and the row an event (src, dst, t) was in the dataset."""

    label: Callable[[int], str | int] = int
    row_of: Callable[[int, int, int], int | None] = _no_row
    dataset: str | None = None
    unit: TimeUnit = "s"
    model: str = "tgn"
    loss: str = "pairwise"  # what the model was trained by
    observed: int | None = None  # so many events of the dataset the model had seen
    notice: str | None = None  # what the reader must know of the data

    def placed(self, source: int, destination: int, t: int) -> dict[str, Any]:
        """The fields of `Explained` that say where and when."""
        return {
            "dataset": self.dataset,
            "unit": self.unit,
            "source": self.label(source),
            "destination": self.label(destination),
            "t": t,
            "observed": self.observed,
            "notice": self.notice,
        }


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Scored(Explained):
    """A pair that was scored."""

    rank: float | None
    candidates: int | None
    pair: PairExplanation | None  # the pair term, where the model has one
    contrast: Contrast | None = None  # with another candidate, where one was asked for

    @property
    def score_of_embeddings(self) -> float:
        """The score without the pair term."""
        return self.score - (0.0 if self.pair is None else self.pair.logit)

    def to_json(self) -> dict[str, Any]:
        plain = Explained.to_json(self) | {
            "rank": self.rank,
            "candidates": self.candidates,
            "contrast": None if self.contrast is None else asdict(self.contrast),
        }
        if self.pair is None:
            return plain | {"pair": None}
        pair = asdict(self.pair) | {"remembers": self.pair.remembers(self.unit)}
        numbers = {name: value if math.isfinite(value) else None for name, value in self.pair.numbers.items()}
        return plain | {"pair": pair | {"numbers": numbers}}


def explain_by_pair_term(
    model: LearnedLinkModel,
    source: int,
    destination: int,
    t: int,
    score: float,
    *,
    names: Names | None = None,
    rank: tuple[float, int] | None = None,
) -> Scored:
    """Of a score the part that a pair term can tell: all of keat-rank's, else what is beside embeddings."""
    names = names or Names()
    assert isinstance(model, ExplainsPairs)
    return Scored(
        model={"name": names.model, "loss": names.loss, "sigma": model.sigma_in_ticks},
        pair=model.explain_pair(source, destination, t).named(names.label),
        score=score,
        **placed(names, source, destination, t, rank),
    )


def placed(
    names: Names, source: int, destination: int, t: int, rank: tuple[float, int] | None
) -> dict[str, Any]:
    """The fields of `Scored` that say where and when."""
    return names.placed(source, destination, t) | {
        "rank": None if rank is None else rank[0],
        "candidates": None if rank is None else rank[1],
    }
