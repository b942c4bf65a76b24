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
    events = len({int(event) for past in (source, destination) for event in past.hood.event[past.mask]})
    assert curves.random.shape == (40, events + 1)
    full = float(score(model, attend(model, source)[0], attend(model, destination)[0]))
    nothing = [past.keeping(torch.zeros_like(past.mask)) for past in (source, destination)]
    empty = float(score(model, *(attend(model, past)[0] for past in nothing)))
    for curve in (curves.most_attended_first, curves.least_attended_first, *curves.random):
        assert float(curve[0]) == pytest.approx(full, abs=1e-5)
        assert float(curve[-1]) == pytest.approx(empty, abs=1e-5)


def test_one_step_by_hand() -> None:
    """An event between the two ends has the attention of both, and goes from both at once."""
    model = untrained(small())
    last = payments().before("test")
    pasts = [past_of(model, torch.tensor([int(end[-1])]), T) for end in (last.src, last.dst)]
    total: dict[int, float] = {}
    seen = 0
    for past in pasts:
        alpha = attend(model, past)[1].alpha[0].mean(dim=1)
        for event, share in zip(
            past.hood.event[past.mask].tolist(), alpha[past.mask[0]].tolist(), strict=True
        ):
            total[event] = total.get(event, 0.0) + share
            seen += 1
    assert len(total) < seen  # there is such an event, and being seen twice it is the most attended
    top = max(total, key=lambda event: total[event])
    without = [past.keeping(past.hood.event != top) for past in pasts]
    assert all(int(now.mask.sum()) < int(past.mask.sum()) for now, past in zip(without, pasts, strict=True))
    by_hand = score(model, *(attend(model, past)[0] for past in without))
    found = deletion_curves(model, pasts[0], pasts[1])
    assert float(found.most_attended_first[1]) == pytest.approx(float(by_hand), abs=1e-5)
    assert len(found.most_attended_first) == len(total) + 1


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
