"""The plain sentence why an event has its probability, over explanations made by hand."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from keat.explain import EventExplanation, Part, PastEvent
from keat.explain.event import Kind, Met
from keat.explain.event_features import FeatureValue
from keat.explain.event_wording import counterfactual
from keat.explain.phrases import amount, percent

HOUR, DAY = 3_600, 86_400
KNOWN = {
    "source": Met(31, 2 * HOUR, 9 * DAY),
    "destination": Met(112, HOUR, 9 * DAY),
    "pair": Met(0, None, None),
}
FEATURES = (
    FeatureValue("amount", 812.0, 45.2, "the mean of training", far=True),
    FeatureValue("age", 3.0, 4.0, "the mean of training", far=False),
    FeatureValue("channel", "online", "chip", "the most frequent of the training events", far=False),
    FeatureValue("basket", [1.0, 2.0], [0.0, 0.0], "the mean of training", far=True),
)


def part(kind: Kind, effect: float, name: str = "") -> Part:
    named = {"source": "C-037", "destination": "florist 2"}
    end = next((node for role, node in named.items() if kind.endswith(role)), "")
    return Part(kind, name or end, 1.0 - effect, effect)


def event(*parts: Part, probability: float | None = 0.032, usual: float | None = 0.004) -> EventExplanation:
    return EventExplanation(
        model={"name": "tgn", "head": "counting event head"},
        dataset=None,
        unit="s",
        source="C-037",
        destination="florist 2",
        t=10**9,
        score=1.0,
        observed=None,
        notice=None,
        row=None,
        label="is_fraud",
        truth=None,
        probability=probability,
        usual=usual,
        place=None,
        features=FEATURES,
        met=KNOWN,
        parts=tuple(sorted(parts, key=lambda one: -abs(one.effect))),
        past=(),
    )


def test_above_the_usual() -> None:
    x = event(part("feature", 0.9, "amount"), part("pair", 0.5), part("source", -0.3))
    assert x.why == (
        "C-037 → florist 2 has the label is_fraud with a probability of 3.2 %, 8 times the usual 0.4 %: "
        "amount is 812, far above the usual 45.2, and the two never met. What speaks against it: C-037 was "
        "seen 31 times, last 2 h ago."
    )
    assert not re.search(r"[Ͱ-Ͽ]", x.why)


def test_below_the_usual_it_begins_with_what_lowers() -> None:
    x = event(part("feature", 0.4, "age"), part("destination", -0.9), probability=0.001)
    assert x.why == (
        "C-037 → florist 2 has the label is_fraud with a probability of 0.1 %, below the usual 0.4 %: "
        "florist 2 was seen 112 times, last 1 h ago. What speaks for it: age is 3, below the usual 4."
    )


@pytest.mark.parametrize(
    ("probability", "said"),
    [
        (0.0045, "0.45 %, about the usual 0.4 %"),
        (0.9999, "more than 99 %, 250 times the usual"),
        (0.00002, "less than 0.01 %, below the usual"),
    ],
)
def test_against_the_usual(probability: float, said: str) -> None:
    assert f"a probability of {said}" in event(probability=probability).why


def test_what_is_not_known_is_not_said() -> None:
    no_usual = event(part("pair", 0.5), usual=None)
    assert "with a probability of 3.2 %: the two never met." in no_usual.why
    bare = replace(event(part("pair", 0.5), probability=None), label=None)
    assert bare.why == "C-037 → florist 2 has a score of 1.000: the two never met."
    assert "has the label with a probability" in replace(no_usual, label=None).why
    nothing = event()
    assert nothing.why.endswith("the usual 0.4 %.")
    assert counterfactual(nothing).startswith("Nothing that was read")


def test_the_place_in_a_split() -> None:
    first, second = (replace(event(), place=(place, 3_000)).why for place in (1, 2))
    assert first.endswith(", the highest score of 3,000 events.")
    assert second.endswith(", the 2nd highest score of 3,000 events.")


def test_kinds_and_lists() -> None:
    x = event(part("feature", 0.9, "channel"), part("feature", 0.8, "basket"))
    assert "channel is online, where chip is most frequent, and basket is far from the usual." in x.why


def test_the_past_names_the_event_that_pulls_the_same_way() -> None:
    past = (
        PastEvent("C-037", "bakery 1", None, 3 * HOUR, 0.5, 1.4, -0.4),
        PastEvent("C-037", "bakery 2", None, 5 * HOUR, 0.5, 0.8, 0.2),
        PastEvent("florist 2", "C-011", None, 5 * HOUR, 0.5, 0.7, 0.3),
    )
    x = replace(event(part("past of the source", 0.9), part("past of the destination", -0.6)), past=past)
    assert "the past of C-037 points to it, above all its event with bakery 2 5 h before." in x.why
    assert "against it: the past of florist 2 points away from it." in x.why


def test_newcomers_are_said_though_they_have_no_effect() -> None:
    new = Met(0, None, None)
    source = replace(event(part("feature", 0.9, "amount")), met=KNOWN | {"source": new})
    assert source.why.endswith("the usual 45.2. C-037 was never seen before.")
    both = replace(source, met=dict.fromkeys(KNOWN, new))
    assert both.why.endswith("C-037, and florist 2 were never seen before.")
    assert "never seen" not in replace(source, met={}).why


def test_small_effects_are_left_to_the_table() -> None:
    x = event(part("feature", 0.9, "amount"), part("pair", 0.05), part("source", -0.08))
    assert x.why.endswith("amount is 812, far above the usual 45.2.")


def test_numbers_as_people_write_them() -> None:
    numbers = (0.0, 1.0, 812.0, 45.21, 1_234_567.8, 0.00723, -0.707, 1.5e-7, 4e12)
    assert [amount(number) for number in numbers] == [
        "0",
        "1",
        "812",
        "45.2",
        "1,234,568",
        "0.00723",
        "−0.707",
        "1.50e−07",
        "4.00e+12",
    ]
    assert [percent(share) for share in (0.0, 0.0004, 0.5, 1.0)] == ["0 %", "0.04 %", "50 %", "100 %"]
