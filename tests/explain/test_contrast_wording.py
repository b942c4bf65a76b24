"""The sentences on two candidates, over contrasts made by hand."""

from __future__ import annotations

from typing import Any

from keat.explain import Scored
from keat.explain.contrast import Contrast, ContrastedGroup
from keat.explain.contrast_wording import difference_line
from keat.explain.phrases import rank_written

MET = ContrastedGroup(
    "meetings of the pair", "never met", "met 12 times, last 3 h ago", effect=-2.0, rank_without=31.0
)
BUSY = ContrastedGroup("the candidate's activity", "112 events", "40 events", effect=0.5, rank_without=44.5)
SAME = ContrastedGroup("the source", "31 events", "31 events", effect=-3.0, rank_without=2.0)


def scored(*groups: ContrastedGroup, model: str = "keat-rank", **changes: Any) -> Scored:
    """florist 2 is 31st, florist 1 first."""
    contrast: dict[str, Any] = {
        "other": "florist 1",
        "score": 2.0,
        "rank": 1.0,
        "difference": -1.5,
        "difference_of_pair_terms": -1.5,
        "groups": list(groups),
    }
    return Scored(
        model={"name": model, "loss": "listwise"},
        dataset=None,
        unit="s",
        source="C-037",
        destination="florist 2",
        t=10**9,
        score=0.5,
        observed=None,
        notice=None,
        rank=31.0,
        candidates=1_058,
        pair=None,
        contrast=Contrast(**contrast | changes),
    )


def test_why_one_and_not_the_other() -> None:
    assert scored(SAME, MET, BUSY).why == (
        "florist 2 ranks 31st of 1,058 for C-037, and florist 1 ranks 1st. What counts more for florist 1: "
        "meetings of the pair (florist 1: met 12 times, last 3 h ago; florist 2: never met). What counts "
        "more for florist 2: the candidate's activity (florist 2: 112 events; florist 1: 40 events), "
        "without which florist 2 would rank 44.5."
    )


def test_what_hardly_counts_for_the_one_behind_is_not_said() -> None:
    little = ContrastedGroup("recency rank", "number 2", "number 3", effect=0.1, rank_without=31.0)
    assert "recency rank" not in scored(MET, little).why


def test_where_nothing_speaks_for_the_one_ahead_that_is_said() -> None:
    assert "Nothing that is known of the two counts more for florist 1 by itself." in scored(SAME, BUSY).why


def test_the_part_of_the_embeddings() -> None:
    x = scored(BUSY, model="tgn", difference_of_pair_terms=0.25)
    assert x.contrast is not None
    assert x.why.endswith(
        "The embeddings make −1.750 of the difference of −1.500, more than anything that is known of the two."
    )
    assert difference_line(x, x.contrast) == (
        "florist 2 scored 0.500, florist 1 2.000: a difference of −1.500, of which the embeddings make "
        "−1.750."
    )
    alone = scored(BUSY)
    assert alone.contrast is not None
    assert difference_line(alone, alone.contrast).endswith("a difference of −1.500.")
    assert "embeddings" not in alone.why


def test_ranks_are_written_whole_where_they_are() -> None:
    assert [rank_written(rank) for rank in (1.0, 3.5, 1_234_567.0)] == ["1", "3.5", "1,234,567"]
