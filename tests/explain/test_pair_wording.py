"""What a pair term knows, in words: there are words for every group of numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conftest import MakeStream
from keat.cooccurrence.pair_columns import EDITIONS, groups_of
from keat.events import EventStream
from keat.explain.pair_wording import known_of
from keat.models.rank import KeatRank, RankConfig
from keat.models.registry import build_model


@pytest.mark.parametrize("edition", range(1, EDITIONS + 1))
def test_every_group_of_numbers_has_words(edition: int, random_stream: MakeStream) -> None:
    stream = random_stream(1)
    model = build_model(stream, RankConfig(edition=edition, hidden=8))
    assert isinstance(model, KeatRank)
    now = int(stream.t[-1]) + 1
    for seen in (stream[:0], stream):  # of strangers as well
        model.observe(seen)
        pair = model.explain_pair(int(stream.src[-1]), int(stream.dst[-1]), now)
        assert known_of(pair, "s").keys() == groups_of(edition).keys() == pair.effects.keys()


def test_what_is_long_past_or_faster_than_the_clock_is_not_given_in_decimals(
    random_stream: MakeStream,
) -> None:
    """Events that share a time have no gap, and a first meeting of long ago is not a tenth of one."""
    stream = random_stream(1)
    model = build_model(stream, RankConfig(edition=2, hidden=8))
    assert isinstance(model, KeatRank)
    model.observe(stream)
    pair = model.explain_pair(int(stream.src[-1]), int(stream.dst[-1]), int(stream.t[-1]) + 1)
    said = known_of(pair, "s")
    assert "of the events of the two are the source's" in said["replies"]
    fast = pair.numbers | {
        "usual gap between the source's events": 0.6,
        "first meetings of the candidate, lately": 1e-9,
        "age of the candidate's last first meeting": 1e9,
    }
    said = known_of(replace(pair, numbers=fast), "s")
    assert said["renewal"].endswith("the source usually has an event every tick of the clock or more often")
    assert said["newcomers"].startswith("no first meeting lately, the last ")
    once = {"events of the source": 12.0, "destinations of the source": 1.0}
    known = known_of(replace(pair, numbers=pair.numbers | once), "s")["the source"]
    assert known.startswith("12 events to 1 destination, last ")


def test_messages_to_several_are_told() -> None:
    """2 wrote to 0 and 1 together, and 0 to 3, 4 and 5, and then to 3 alone."""
    src, dst, t = [2, 2, 0, 0, 0, 0], [0, 1, 3, 4, 5, 3], [10, 10, 20, 20, 20, 30]
    stream = EventStream.from_arrays(src, dst, t, num_nodes=6)
    model = build_model(stream, RankConfig(edition=3, hidden=8))
    assert isinstance(model, KeatRank)
    model.observe(stream)
    (one, other), sent = (
        [known_of(model.explain_pair(0, candidate, 40), "s") for candidate in (1, 4)],
        "the source's last message went to 1, usually they go to 3.0",
    )
    assert one["messages"] == f"{sent}; none went to the candidate"
    assert one["addressed together"] == "by 1 of those who reached the source latest, the last too"
    assert other["messages"] == f"{sent}; 1 since the last to the candidate, which went to 3"
    assert other["addressed together"] == "no message to the source went to the candidate, too"
