"""Why an event has the score it has, of a model that labels events: what the score would be otherwise.

Every part is an exact counterfactual of what the head reads: some of its inputs are replaced, and it judges
again. A network is no sum, so what the parts are worth need not add up to the score.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from keat.analysis.what_if import Past, attend, each_missing, past_of
from keat.explain.event_features import FeatureValue, UsualFeatures
from keat.explain.explained import Explained
from keat.explain.scored import Names
from keat.models.contract import EmbedsNodes
from keat.models.explainable import attention_of
from keat.models.node_head import CountingEventHead, EventHead, EventQueries
from keat.models.tgn import TGN

Kind = Literal["feature", "source", "destination", "pair", "past of the source", "past of the destination"]
STRANGER = np.array([1.0, 0.0, 0.0, 0.0])  # what is counted of what is new; see `EventCounts`
NOBODY = 2**31 - 1  # a node that no stream has
SAME = 1e-6  # inputs as near as this are the same; two ways to embed a stranger differ by rounding


@dataclass(frozen=True, slots=True)
class Part:
    """A counterfactual: the score with one part of what was read replaced."""

    kind: Kind
    name: str  # of a feature, else whose part it is
    score: float  # with it replaced
    effect: float  # how much lower that is than the score


@dataclass(frozen=True, slots=True)
class Met:
    """How often something was seen before, and how long ago last and first; ages in the unit of time."""

    count: int
    last: int | None
    first: int | None


@dataclass(frozen=True, slots=True)
class PastEvent:
    """An event in the past of one end, that an attention looks at."""

    end: str | int
    other: str | int
    row: int | None  # of the dataset, where there is one
    since: int
    attention: float  # mean over the heads
    score: float  # without it
    effect: float


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EventExplanation(Explained):
    """Why an event is scored as it is by a model that labels events."""

    row: int | None  # of the dataset
    label: str | None  # what the label is called
    truth: int | None  # the label that was given, where it is known
    probability: float | None  # that the score stands for
    usual: float | None  # share of the training events that have the label
    place: tuple[int, int] | None  # among so many events of a split, the highest score first
    features: tuple[FeatureValue, ...]
    met: dict[str, Met]  # "source", "destination" and "pair"; empty where the head reads no counts
    parts: tuple[Part, ...]  # what matters most first
    past: tuple[PastEvent, ...]  # likewise; empty where there is no attention to read

    def to_json(self) -> dict[str, Any]:
        names = ("row", "label", "truth", "probability", "usual", "place")
        lists = {name: [asdict(one) for one in getattr(self, name)] for name in ("features", "parts", "past")}
        met = {name: asdict(one) for name, one in self.met.items()}
        return Explained.to_json(self) | {name: getattr(self, name) for name in names} | lists | {"met": met}


@torch.no_grad()
def explain_event(
    model: EventHead,
    queries: EventQueries,
    reference: UsualFeatures,
    names: Names,
    *,
    row: int | None = None,
    label: str | None = None,
    truth: int | None = None,
    share: float | None = None,
) -> EventExplanation:
    """Take apart the score of the one event in ``queries``, in the state the model is in. What is known of it
    otherwise: its row in the dataset, what the label is called, the label that was given, and the share of
    training events that have it."""
    score = float(model.score(queries))  # also makes room for unseen nodes
    read, at = model.read(queries), model.columns()
    src, dst, t = int(queries.node[0]), int(queries.other[0]), int(queries.t[0])
    changed: list[tuple[Kind, str, Tensor]] = []

    def change(kind: Kind, name: str, part: str, numbers: Tensor) -> None:
        other = read.clone()
        other[:, at[part]] = numbers
        if not torch.allclose(other, read, rtol=0, atol=SAME):
            changed.append((kind, name, other))

    for name, features in reference.replaced(queries.features[0]):
        change("feature", name, "features", torch.from_numpy(features).to(read))
    met: dict[str, Met] = {}
    ends = {"source": names.label(src), "destination": names.label(dst)}
    if isinstance(model, CountingEventHead):
        counted = model.counts.describe(queries.node, queries.other, queries.t)[0]
        met = _met(model, counted)
        for kind, numbers in _others(counted).items():
            change(kind, str(ends.get(kind, "")), "counts", model.scaled(numbers[None]))
    nobody = stranger(model.encoder, t)
    change("past of the source", str(ends["source"]), "source", nobody)
    change("past of the destination", str(ends["destination"]), "destination", nobody)
    scores = model.judge(torch.cat([other for *_, other in changed]))[:, 0].tolist() if changed else []
    parts = [
        Part(kind, name, other, score - other) for (kind, name, _), other in zip(changed, scores, strict=True)
    ]
    past = _past(model, read, score, src, dst, t, names)
    return EventExplanation(
        model={"name": names.model, "head": model.name},
        score=score,
        features=reference.values(queries.features[0]),
        met=met,
        parts=tuple(sorted(parts, key=lambda part: -abs(part.effect))),
        past=tuple(sorted(past, key=lambda event: -abs(event.effect))),
        row=row,
        label=label,
        truth=truth,
        probability=None,
        usual=share,
        place=None,
        **names.placed(src, dst, t),
    )


def stranger(encoder: EmbedsNodes, t: int) -> Tensor:
    """The embedding (1, d) of a node without a past. TGN is not asked for that of a node it has not: it would
    make room for it."""
    when = torch.tensor([t])
    attending = attention_of(encoder)
    if attending is None:
        return encoder.embeddings(torch.tensor([NOBODY]), when)
    anyone = past_of(attending, torch.tensor([0]), when)
    nothing = anyone.keeping(torch.zeros_like(anyone.mask))
    return attend(attending, replace(nothing, seeds=attending.memory.never_seen()))[0]


def _met(model: CountingEventHead, counted: npt.NDArray[np.float64]) -> dict[str, Met]:
    found = {}
    for name, (new, count, last, first) in zip(
        ("source", "destination", "pair"), counted.reshape(3, 4).tolist(), strict=True
    ):
        ages = [round(model.counts.clock.ticks(float(np.expm1(age)))) for age in (last, first)]
        found[name] = Met(0, None, None) if new else Met(round(np.expm1(count)), ages[0], ages[1])
    return found


def _others(counted: npt.NDArray[np.float64]) -> dict[Kind, npt.NDArray[np.float64]]:
    """Counts as they might have been, (12,). A source that is new has met nobody, so the pair is new, too. A
    pair that never met would have met once, at the source's last event."""
    source, destination, pair = counted.reshape(3, 4)
    once = np.array([0.0, np.log1p(1), source[2], source[2]])
    other = once if pair[0] and not source[0] else STRANGER
    return {
        "source": np.concatenate((STRANGER, destination, STRANGER)),
        "destination": np.concatenate((source, STRANGER, STRANGER)),
        "pair": np.concatenate((source, destination, other)),
    }


