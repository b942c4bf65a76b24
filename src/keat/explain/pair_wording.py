"""What a pair term knows, in words."""

from __future__ import annotations

import math
from dataclasses import dataclass

from keat.events import humanize
from keat.events.units import TimeUnit
from keat.explain.phrases import several, times
from keat.models.pair_explanation import FEATURES, PairExplanation


@dataclass(frozen=True, slots=True)
class Evidence:
    """A group of numbers: what they say, and how much lower the logit would be without them."""

    group: str
    known: str
    effect: float


def evidence(pair: PairExplanation, unit: TimeUnit) -> list[Evidence]:
    """What counted, most first. Whether they met is always said; of the rest, what changed nothing is not."""
    known = known_of(pair, unit)
    found = [
        Evidence(group, known[group], effect)
        for group, effect in pair.effects.items()
        if effect != 0.0 or group == "meetings of the pair"
    ]
    return sorted(found, key=lambda one: -abs(one.effect))


@dataclass(frozen=True, slots=True)
class AtWidth:
    """The kernel sums of one width, and how much lower the logit would be without all of them."""

    width: str
    meetings: float  # Σ over events of the pair
    to_candidate: float  # over all events to the candidate
    effect: float


def by_width(pair: PairExplanation, unit: TimeUnit) -> list[AtWidth]:
    """Shortest memory first."""
    columns = pair.sums["source to candidate"], pair.sums["to the candidate"], pair.width_effects
    rows = zip(pair.widths, *columns, strict=True)
    return [AtWidth(humanize(width, unit), *numbers) for width, *numbers in rows]


def known_of(pair: PairExplanation, unit: TimeUnit) -> dict[str, str]:
    """What each group of numbers says."""
    n = pair.numbers

    def last(name: str) -> str:
        age = n[name]
        return "never" if math.isinf(age) else f"last {humanize(age, unit) if age else f'0 {unit}'} ago"

    def share(name: str) -> str:
        return f"{100 * n[name]:.0f} %"

    met = f"met {times(n['meetings'])}, {last('age of the last meeting')}"
    place = n["1 / recency rank among the source's destinations"]
    rank = "not among the source's destinations"
    if place > 0:
        number = round(1 / place)
        rank = f"number {number}{' or later' if number > pair.ring else ''} of the source's latest"
    weights = [n[f"weight in the {whose} last 5 events"] for whose in ("source's", "candidate's")]
    returns, firsts = (
        share(f"share of {what}")
        for what in ("those who return to the candidate", "the candidate's events that are first meetings")
    )
    habits = f"{returns} return to it at once, {firsts} of its events are first meetings"
    following = [
        name for name in ("where this source went next, last time", "where the last one went next") if n[name]
    ]
    reached, events = (
        f"{several(n[count], 'event')} {joined} {several(n[others], end)}"
        for count, joined, others, end in (
            ("events to the candidate", "of", "sources of the candidate", "source"),
            ("events of the source", "to", "destinations of the source", "destination"),
        )
    )
    return {
        "meetings of the pair": met if n["met before"] else "never met",
        "shares of the pair": (
            f"weight {weights[0]:.2f} in the last five events of the source, {weights[1]:.2f} in those of "
            "the candidate"
        ),
        "recency rank": rank,
        "the other way round": last("age of the last meeting the other way round"),
        "the candidate's activity": f"{reached}, " + last("age of the candidate's last event"),
        "the candidate's habits": habits
        + ("; this source was its last" if n["last reached by this source"] else ""),
        "what came next": "; ".join(following) or "not where it went from here, nor where others did",
        "shared neighbours": (
            f"{n['two-hop paths']:,.0f} paths of two hops, {n['three-hop paths']:,.0f} of three"
        ),
        "identity": "the source itself" if n["is the source itself"] else "another node",
        "the source": f"{events}, " + last("age of the source's last event"),
    } | _known_besides(pair, unit)


