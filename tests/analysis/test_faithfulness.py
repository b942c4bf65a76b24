"""Deletion curves: they begin with the score, end with the score of nothing, and know what mattered."""

from __future__ import annotations

import pytest
import torch

from keat.analysis.faithfulness import deletion_curves
from keat.analysis.what_if import Past, attend, past_of, score
from keat.models.tgn import TGN
from trained_runs import payments, small, untrained

T = torch.tensor([int(payments().test.t[0])])


def pair(model: TGN) -> tuple[Past, Past]:
    event = payments().test
    return tuple(past_of(model, torch.tensor([int(end[0])]), T) for end in (event.src, event.dst))  # type: ignore[return-value]


def test_ends_are_shared() -> None:
    model = untrained(small())
    source, destination = pair(model)
    curves = deletion_curves(model, source, destination)
    events = int(source.mask.sum() + destination.mask.sum())
    assert curves.random.shape == (40, events + 1)
    full = float(score(model, attend(model, source)[0], attend(model, destination)[0]))
    nothing = [past.keeping(torch.zeros_like(past.mask)) for past in (source, destination)]
    empty = float(score(model, *(attend(model, past)[0] for past in nothing)))
    for curve in (curves.most_attended_first, curves.least_attended_first, *curves.random):
        assert float(curve[0]) == pytest.approx(full, abs=1e-5)
        assert float(curve[-1]) == pytest.approx(empty, abs=1e-5)


def test_one_step_by_hand() -> None:
    model = untrained(small())
    source, destination = pair(model)
    alphas = [attend(model, past)[1].alpha[0].mean(dim=1) for past in (source, destination)]
    top = int(torch.cat(alphas).argmax())
    pasts = [source, destination]
    side, slot = divmod(top, 5)
    kept = torch.ones(1, 5, dtype=torch.bool)
    kept[0, slot] = False
    pasts[side] = pasts[side].keeping(kept)
    by_hand = score(model, *(attend(model, past)[0] for past in pasts))
    found = deletion_curves(model, source, destination)
    assert float(found.most_attended_first[1]) == pytest.approx(float(by_hand), abs=1e-5)


def test_attention_that_matters_is_faithful() -> None:
    """Sharp attention and large values: the most attended events carry the score."""
    model = untrained(small())
    with torch.no_grad():
        model.attention.lin_query.weight *= 30
        model.attention.lin_edge.weight *= 5
        model.attention.lin_skip.weight.zero_()
    curves = deletion_curves(model, *pair(model))
    assert curves.faithfulness > 1
    assert curves.faithfulness == deletion_curves(model, *pair(model)).faithfulness  # the same each time