def _past(
    model: EventHead, read: Tensor, score: float, src: int, dst: int, t: int, names: Names
) -> list[PastEvent]:
    """Each past event of either end taken out of the attention of both, one at a time, where there is one."""
    encoder, at = attention_of(model.encoder), model.columns()
    if encoder is None:
        return []
    pasts = [past_of(encoder, torch.tensor([node]), torch.tensor([t])) for node in (src, dst)]
    found: dict[int, PastEvent] = {}
    for node, own in zip((src, dst), pasts, strict=True):
        rows = read.repeat(own.mask.shape[1], 1)
        for part, past in zip(("source", "destination"), pasts, strict=True):
            rows[:, at[part]] = attend(encoder, each_missing(past, event_of=own))[0]
        scores, alpha = model.judge(rows)[:, 0].tolist(), attend(encoder, own)[1].alpha[0].mean(dim=1)
        for slot in range(int(own.mask.sum())):
            event = int(own.hood.event[0, slot])
            found.setdefault(
                event,
                PastEvent(
                    **_which_event(encoder, own, slot, node, t, names),
                    attention=float(alpha[slot]),
                    score=scores[slot],
                    effect=score - scores[slot],
                ),
            )
    return list(found.values())


def _which_event(model: TGN, past: Past, slot: int, node: int, t: int, names: Names) -> dict[str, Any]:
    """The fields of `PastEvent` that say whose event it is, and when it was."""
    event = int(past.hood.event[0, slot])
    src, dst, happened = model.state.event(event)
    return {
        "end": names.label(node),
        "other": names.label(int(past.node[0, slot])),
        "row": names.row_of(src, dst, happened),
        "since": t - happened,
    }
