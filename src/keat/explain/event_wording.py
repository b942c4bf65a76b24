"""The parts of an event's explanation in words: what they are, what is known, and what is put instead."""

from __future__ import annotations

from keat.explain.event import EventExplanation, Met, Part
from keat.explain.event_features import FeatureValue
from keat.explain.phrases import ago, amount, signed, times, where_and_when

HEADS = {
    "event head": "embeddings and features",
    "counting event head": "embeddings, features and counts",
}


def part_row(x: EventExplanation, part: Part) -> tuple[str, str, str, float, str]:
    """A row of a table: the part, what is known, what is put instead, its effect, and the score then."""
    return title(x, part), known(x, part), instead(x, part), part.effect, signed(part.score, plus=False)


def title(x: EventExplanation, part: Part) -> str:
    """What a part is called in a table."""
    return {
        "feature": part.name,
        "source": f"how often {x.source} was seen",
        "destination": f"how often {x.destination} was seen",
        "pair": "how often the two met",
        "past of the source": f"the past of {x.source}",
        "past of the destination": f"the past of {x.destination}",
    }[part.kind]


def known(x: EventExplanation, part: Part) -> str:
    """What the model read."""
    if part.kind == "feature":
        return amount(feature_of(x, part).value)
    if part.kind in x.met:
        return seen(x, x.met[part.kind])
    return "its embedding"


def instead(x: EventExplanation, part: Part) -> str:
    """What was put in its place."""
    if part.kind == "feature":
        return f"{amount(feature_of(x, part).usual)}, the usual"
    if part.kind == "pair":
        last = x.met["source"].last
        if x.met["pair"].count or last is None:
            return "never"
        return f"once, {ago(last, x.unit)} ago, at the last event of {x.source}"
    return "never, and so the pair" if part.kind in x.met else "that of a stranger"


def seen(x: EventExplanation, met: Met) -> str:
    """How often and how long ago."""
    if met.last is None or met.first is None:
        return "never"
    first = "" if met.count == 1 else f", first {ago(met.first, x.unit)} ago"
    return f"{times(met.count)}, last {ago(met.last, x.unit)} ago{first}"


def feature_of(x: EventExplanation, part: Part) -> FeatureValue:
    return next(feature for feature in x.features if feature.name == part.name)


def counterfactual(x: EventExplanation) -> str:
    """The part that matters most, in a sentence."""
    if not x.parts:
        return "Nothing that was read of this event differs from what is usual and from strangers."
    most = x.parts[0]
    return (
        f"What matters most: {title(x, most)} ({known(x, most)}). Were it {instead(x, most)}, the score "
        f"would be {signed(most.score, plus=False)} ({signed(-most.effect)})."
    )


def what_is_usual(x: EventExplanation) -> str:
    """Which numbers features were put at, in a sentence; nothing where there are none."""
    kinds = list(dict.fromkeys(feature.usual_is for feature in x.features))
    return f"The usual of a feature is {' or '.join(kinds)}." if kinds else ""


def model_line(x: EventExplanation) -> str:
    return f"{x.model['name']} · labels events from {HEADS[x.model['head']]}"


def facts_line(x: EventExplanation) -> str:
    """When and where it was, and what became of it."""
    parts = [where_and_when(x)]
    if x.row is not None:
        parts.append(f"row {x.row:,}")
    if x.truth is not None:
        parts.append(f"its label is {x.truth}")
    return " · ".join(parts)
