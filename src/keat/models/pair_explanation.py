"""Why a pair term says what it says: what is known of the pair, and what each part of it is worth."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from keat.cooccurrence import Columns, KernelCooccurrence, Numbers, PairTerm
from keat.cooccurrence.feature_sums import OF_PAIR, OF_SOURCE, Said
from keat.cooccurrence.pair_columns import PAIR_SUMS, SOURCE_SUMS, groups_of, of_nothing
from keat.events import TimeUnit, humanize

FEATURES = "features"  # the group of all that the features of past events say


@dataclass(frozen=True, slots=True)
class SaidMean:
    """What past events say of one feature: their mean, the later ones counting more."""

    feature: int  # from 1, as the model reads them
    of: str  # whose events
    mean: float
    usual: float  # in training
    away: float  # from usual, in deviations, and less where there is little to go by

    @property
    def tells_candidates_apart(self) -> bool:
        """What the source's own events say is the same for every candidate."""
        return self.of not in OF_SOURCE


@dataclass(frozen=True, slots=True)
class Led:
    """A destination of the source from which others went on to the candidate."""

    by: str | int  # the node, or what the user calls it
    share: float  # of the candidate among all that followed it
    within: float  # about so long, in the unit of time


@dataclass(frozen=True, slots=True)
class PairExplanation:
    """An effect is how much lower the logit would be with some of the numbers as for strangers; because a
    network is not a sum, effects need not add up to the logit."""

    logit: float
    numbers: dict[str, float]  # ages in the unit of time, kernel sums as they are kept
    effects: dict[str, float]  # of groups of numbers
    widths: list[float]  # of the kernels in use, in the unit of time, shortest first
    sums: dict[str, list[float]]  # kernel sums by name, one for each width
    width_effects: list[float]  # of all sums of a width together
    ring: int  # distinct partners of a node that have a recency rank
    led: Led | None = None  # what speaks most for the candidate of where the source has been
    said: tuple[SaidMean, ...] = ()  # by how far from usual, at the width nearest to σ; none if not read

    def named(self, label: Callable[[int], str | int]) -> PairExplanation:
        """The same, with a node called as the user calls it."""
        if self.led is None:
            return self
        return replace(self, led=replace(self.led, by=label(int(self.led.by))))

    def remembers(self, unit: TimeUnit) -> str:
        return remembers(self.widths, unit)


def remembers(widths: Iterable[float], unit: TimeUnit) -> str:
    """Widths as a person would say them: "remembers about 1.3 min, 5.6 h and 3.7 days"."""
    *most, last = [humanize(width, unit) for width in sorted(widths)]
    return f"remembers about {', '.join(most)}{' and ' if most else ''}{last}"


@torch.no_grad()
def explain_term(
    past: KernelCooccurrence,
    term: PairTerm,
    widths: list[float],
    read: Numbers,
    src: int,
    candidate: int,
    t: int,
) -> PairExplanation:
    """``widths`` are those of the kernels in use; ``read`` is what is known of the one pair."""
    device = next(term.parameters()).device
    seen = term.mixed(read.to(device))
    columns, groups = Columns(len(widths), past.edition), groups_of(past.edition)
    if seen.said is not None:
        groups = groups | {FEATURES: ()}
    order = np.argsort(widths).tolist()
    hidden = [(), *groups.values()]  # nothing: as it is; then each group
    source = torch.stack([_among(columns.source, names) for names in hidden])
    pair = torch.stack([_among(columns.pair, names) for names in hidden])
    source, pair = (
        torch.cat((rows, _of_widths(rows.shape[1], kinds * len(widths), order)))
        for rows, kinds in ((source, len(SOURCE_SUMS)), (pair, len(PAIR_SUMS)))
    )
    asked = Numbers(
        torch.where(source.to(device), _nothing(columns.source, seen.source), seen.source),
        torch.where(pair.to(device), _nothing(columns.pair, seen.pair), seen.pair[0])[:, None],
        None if seen.said is None else _heard(seen.said, len(groups), order),
    )
    logit, *others = term.judge(asked)[:, 0].tolist()
    effects = [logit - other for other in others]
    led = past.led_by(src, candidate)
    return PairExplanation(
        logit=logit,
        numbers=past.describe(src, candidate, t),
        effects=dict(zip(groups, effects, strict=False)),
        widths=[widths[place] for place in order],
        sums=_sums(SOURCE_SUMS, seen.source[0], order) | _sums(PAIR_SUMS, seen.pair[0, 0], order),
        width_effects=effects[len(groups) :],
        ring=past.ring,
        led=None if led is None else Led(*led, past.succession_width),
        said=() if read.said is None else tuple(_said(term, read.said, past.nearest_kernel)),
    )


def _heard(said: Said, groups: int, order: list[int]) -> Said:
    """As it is for nothing hidden and for each group; nothing for the last one, which is that of features;
    then without each width."""
    kept = torch.ones(1 + groups + len(order), len(order), device=said.source.device)
    kept[groups] = 0.0
    kept[1 + groups + torch.arange(len(order)), order] = 0.0
    return Said(said.source * kept[:, None, None], said.pair * kept[:, None, None, None])


def _said(term: PairTerm, said: Said, kernel: int) -> Iterator[SaidMean]:
    """Of the pair that was read, what is known, furthest from usual first."""
    assert term.said_of_source is not None
    usual = term.said_of_source.usual.tolist()
    sums = torch.cat((said.source[0], said.pair[0, 0])).cpu()  # (kinds, d + 1, M)
    away = term.said_of_source.seen(sums.to(said.source.device))[..., kernel]
    found = [
        SaidMean(k + 1, of, float(one[k, kernel] / one[-1, kernel]), usual[k], float(away[place, k]))
        for place, (of, one) in enumerate(zip((*OF_SOURCE, *OF_PAIR), sums, strict=True))
        for k in range(len(usual))
        if one[-1, kernel] > 0
    ]
    yield from sorted(found, key=lambda each: -abs(each.away))


def _among(columns: list[str], names: tuple[str, ...]) -> Tensor:
    return torch.tensor([column in names for column in columns])


def _of_widths(columns: int, sums: int, order: list[int]) -> Tensor:
    """A row for each width, True at its kernel sums, which are the first columns."""
    place = torch.arange(columns)
    rows = [(place < sums) & (place % len(order) == kernel) for kernel in order]
    return torch.stack(rows)


def _nothing(columns: list[str], like: Tensor) -> Tensor:
    return torch.tensor(of_nothing(columns), device=like.device)


def _sums(names: Collection[str], numbers: Tensor, order: list[int]) -> dict[str, list[float]]:
    blocks = numbers[: len(names) * len(order)].view(len(names), len(order))[:, order].tolist()
    return dict(zip(names, blocks, strict=True))
