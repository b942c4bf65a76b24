"""Why, in one or two plain sentences: what a shop owner would want to hear before any table.

Every number in them was measured, and no letter needs a legend. What is expected and what is a surprise is a
rule of ranks: see `verdict`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from keat.explain.contrast_wording import why_contrast
from keat.explain.ends import End, Neighbor
from keat.explain.event import EventExplanation
from keat.explain.explained import Explained
from keat.explain.explanation import Explanation
from keat.explain.left_out import LeftOut, most_telling
from keat.explain.phrases import ago, both, ordinal, signed, times
from keat.explain.scored import Scored
from keat.explain.why_event import NOTABLE, REASONS, why_event
from keat.models.pair_explanation import FEATURES, PairExplanation

Verdict = Literal["expected", "surprise"]


def why(x: Explained) -> str:
    """The sentences that an explanation begins with."""
    if isinstance(x, EventExplanation):
        return why_event(x)
    assert isinstance(x, Scored)
    if x.contrast is not None:
        return why_contrast(x, x.contrast)
    if isinstance(x, LeftOut):
        return f"{place(x)}. {most_telling(x)}"
    if x.pair is None:
        assert isinstance(x, Explanation)
        return f"{_with_fact(x)} {weighed(x)}"
    speaks_for, against = reasons(x, x.pair)
    surprised = verdict(x.rank, x.candidates) == "surprise"
    lead, other = (against, speaks_for) if surprised else (speaks_for, against)
    first = place(x) + (f": {both(lead)}." if lead else ".")
    if isinstance(x, Explanation):
        return f"{first} {weighed(x)}"
    if not other:
        return first
    return f"{first} What speaks {'for' if surprised else 'against'} it: {both(other)}."


def verdict(rank: float | None, candidates: int | None) -> Verdict | None:
    """Expected is what ranks in the best tenth, or first; a surprise is what ranks in the lower half. Where
    all are level, or there is nobody to rank against, it is neither."""
    if rank is None or candidates is None or candidates < 2:
        return None
    if rank <= max(1.0, candidates / 10):
        return "expected"
    return "surprise" if rank > (candidates + 1) / 2 else None


def place(x: Scored) -> str:
    """Who ranks where, and whether that was to be expected."""
    pair = f"{x.source} → {x.destination}"
    if x.rank is None or x.candidates is None:
        return f"{pair} has a score of {signed(x.score, plus=False)}"
    if x.candidates == 1:
        return f"{pair} is the only candidate"
    said = {"expected": ", as expected", "surprise": ", a surprise", None: ""}
    if x.rank == int(x.rank):
        where = f"ranks {ordinal(int(x.rank))} of {x.candidates:,}"
    else:  # a rank is the middle of those that are level
        where = f"ranks {x.rank:,.1f} of {x.candidates:,}, level with others"
    return f"{pair} {where}{said[verdict(x.rank, x.candidates)]}"


# -- what a pair term knows --------------------------------------------------------------------------------


def reasons(x: Scored, pair: PairExplanation) -> tuple[list[str], list[str]]:
    """What speaks for the pair and what against it, weightiest first. That the two never met has no effect
    to measure, since strangers are what effects are measured against; it is said first."""
    said = _clauses(x, pair)
    effects = {group: effect for group, effect in pair.effects.items() if group in said}
    least = NOTABLE * max((abs(effect) for effect in effects.values()), default=0.0)
    order = sorted(effects, key=lambda group: -abs(effects[group]))
    notable = [group for group in order if abs(effects[group]) >= least and effects[group] != 0.0]
    speaks_for = [said[group] for group in notable if effects[group] > 0]
    against = _missing(x, pair) + [said[group] for group in notable if effects[group] < 0]
    return speaks_for[:REASONS], against[:REASONS]


def _missing(x: Scored, pair: PairExplanation) -> list[str]:
    n = pair.numbers
    if n["met before"]:
        return []
    events = round(n["events of the source"])
    if events == 0:
        return [f"{x.source} has no earlier event"]
    elsewhere = f"the only event of {x.source}" if events == 1 else f"all {events:,} events of {x.source}"
    never = ["the two never met", f"{elsewhere} went elsewhere"]
    if n["events to the candidate"]:
        return never
    return [f"nobody has met {x.destination} so far", never[1]]


def _clauses(x: Scored, pair: PairExplanation) -> dict[str, str]:
    """What each kind of evidence says of the two. What is known of the source alone is left out: it is the
    same for every candidate."""
    n, unit = pair.numbers, x.unit

    def last(name: str) -> str:
        age = n[name]
        return "" if math.isinf(age) else f", last {ago(round(age), unit)} ago"

    clauses = {
        "the candidate's habits": (
            f"about {100 * n['share of those who return to the candidate']:.0f} % of those who meet "
            f"{x.destination} come straight back"
        ),
        "shared neighbours": (
            f"{n['two-hop paths'] + n['three-hop paths']:,.0f} paths through others lead from {x.source} to "
            f"{x.destination}"
        ),
    }
    if n["events to the candidate"]:
        latest = last("age of the candidate's last event")
        clauses["the candidate's activity"] = (
            f"{x.destination} was met {times(n['events to the candidate'])}{latest}"
        )
    if n["met before"]:
        since = round(n["the source's events since the last meeting"])
        clauses["meetings of the pair"] = (
            f"the two met {times(n['meetings'])}{last('age of the last meeting')}"
        )
        clauses["shares of the pair"] = (
            f"{x.source} was there {since + 1:,} events ago" if since else f"{x.source} was there last"
        )
    if n["1 / recency rank among the source's destinations"] > 0:
        number = round(1 / n["1 / recency rank among the source's destinations"])
        turn = "latest" if number == 1 else f"{ordinal(number)} latest"
        clauses["recency rank"] = f"{x.destination} is the {turn} that {x.source} met"
    if n["met the other way round"]:
        turned = last("age of the last meeting the other way round")
        clauses["the other way round"] = f"{x.destination} has turned to {x.source}{turned}"
    if n["where this source went next, last time"]:
        clauses["what came next"] = f"{x.destination} is where {x.source} went next the last time"
    elif n["where the last one went next"]:
        clauses["what came next"] = f"{x.destination} is where others went next the last time"
    if n["is the source itself"]:
        clauses["identity"] = f"{x.destination} is {x.source} itself"
    said = next((one for one in pair.said if one.tells_candidates_apart and one.away != 0.0), None)
    if said is not None:
        level = "high" if said.away > 0 else "low"
        clauses[FEATURES] = f"feature {said.feature} {said.of} was {level} lately ({said.mean:.3g})"
    if "messages of the source" in n:
        clauses |= _clauses_of_messages(x, pair)
    return clauses | (_clauses_of_second_edition(x, pair) if "events to answer" in n else {})


def _clauses_of_second_edition(x: Scored, pair: PairExplanation) -> dict[str, str]:
    n, unit, clauses = pair.numbers, x.unit, dict[str, str]()
    to_answer = round(n["events to answer"])
    if to_answer:
        first = ago(round(n["age of the first to answer"]), unit)
        clauses["replies"] = (
            f"it would answer an event of {first} ago"
            if to_answer == 1
            else f"it would answer {to_answer:,} events, the first of {first} ago"
        )
    elif n["met the other way round"]:
        clauses["replies"] = f"{x.source} has no event of {x.destination} to answer"
    if n["meetings"] > 1:
        usual, age = (
            ago(round(n[name]), unit) for name in ("usual gap between meetings", "age of the last meeting")
        )
        clauses["renewal"] = f"the two usually meet every {usual}, and it has been {age}"
    share = n["share of weight among the source's latest destinations"]
    if share > 0:
        clauses["favourites"] = (
            f"{x.destination} has {100 * share:.0f} % of the weight of where {x.source} goes"
        )
    if pair.led is not None:
        within, share = ago(round(pair.led.within), unit), 100 * pair.led.share
        clauses["item to item"] = (
            f"of those who went on from {pair.led.by} within about {within}, {share:.2g} % went to "
            f"{x.destination}"
        )
    return clauses


def _clauses_of_messages(x: Scored, pair: PairExplanation) -> dict[str, str]:
    n, clauses = pair.numbers, dict[str, str]()
    if n["met before"]:
        since = round(n["the source's messages since the last meeting"])
        size = round(n["destinations of the last message to the candidate"])
        others = f", which reached {size:,}" if size > 1 else ""
        clauses["messages"] = (
            f"{x.source} has sent {since:,} message{'s' if since > 1 else ''} since the last to "
            f"{x.destination}{others}"
            if since
            else f"the last message of {x.source} was to {x.destination}{others}"
        )
    senders = round(n["latest who addressed it with the source"])
    if senders:
        clauses["addressed together"] = (
            f"{x.destination} was addressed together with {x.source} by the last who reached {x.source}"
            if n["addressed with the source by the last who reached it"]
            else f"{x.destination} was addressed together with {x.source} lately"
        )
    return clauses


# -- what an attention looked at ---------------------------------------------------------------------------


def _with_fact(x: Explanation) -> str:
    """The rank, and whether the two met lately: as its reason, or in spite of it."""
    fact, met = _met_lately(x)
    found = verdict(x.rank, x.candidates)
    fits = found is None or met == (found == "expected")
    return f"{place(x)}{': ' if fits else ', though '}{fact}."


def _met_lately(x: Explanation) -> tuple[str, bool]:
    seen = x.ends[0].neighbors
    if not seen:
        return f"{x.source} has no earlier event", False
    with_it = [neighbor.since for neighbor in seen if neighbor.node == x.destination]
    if with_it:
        return f"the two last met {ago(min(with_it), x.unit)} before", True
    if len(seen) == 1:
        return f"the last event of {x.source} was with {seen[0].node}", False
    return f"{x.destination} is not in the last {len(seen)} events of {x.source}", False


def weighed(x: Explanation) -> str:
    """The past events without which the score would be most different."""
    found = weightiest(x)
    if not found:
        return "Neither of the two has a past event, so the score says only what strangers are like."
    heaviest = [
        f"{end.node} with {neighbor.node}, {ago(neighbor.since, x.unit)} before ({_without(x, neighbor)})"
        for end, neighbor in found
    ]
    return f"What weighed most of the past: {both(heaviest)}."


def weightiest(x: Explanation) -> list[tuple[End, Neighbor]]:
    """The past events that change the score most, with the end they belong to. An event between the two is in
    the past of both, and counts once."""
    events: dict[object, tuple[End, Neighbor]] = {}
    for end in x.ends:
        for neighbor in end.neighbors:
            key = (neighbor.happened, frozenset((end.node, neighbor.node)), neighbor.score_without)
            events.setdefault(key, (end, neighbor))
    order: Sequence[tuple[End, Neighbor]] = sorted(
        events.values(), key=lambda one: -abs(one[1].score_without - x.score)
    )
    return list(order[:REASONS])


def _without(x: Explanation, neighbor: Neighbor) -> str:
    was, now = (signed(score, plus=False) for score in (x.score, neighbor.score_without))
    if was == now:
        return f"without it the score would stay {was}"
    way = "rise" if neighbor.score_without > x.score else "fall"
    return f"without it the score would {way} from {was} to {now}"
