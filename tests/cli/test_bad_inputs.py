"""Hundreds of bad inputs over all verbs: each is one sentence, at once, and nothing is left
behind or changed. Odd input that can be used is used, and what is printed of it is JSON."""

from __future__ import annotations

from collections import Counter

import pytest
from bad_events import EVENTS, ODD_EVENTS
from bad_files import FILES, ODD_FILES
from bad_options import ODD_OPTIONS, OPTIONS
from bad_places import ODD_PLACES, PLACES
from bad_runs import ODD_RUNS, RUN_DAMAGES
from bad_streams import STREAMS_AND_GRAPHS
from command import keat
from workplace import Bad, assert_refused, content, workplace

TABLE = [*RUN_DAMAGES, *EVENTS, *STREAMS_AND_GRAPHS, *FILES, *PLACES, *OPTIONS]
ODD = [*ODD_RUNS, *ODD_EVENTS, *ODD_FILES, *ODD_PLACES, *ODD_OPTIONS]
VERBS = {
    *(
        "demo",
        "data list",
        "data info",
        "data get",
        "data example",
        "data prepare",
        "train",
        "evaluate",
        "predict",
        "explain",
    ),
    *("analyze moments", "analyze attention", "analyze fading", "reproduce", "update"),
}


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_one_sentence_and_nothing_left(row: Bad) -> None:
    with workplace() as folder:
        if row.damage is not None:
            row.damage(folder)
        before = content(folder.parents[1])
        assert_refused(keat(*row.words), row.told)
        assert content(folder.parents[1]) == before


@pytest.mark.parametrize("row", ODD, ids=str)
def test_what_is_odd_and_can_be_used_is_used(row: Bad) -> None:
    with workplace() as folder:
        if row.damage is not None:
            row.damage(folder)
        ran = keat(*row.words, "--json")
        assert ran.code == 0, ran
        assert ran.json
        assert "Traceback" not in ran.err
        assert row.told in ran.err


def test_the_table_is_large_and_has_every_verb() -> None:
    rows = Counter(verb for row in TABLE for verb in VERBS if " ".join(row.words).startswith(verb))
    assert {*rows} == VERBS
    assert len(TABLE) >= 400
    assert len({str(row) for row in TABLE}) == len(TABLE)
