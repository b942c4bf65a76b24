"""Why an event has the probability it has, in plain sentences."""

from __future__ import annotations

from keat.explain.event import EventExplanation, Part
from keat.explain.event_wording import feature_of
from keat.explain.phrases import ago, amount, both, ordinal, percent, signed, times

NOTABLE = 0.1  # of the largest effect: what is smaller is left to the table
REASONS = 2  # on either side
ABOUT = 1.5  # within this factor, a probability is about the usual


def why_event(x: EventExplanation) -> str:
    """How probable the label is, compared with what is usual, and what makes it so."""
    least = NOTABLE * max((abs(part.effect) for part in x.parts), default=0.0)
    notable = [part for part in x.parts if part.effect != 0.0 and abs(part.effect) >= least]
    raising, lowering = (
        [_clause(x, part) for part in notable if (part.effect > 0) == up][:REASONS] for up in (True, False)
    )
    lead, other = (raising, lowering) if is_high(x) else (lowering, raising)
    said = _standing(x) + (f": {both(lead)}." if lead else ".")
    if other:
        said += f" What speaks {'against' if is_high(x) else 'for'} it: {both(other)}."
    return said + _newcomers(x)


def is_high(x: EventExplanation) -> bool:
    """Above the usual; where that is not known, a score above 0."""
    if x.probability is not None and x.usual is not None:
        return x.probability >= x.usual
    return x.score > 0


def _standing(x: EventExplanation) -> str:
    pair = f"{x.source} → {x.destination}"
    if x.probability is None:
        said = f"{pair} has a score of {signed(x.score, plus=False)}"
    else:
        label = "the label" if x.label is None else f"the label {x.label}"
        said = f"{pair} has {label} with a probability of {percent(x.probability)}{_against_usual(x)}"
    if x.place is None:
        return said
    which = "highest" if x.place[0] == 1 else f"{ordinal(x.place[0])} highest"
    return f"{said}, the {which} score of {x.place[1]:,} events"


def _against_usual(x: EventExplanation) -> str:
    if x.probability is None or not x.usual:
        return ""
    ratio, usual = x.probability / x.usual, percent(x.usual)
    if ratio >= ABOUT:
        return (
            f", {ratio:,.0f} times the usual {usual}"
            if ratio >= 9.95
            else f", {ratio:.2g} times the usual {usual}"
        )
    return f", below the usual {usual}" if ratio <= 1 / ABOUT else f", about the usual {usual}"


def _clause(x: EventExplanation, part: Part) -> str:
    if part.kind == "feature":
        return _feature(x, part)
    if part.kind == "pair":
        met = x.met["pair"]
        return (
            "the two never met" if met.last is None else f"the two met {times(met.count)}{_last(x, met.last)}"
        )
    if part.kind in ("source", "destination"):
        met = x.met[part.kind]
        return f"{part.name} was seen {times(met.count)}{_last(x, met.last)}"
    way = "points to it" if part.effect > 0 else "points away from it"
    return f"the past of {part.name} {way}{_above_all(x, part)}"


def _feature(x: EventExplanation, part: Part) -> str:
    feature = feature_of(x, part)
    if isinstance(feature.value, str) or isinstance(feature.usual, str):
        return f"{feature.name} is {amount(feature.value)}, where {amount(feature.usual)} is most frequent"
    if isinstance(feature.value, list) or isinstance(feature.usual, list):
        return f"{feature.name} is {'far from' if feature.far else 'not'} the usual"
    side = "above" if feature.value > feature.usual else "below"
    return (
        f"{feature.name} is {amount(feature.value)}, {'far ' if feature.far else ''}{side} the usual "
        f"{amount(feature.usual)}"
    )


def _above_all(x: EventExplanation, part: Part) -> str:
    """The past event of that end that pulls the same way most, where an attention tells."""
    same = [event for event in x.past if str(event.end) == part.name and event.effect * part.effect > 0]
    if not same:
        return ""
    most = max(same, key=lambda event: abs(event.effect))
    return f", above all its event with {most.other} {ago(most.since, x.unit)} before"


def _last(x: EventExplanation, age: int | None) -> str:
    return "" if age is None else f", last {ago(age, x.unit)} ago"


def _newcomers(x: EventExplanation) -> str:
    """Who was never seen. That is what effects are measured against, so it has none of its own."""
    new = [
        str(getattr(x, end)) for end in ("source", "destination") if end in x.met and x.met[end].count == 0
    ]
    if not new:
        return ""
    return f" {both(new)} {'were' if len(new) > 1 else 'was'} never seen before."
