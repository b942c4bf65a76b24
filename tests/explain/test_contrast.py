"""Why this candidate and not that one: effects on the difference of two scores, and on the rank."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from keat.cooccurrence import Columns, Numbers
from keat.cooccurrence.pair_columns import groups_of, of_nothing
from keat.errors import InputError
from keat.explain import Scored
from keat.explain.asker import Asker
from keat.explain.contrast import ScoredCandidates
from keat.models.contract import Queries
from keat.models.rank import KeatRank, RankConfig
from keat.models.tgat import TGATConfig
from keat.models.with_pair_term import WithPairTerm
from keat.report.explained.explained_page import page
from keat.runs.run import open_kept
from keat.runs.run_subject import subject_of
from keat.tasks.metrics import rank_of
from trained_runs import payments, small, trained

DAYS = 3 * 86_400
RANK = RankConfig(widths="3600,172800", hidden=16, edition=2)
CONFIGS = {
    "keat-tgn": small(pair_term="kernel", pair_widths="learned"),
    "keat-tgat": TGATConfig(kernel="laplacian", layers=1, time_dim=8, out_dim=8, pair_term="rank"),
    "keat-rank": RANK,
}


@pytest.fixture(scope="module", params=CONFIGS.keys())
def folder(request: pytest.FixtureRequest) -> Path:
    return trained(CONFIGS[request.param])


def some_pair() -> tuple[int, int, int]:
    """A source, where it went last, and where another did."""
    stream = payments().stream
    src, dst = int(stream.src[-1]), int(stream.dst[-1])
    return src, dst, next(int(node) for node in stream.dst[::-1] if node != dst)


def pair_term_of(asker: Asker) -> KeatRank:
    model = asker.model.pair if isinstance(asker.model, WithPairTerm) else asker.model
    assert isinstance(model, KeatRank)
    return model


@torch.no_grad()
def logit(model: KeatRank, src: int, dst: int, t: int, hidden: tuple[str, ...] = ()) -> float:
    """Of the pair term, with some numbers as for strangers, one by one."""
    read = model.past.read(np.array([src], np.int32), np.array([t]), np.array([dst], np.int32))
    seen = model.term.mixed(read)
    columns = Columns(len(model.widths()), model.past.edition)
    source, pair = seen.source.clone(), seen.pair.clone()
    for names, numbers in ((columns.source, source), (columns.pair, pair)):
        for column, (name, nothing) in enumerate(zip(names, of_nothing(names), strict=True)):
            if name in hidden:
                numbers[..., column] = nothing
    return float(model.term.judge(Numbers(source, pair)))


def test_effects_are_those_of_hiding_a_group_in_both(folder: Path) -> None:
    asker, (src, dst, other) = Asker(subject_of(folder)), some_pair()
    x = asker.pair(src, dst, None, DAYS, other)
    contrast, model = x.contrast, pair_term_of(asker)
    assert contrast is not None
    assert contrast.other == other
    assert contrast.difference == x.score - contrast.score
    ask = Queries(np.array([src], np.int32), np.array([x.t]), np.array([[dst, other]], np.int32))
    both = asker.model.score(ask)[0].tolist()
    assert (x.score, contrast.score) == pytest.approx(both, abs=1e-4)

    known = asker.model.destinations()
    scores = asker.model.score(Queries(ask.src, ask.t, known))[0].detach()
    place = np.flatnonzero(known == dst)[0]
    rest = scores[known != dst][None]
    assert (x.rank, x.candidates) == (float(rank_of(scores[[place]], rest)), len(known))
    assert contrast.rank == float(rank_of(scores[known == other], scores[known != other][None]))
    groups = groups_of(model.past.edition)
    now = [logit(model, src, node, x.t) for node in (dst, other)]
    assert contrast.difference_of_pair_terms == pytest.approx(now[0] - now[1], abs=1e-4)
    assert {group.effect != 0 for group in contrast.groups} >= {True}
    for group in contrast.groups:
        hidden = [logit(model, src, node, x.t, groups[group.group]) for node in (dst, other)]
        without = contrast.difference - (now[0] - now[1]) + (hidden[0] - hidden[1])
        assert group.effect == pytest.approx(contrast.difference - without, abs=1e-4)
        lower = scores[[place]] - (now[0] - hidden[0])
        assert group.rank_without == pytest.approx(float(rank_of(lower, rest)), abs=0.5)  # rounding, if level
    sizes = [abs(group.effect) for group in contrast.groups]
    assert sizes == sorted(sizes, reverse=True)
    left_out = set(groups) - {group.group for group in contrast.groups}
    for name in left_out:
        assert logit(model, src, dst, x.t, groups[name]) == pytest.approx(now[0], abs=1e-6)


def test_the_other_way_round_everything_is_the_opposite() -> None:
    asker, (src, dst, other) = Asker(subject_of(trained(RANK)), payments()), some_pair()
    there, back = (asker.pair(src, one, None, DAYS, two) for one, two in ((dst, other), (other, dst)))
    assert there.contrast is not None
    assert back.contrast is not None
    assert there.contrast.difference == pytest.approx(-back.contrast.difference, abs=1e-5)
    turned = {group.group: group for group in back.contrast.groups}
    for group in there.contrast.groups:
        assert group.effect == pytest.approx(-turned[group.group].effect, abs=1e-5)
        assert (group.known, group.known_of_other) == (
            turned[group.group].known_of_other,
            turned[group.group].known,
        )


def test_against_whoever_ranks_first(folder: Path) -> None:
    run, (src, *_) = open_kept(folder), some_pair()
    best, second, third = (row["destination"] for row in run.rank(src, top=3).to_pylist())
    x = run.explain(src, third, against="first")
    assert isinstance(x, Scored)
    assert x.contrast is not None
    assert (x.contrast.other, x.contrast.rank) == (best, 1.0)
    assert x.contrast.difference < 0
    assert x.why.startswith(f"{third} ranks 3rd of {x.candidates:,} for {src}, and {best} ranks 1st.")
    assert x.why.split(". ")[1].startswith((f"What counts more for {best}: ", "Nothing that is known"))
    ahead = run.explain(src, second, against=third)
    assert isinstance(ahead, Scored)
    assert ahead.contrast is not None
    assert ahead.contrast.difference > 0
    with pytest.raises(InputError, match=f"{best} ranks first itself; name the candidate"):
        run.explain(src, best, against="first")


def test_a_node_called_first_is_meant_by_its_name() -> None:
    asker, (src, dst, other) = Asker(subject_of(trained(RANK))), some_pair()
    index = asker.index
    asker.index = lambda node, side: other if node == "first" else index(node, side)  # type: ignore[method-assign]
    contrast = asker.pair(src, dst, None, DAYS, "first").contrast
    assert contrast is not None
    assert contrast.other == other


def test_one_that_nobody_has_met_is_a_candidate_too() -> None:
    asker, (src, dst, _) = Asker(subject_of(trained(RANK)), payments()), some_pair()
    x = asker.pair(src, dst, None, DAYS, src)
    assert x.contrast is not None
    assert x.candidates == len(asker.model.destinations()) + 1
    met = next(group for group in x.contrast.groups if group.group == "meetings of the pair")
    assert met.known.startswith("met ")
    assert met.known_of_other == "never met"


def test_the_page_and_json_have_it(folder: Path) -> None:
    src, dst, other = some_pair()
    asker = Asker(subject_of(folder))
    x = asker.pair(src, dst, None, DAYS, other)
    assert x.contrast is not None
    told = json.loads(json.dumps(x.to_json(), allow_nan=False))
    assert told["contrast"]["difference"] == x.contrast.difference
    assert told["contrast"]["groups"][0]["group"] == x.contrast.groups[0].group
    text = page(x)
    assert f"<h2>{dst} against {other}</h2>" in text
    assert x.contrast.groups[0].known in text
    assert ("of which the embeddings make" in text) == (x.model["name"] != "keat-rank")
    alone = asker.pair(src, dst, None, DAYS)
    assert alone.to_json()["contrast"] is None
    assert "against" not in alone.why
    named = replace(x, contrast=replace(x.contrast, other="<b>&"))
    assert "&lt;b&gt;&amp;" in page(named)
    assert "<b>&" not in page(named)


def test_what_cannot_be_contrasted_is_refused() -> None:
    run, (src, dst, other) = open_kept(trained(RANK)), some_pair()
    with pytest.raises(InputError, match=f"{dst} cannot be contrasted with itself; name another candidate."):
        run.explain(src, dst, against=dst)
    with pytest.raises(InputError, match="'nobody' is not"):
        run.explain(src, dst, against="nobody")
    with pytest.raises(InputError, match="This keat-tgn has no pair term"):
        open_kept(trained(small())).explain(src, dst, against=other)


def test_a_rank_between_level_ones_is_their_middle() -> None:
    level = ScoredCandidates(np.arange(4, dtype=np.int32), torch.tensor([2.0, 3.0, 1.0, 1.0]))
    assert [level.rank(place) for place in range(4)] == [2.0, 1.0, 3.5, 3.5]
    assert level.ranks_if(0, [0.0, 1.0, 5.0, -2.0]) == [2.0, 3.0, 4.0, 1.0]
