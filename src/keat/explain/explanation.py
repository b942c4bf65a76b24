"""One scored pair, taken apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import torch
from torch import Tensor

from keat.analysis.faithfulness import DeletionCurves, deletion_curves
from keat.analysis.what_if import Past, attend, past_of, score
from keat.errors import InputError
from keat.explain.ends import End, Neighbor, end_of
from keat.explain.pieces import pieces_of
from keat.explain.scored import Names, Scored, placed
from keat.models.contract import LearnedLinkModel, LinkModel
from keat.models.explainable import ExplainsPairs, attention_of
from keat.models.tgn import TGN

GRID = 60  # ages of a sweep


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Explanation(Scored):
    """Why ``score`` is what it is, by attention. Where there is a pair term every score has it, as it was:
    ages are changed in the attention only."""

    score_without_past: float  # every past event taken out of the attention
    older: int
    ages: list[int]  # (G,) of the sweeps
    ends: tuple[End, End]
    deletion: DeletionCurves
    pieces: dict[str, Any] = field(repr=False)  # see `keat.explain.pieces`

    def most_telling(self, sides: Sequence[int] = (0, 1)) -> tuple[End, Neighbor] | None:
        """The past event whose age matters most to the score, and whose it is: of both ends, or of one."""
        events = [(self.ends[side], neighbor) for side in sides for neighbor in self.ends[side].neighbors]
        return max(events, key=lambda found: abs(found[1].score_if_older - self.score), default=None)

    @property
    def has_past(self) -> bool:
        return any(end.neighbors for end in self.ends)

    @property
    def score_of_memory(self) -> float:
        """The score with every past event out of the attention, and without the pair term."""
        return self.score_without_past - (0.0 if self.pair is None else self.pair.logit)

    def to_json(self) -> dict[str, Any]:
        numbers = [each.name for each in fields(End) if each.name not in ("neighbors", "past")]
        ends = [
            {name: getattr(end, name) for name in numbers}
            | {"neighbors": [asdict(neighbor) for neighbor in end.neighbors]}
            for end in self.ends
        ]
        curves = self.deletion
        return Scored.to_json(self) | {
            "score_without_past": self.score_without_past,
            "older": self.older,
            "ages": self.ages,
            "ends": ends,
            "deletion": {
                "most_attended_first": curves.most_attended_first.tolist(),
                "least_attended_first": curves.least_attended_first.tolist(),
                "random_mean": curves.random.mean(dim=0).tolist(),
                "faithfulness": None if math.isnan(curves.faithfulness) else curves.faithfulness,
            },
        }


def explain_pair(
    scorer: LearnedLinkModel,
    source: int,
    destination: int,
    t: int,
    *,
    older: int,
    names: Names | None = None,
    rank: tuple[float, int] | None = None,
) -> Explanation:
    """Take apart the score of (source, destination) at ``t`` in the state the model is in: a TGN, or one with
    a pair term beside it.

    ``older`` is the shift of the counterfactuals; ``rank`` is (rank, candidates), where it is known.
    """
    names = names or Names()
    model = tgn_of(scorer)
    pair = None
    if isinstance(scorer, ExplainsPairs):
        pair = scorer.explain_pair(source, destination, t).named(names.label)
    beside = 0.0 if pair is None else pair.logit
    nodes = (source, destination)
    first, second = (past_of(model, torch.tensor([node]), torch.tensor([t])) for node in nodes)
    pasts = (first, second)
    embedded = [attend(model, past)[0] for past in pasts]
    nothing = [attend(model, past.keeping(torch.zeros_like(past.mask)))[0] for past in pasts]
    ages = _grid(model, pasts)

    def describe(place: int) -> End:
        return end_of(
            model, pasts, place, ages, older, t=t, beside=beside, node=names.label(nodes[place]), names=names
        )

    config = model.config
    return Explanation(
        model={
            "name": names.model,
            "loss": names.loss,
            "kernel": config.kernel,
            "width": config.width if math.isfinite(config.width) else "inf",
            "sigma": model.sigma_in_ticks,
            "delta": config.delta,
            "time_encoder": config.time_encoder,
            "modulate": config.modulate,
        },
        pair=pair,
        score=beside + float(score(model, *embedded)),
        score_without_past=beside + float(score(model, *nothing)),
        older=older,
        ages=ages.tolist(),
        ends=(describe(0), describe(1)),
        deletion=_higher(deletion_curves(model, first, second), beside),
        pieces=pieces_of(model, first, second, ages, beside),
        **placed(names, source, destination, t, rank),
    )


def tgn_of(model: LinkModel) -> TGN:
    """The TGN whose attention can be read, or an error that says there is none."""
    found = attention_of(model)
    if found is None:
        raise InputError(f"There is no attention to read in a {model.name}; only that of TGN is.")
    return found


def _higher(curves: DeletionCurves, by: float) -> DeletionCurves:
    names = ("most_attended_first", "least_attended_first", "random")
    return replace(curves, **{name: getattr(curves, name) + by for name in names})


def _grid(model: TGN, pasts: Sequence[Past]) -> Tensor:
    """0, then evenly in the logarithm from σ/300 to well beyond the oldest event and the kernel's reach."""
    width = model.config.width if math.isfinite(model.config.width) else 1.0
    oldest = max(int(past.psi_age.max()) for past in pasts)
    longest = max(2.0 * oldest, 6.0 * model.sigma_in_ticks * width, 4.0)
    first = max(1.0, model.sigma_in_ticks / 300)
    steps = torch.logspace(math.log10(first), math.log10(longest), GRID - 1, dtype=torch.float64)
    grid: Tensor = torch.unique(torch.cat((torch.zeros(1), steps)).round().long())
    return grid