def _known_besides(pair: PairExplanation, unit: TimeUnit) -> dict[str, str]:
    """What not every model reads."""
    known = _known_of_second_edition(pair, unit) if "events to answer" in pair.numbers else {}
    if "messages of the source" in pair.numbers:
        known |= _known_of_messages(pair)
    if FEATURES in pair.effects:
        known[FEATURES] = _said(pair)
    return known


def _said(pair: PairExplanation) -> str:
    """What is furthest from usual of what the features of past events say."""
    if not pair.said:
        return "no event has said anything yet"
    most = pair.said[0]
    return f"lately feature {most.feature} {most.of} was {most.mean:.3g}, where {most.usual:.3g} is usual"


def _known_of_second_edition(pair: PairExplanation, unit: TimeUnit) -> dict[str, str]:
    n, led = pair.numbers, pair.led
    answer = "nothing to answer"
    if n["events to answer"]:
        first = humanize(n["age of the first to answer"], unit)
        answer = f"{n['events to answer']:,.0f} to answer, the first of {first} ago"
    if n["met before"] or n["met the other way round"]:
        share = 100 * n["share of the source in the events of the two"]
        answer += f"; about {share:.0f} % of the events of the two are the source's"
    usual, of_source = n["usual gap between meetings"], n["usual gap between the source's events"]
    gaps = f"usually every {_gap(usual, unit)}" if math.isfinite(usual) else "no usual gap yet"
    if math.isfinite(of_source):
        gaps += f"; the source usually has an event every {_gap(of_source, unit)}"
    place = n["1 / rank by weight among the source's latest destinations"]
    weight = 100 * n["share of weight among the source's latest destinations"]
    favourite = "not among the source's latest"
    if place > 0:
        favourite = f"number {round(1 / place)} by weight of the source's latest, with {weight:.0f} %"
    row = n["events in a row at the last destination"]
    following = "has followed none of the source's latest"
    if led is not None:
        within = humanize(led.within, unit)
        following = f"{100 * led.share:.2g} % of what followed {led.by} within about {within}"
    fresh, ago = n["first meetings of the candidate, lately"], n["age of the candidate's last first meeting"]
    newly = "nobody has met it for the first time"
    if math.isfinite(ago):
        lately = f"about {fresh:,.1f} first meetings" if fresh >= 0.05 else "no first meeting"
        newly = f"{lately} lately, the last {humanize(ago, unit)} ago"
    return {
        "replies": answer,
        "renewal": gaps,
        "run": f"{row:,.0f} in a row at the last destination, usually {n['usual events in a row']:.1f}",
        "favourites": favourite,
        "item to item": following,
        "newcomers": newly,
    }


def _known_of_messages(pair: PairExplanation) -> dict[str, str]:
    n = pair.numbers
    sent = "the source has sent no message"
    if n["messages of the source"]:
        size, usual = (
            n[f"{which} of the source's {what}"]
            for which, what in (("destinations", "last message"), ("usual destinations", "messages"))
        )
        sent = f"the source's last message went to {size:,.0f}, usually they go to {usual:.1f}"
    reached = "none went to the candidate"
    if n["met before"]:
        since = n["the source's messages since the last meeting"]
        with_others = n["destinations of the last message to the candidate"]
        reached = f"{since:,.0f} since the last to the candidate, which went to {with_others:,.0f}"
    senders = n["latest who addressed it with the source"]
    together = "no message to the source went to the candidate, too"
    if senders:
        by_last = n["addressed with the source by the last who reached it"]
        together = (
            f"by {senders:,.0f} of those who reached the source latest{', the last too' if by_last else ''}"
        )
    return {"messages": f"{sent}; {reached}", "addressed together": together}


def _gap(usual: float, unit: TimeUnit) -> str:
    """A usual gap is a mean of logarithms: below one tick of the clock, which no gap but none at all is, it
    says how often several events share a time."""
    return humanize(usual, unit) if usual >= 1.0 else "tick of the clock or more often"
