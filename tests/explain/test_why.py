"""The plain sentence why a pair ranks where it does, over explanations made by hand."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import pytest
import torch

from keat.analysis.faithfulness import DeletionCurves
from keat.cooccurrence.pair_columns import GROUPS, PAIR_SINGLE, SOURCE_SINGLE
from keat.explain import End, Explanation, Neighbor, Scored
from keat.explain.link_wording import story
from keat.explain.phrases import both, ordinal, times
from keat.explain.why import place, reasons, verdict, weightiest, why
from keat.explain.why_event import REASONS
from keat.models.pair_explanation import Led, PairExplanation

HOUR, DAY = 3_600, 86_400
AGES = [name for name in (*SOURCE_SINGLE, *PAIR_SINGLE) if name.startswith("age of")]


def term(effects: dict[str, float], **numbers: float) -> PairExplanation:
    """What a pair term knows of strangers, but for what is given; underscores are blanks."""
    known = dict.fromkeys((*SOURCE_SINGLE, *PAIR_SINGLE), 0.0) | dict.fromkeys(AGES, math.inf)
    return PairExplanation(
        logit=sum(effects.values()),
        numbers=known | numbers,
        effects=dict.fromkeys(GROUPS, 0.0) | effects,
        widths=[3_600.0],
        sums={},
        width_effects=[0.0],
        ring=10,
    )


NEVER_MET = {
    "events of the source": 31.0,
    "events to the candidate": 112.0,
    "age of the candidate's last event": 1.4 * DAY,
}
MET = NEVER_MET | {
    "met before": 1.0,
    "meetings": 12.0,
    "age of the last meeting": 3.0 * HOUR,
    "1 / recency rank among the source's destinations": 0.5,
    "the source's events since the last meeting": 4.0,
}


def scored(pair: PairExplanation | None, rank: float | None, candidates: int | None = 58) -> Scored:
    return Scored(**fields(pair, rank, candidates))


def fields(pair: PairExplanation | None, rank: float | None, candidates: int | None) -> dict[str, Any]:
    return {
        "model": {"name": "keat-rank", "loss": "listwise"},
        "dataset": None,
        "unit": "s",
        "source": "C-037",
        "destination": "florist 2",
        "t": 10**9,
        "score": 0.64,
        "rank": rank,
        "candidates": candidates if rank is not None else None,
        "pair": pair,
        "observed": None,
        "notice": None,
    }


def past_event(node: str, since: int, without: float) -> Neighbor:
    return Neighbor(
        node=node,
        row=None,
        happened=10**9 - since,
        since=since,
        age=since,
        psi=[1.0],
        node_logit=[0.0],
        edge_logit=[0.0],
        alpha=[0.5],
        score_if_older=0.0,
        score_without=without,
    )


def attended(
    source: list[Neighbor],
    destination: list[Neighbor],
    rank: float | None,
    pair: PairExplanation | None = None,
) -> Explanation:
    def end(role: str, node: str, neighbors: list[Neighbor]) -> End:
        return End(role, node, neighbors, [], [], [], [], [], past=None)  # type: ignore[arg-type]

    nothing = torch.zeros(1)
    return Explanation(
        **fields(pair, rank, 58),
        score_without_past=0.0,
        older=DAY,
        ages=[0],
        ends=(end("source", "C-037", source), end("destination", "florist 2", destination)),
        deletion=DeletionCurves(nothing, nothing, nothing[None]),
        pieces={},
    )


@pytest.mark.parametrize(
    ("rank", "candidates", "found"),
    [
        (5.0, 58, "expected"),
        (6.0, 58, None),
        (29.5, 58, None),  # all are level
        (30.0, 58, "surprise"),
        (1.0, 2, "expected"),
        (1.5, 2, None),
        (2.0, 2, "surprise"),
        (1.0, 1, None),  # nobody to rank against
        (1_000.0, 10_000, "expected"),
        (None, None, None),
    ],
)
def test_the_rule_of_ranks(rank: float | None, candidates: int | None, found: str | None) -> None:
    assert verdict(rank, candidates) == found


def test_places() -> None:
    assert place(scored(None, 31.0)) == "C-037 → florist 2 ranks 31st of 58, a surprise"
    assert place(scored(None, 12_012.0, 1_000_000)).endswith("ranks 12,012th of 1,000,000, as expected")
    assert place(scored(None, 3.5)).endswith("ranks 3.5 of 58, level with others, as expected")
    assert place(scored(None, 1.0, 1)).endswith("is the only candidate")
    assert place(scored(None, None)).endswith("has a score of 0.640")


def test_never_met() -> None:
    x = scored(term({"the candidate's activity": 0.8, "the source": 2.0}, **NEVER_MET), 31.0)
    assert why(x) == (
        "C-037 → florist 2 ranks 31st of 58, a surprise: the two never met, and all 31 events of C-037 went "
        "elsewhere. What speaks for it: florist 2 was met 112 times, last 1.4 days ago."
    )


def test_met() -> None:
    effects = {"meetings of the pair": 2.0, "recency rank": 0.4, "shares of the pair": -0.9}
    x = scored(term(effects, **MET), 2.0)
    assert why(x) == (
        "C-037 → florist 2 ranks 2nd of 58, as expected: the two met 12 times, last 3 h ago, and florist "
        "2 is the 2nd latest that C-037 met. What speaks against it: C-037 was there 5 events "
        "ago."
    )


def test_an_answer_and_where_others_went_on_to() -> None:
    due = {"events to answer": 1.0, "age of the first to answer": 180.0, "met the other way round": 1.0}
    pair = term({"replies": 2.0, "item to item": 1.0}, **NEVER_MET, **due)
    x = scored(replace(pair, led=Led("baker 7", 0.125, 3_600.0)), 1.0)
    assert why(x).startswith(
        "C-037 → florist 2 ranks 1st of 58, as expected: it would answer an event of 3 min ago, and of those "
        "who went on from baker 7 within about 1 h, 12 % went to florist 2."
    )


def test_usual_gaps_and_favourites() -> None:
    known = MET | {
        "usual gap between meetings": 1.0 * DAY,
        "share of weight among the source's latest destinations": 0.31,
    }
    x = scored(term({"renewal": -0.5, "favourites": 1.0}, **known), 2.0)
    assert why(x).endswith(
        "florist 2 has 31 % of the weight of where C-037 goes. What speaks against it: the two usually meet "
        "every 1 day, and it has been 3 h."
    )


def test_the_first_event_of_a_source() -> None:
    """Which went nowhere else, and may have been met by nobody."""
    first = NEVER_MET | {"events of the source": 0.0}
    x = scored(term({"the candidate's activity": 0.8}, **first), 20.0)
    assert why(x) == (
        "C-037 → florist 2 ranks 20th of 58: florist 2 was met 112 times, last 1.4 days ago. What speaks "
        "against it: C-037 has no earlier event."
    )
    strangers = scored(term({}), 58.0)
    assert why(strangers) == "C-037 → florist 2 ranks 58th of 58, a surprise: C-037 has no earlier event."
    only = scored(term({}, **{"events of the source": 1.0}), 58.0)
    assert "nobody has met florist 2 so far, and the only event of C-037 went elsewhere." in why(only)


def test_small_effects_and_those_of_the_source_alone_are_left_to_the_table() -> None:
    effects = {
        "the source": 9.0,
        "meetings of the pair": 1.0,
        "recency rank": 0.09,
        "shares of the pair": 0.5,
        "the candidate's activity": 0.4,
    }
    pair = term(effects, **MET)
    speaks_for, against = reasons(scored(pair, 1.0), pair)
    assert len(speaks_for) == REASONS
    assert speaks_for[0].startswith("the two met 12 times")
    assert against == []


def test_attention_tells_what_taking_events_away_would_do() -> None:
    between = past_event("florist 2", 2 * HOUR, 0.5)
    seen_from_there = replace(between, node="C-037")
    source = [between, past_event("bakery 1", 5 * HOUR, 0.9)]
    x = attended(source, [seen_from_there, past_event("C-011", DAY, 0.63)], 2.0)
    assert [(end.node, n.node) for end, n in weightiest(x)] == [
        ("C-037", "bakery 1"),
        ("C-037", "florist 2"),  # once, though both ends have it
    ]
    assert why(x) == (
        "C-037 → florist 2 ranks 2nd of 58, as expected: the two last met 2 h before. What weighed most of "
        "the past: C-037 with bakery 1, 5 h before (without it the score would rise from 0.640 to 0.900), "
        "and C-037 with florist 2, 2 h before (without it the score would fall from 0.640 to 0.500)."
    )


def test_attention_without_a_meeting() -> None:
    source = [past_event("bakery 1", 5 * HOUR, 0.64), past_event("bakery 2", DAY, 0.64)]
    surprise, expected = (why(attended(source, [], rank)) for rank in (40.0, 1.0))
    assert "a surprise: florist 2 is not in the last 2 events of C-037." in surprise
    assert "as expected, though florist 2 is not in the last 2 events of C-037." in expected
    assert "(without it the score would stay 0.640)" in surprise
    stranger = why(attended([], [], 40.0))
    assert stranger.startswith("C-037 → florist 2 ranks 40th of 58, a surprise: C-037 has no earlier event.")
    assert "Neither of the two has a past event" in stranger


def test_both_at_once() -> None:
    pair = term({"meetings of the pair": 2.0}, **MET)
    told = why(attended([past_event("bakery 1", 5 * HOUR, 0.5)], [], 2.0, pair))
    assert (
        "as expected: the two met 12 times, last 3 h ago. What weighed most of the past: C-037 with" in told
    )


def test_no_letter_needs_a_legend() -> None:
    for x in (
        scored(term({"meetings of the pair": 2.0}, **MET), 3.0),
        attended([past_event("bakery 1", 5 * HOUR, 0.5)], [], 40.0),
    ):
        assert not re.search(r"[Ͱ-Ͽ]", x.why)
        assert next(iter(x.to_json())) == "why"
        assert str(x) == x.why  # what print shows


def test_numbers_as_people_say_them() -> None:
    assert [ordinal(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 112, 1_001)] == (
        ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "112th", "1,001st"]
    )
    assert [times(n) for n in (0, 1, 2, 1_200)] == ["never", "once", "twice", "1,200 times"]
    assert [both(["a"]), both(["a", "b"]), both(["a", "b", "c"])] == ["a", "a, and b", "a, b, and c"]


def test_what_changes_nothing_is_not_what_counted_most() -> None:
    assert story(scored(term({"meetings of the pair": 0.4}, **MET), 2.0)).startswith("What counted most: ")
    nothing = scored(term({"meetings of the pair": -0.0}, **MET), 2.0)
    assert story(nothing) == "Nothing that is known of the two changes the score."


def test_messages_to_several_are_reasons() -> None:
    known = MET | {
        "messages of the source": 9.0,
        "the source's messages since the last meeting": 2.0,
        "destinations of the last message to the candidate": 3.0,
        "latest who addressed it with the source": 1.0,
    }
    pair = term({"messages": 2.0, "addressed together": 1.0}, **known)
    sent, _ = reasons(scored(pair, 1.0), pair)
    assert sent == [
        "C-037 has sent 2 messages since the last to florist 2, which reached 3",
        "florist 2 was addressed together with C-037 lately",
    ]
    now = known | {"the source's messages since the last meeting": 0.0}
    pair = term({"messages": 2.0}, **now)
    sent, _ = reasons(scored(pair, 1.0), pair)
    assert sent == ["the last message of C-037 was to florist 2, which reached 3"]
