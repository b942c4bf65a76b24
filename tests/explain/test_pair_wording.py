"""What a pair term knows, in words: there are words for every group of numbers."""

from __future__ import annotations

import pytest

from conftest import MakeStream
from keat.cooccurrence.pair_columns import EDITIONS, groups_of
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
