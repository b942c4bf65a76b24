"""The blur meter reads 0 where attention cannot know the time, and rises with what tells it."""

from __future__ import annotations

import pytest
import torch

from keat.analysis.blur import blur_meter
from keat.analysis.what_if import attend, past_of
from keat.errors import InputError
from keat.models.tgn import TGN
from trained_runs import payments, small, untrained

NODES = torch.arange(40)
TIMES = torch.full((40,), int(payments().test.t[0]))


def without_time(model: TGN) -> TGN:
    """φ in the edge features has no weight any more."""
    with torch.no_grad():
        model.attention.lin_edge.weight[:, : model.config.dim] = 0
    return model


def test_a_model_that_has_no_time_is_fully_blurred() -> None:
    found = blur_meter(without_time(untrained(small(kernel="identity"))), NODES, TIMES)
    assert found.response == found.kernel_response == found.jitter == 0


def test_a_kernel_sharpens_it() -> None:
    model = without_time(untrained(small()))
    with torch.no_grad():
        model.attention.lin_edge.weight *= 20
    on, off = (blur_meter(model, NODES, TIMES, kernel=kernel) for kernel in (True, False))
    assert off.response == 0
    assert 0 < on.response < 1
    assert on.response == pytest.approx(on.kernel_response)  # φ weighs nothing, so ψ is all there is
    assert on.jitter < on.response / 10
    assert on.meter == pytest.approx(on.response - on.jitter)


def test_fast_cosines_alone_are_noise() -> None:
    """Phases of thousands of turns: exchanged ages or 1 % older, it is all the same to them."""
    model = untrained(small(kernel="identity", delta="query"))
    with torch.no_grad():
        model.attention.lin_edge.weight *= 5
    found = blur_meter(model, NODES, TIMES)
    assert found.response > 0.05
    assert found.meter < 0.15 * found.response


def test_phi_frozen_only_psi_can_move() -> None:
    found = blur_meter(untrained(small(kernel="identity")), NODES, TIMES)
    assert found.kernel_response == 0
    assert found.response > 0


def test_two_events_by_hand() -> None:
    """With two events there is one shift: they exchange ages."""
    model = untrained(small(neighbors=2))
    node, t = NODES[:1], TIMES[:1]
    past = past_of(model, node, t)
    before = attend(model, past)[1]
    after = attend(model, past.at_ages(past.psi_age.flip(1), recompute_phi=True))[1]
    found = blur_meter(model, node, t)
    assert found.response == pytest.approx(float((before.alpha - after.alpha).abs()[0, 0].mean()), abs=1e-6)
    edge, node_logit = (before.psi * before.edge_logit)[0].diff(dim=0), before.node_logit[0].diff(dim=0)
    total = (edge + node_logit).square().sum()
    assert found.edge_share == pytest.approx(float((edge * (edge + node_logit)).sum() / total), rel=1e-4)


def test_nodes_without_a_past_are_left_out() -> None:
    model = untrained(small())
    new = torch.tensor([payments().stream.num_nodes + 5])
    model.state.make_room_for(new.numpy())
    with pytest.raises(InputError, match="two past events"):
        blur_meter(model, new, TIMES[:1])
    assert blur_meter(model, torch.cat((NODES, new)), TIMES[:1].expand(41)) == blur_meter(model, NODES, TIMES)
