"""Scores of a few pairs without torch are those of the model."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from keat.datasets.payments import simulate_payments
from keat.models.contract import Queries
from keat.models.rank import KeatRank, RankConfig
from keat.serve.quick_rank import QuickRank


def seen(edition: int) -> KeatRank:
    """A model whose weights, gains and means are any, and that knows 300 payments."""
    torch.manual_seed(edition)
    stream = simulate_payments(400, seed=3)
    model = KeatRank(stream.num_nodes, 0, 3_600.0, RankConfig(hidden=16, edition=edition)).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(3.0)
        for layer in (model.term.lin_source, model.term.lin_pair):
            for name, value in layer.named_buffers():
                value.uniform_(0.2, 1.0) if name == "gain" else value.normal_()
    model.observe(stream[:300])
    return model


@pytest.mark.parametrize("edition", [1, 2, 3])
def test_scores_are_those_of_the_model(edition: int) -> None:
    model = seen(edition)
    quick = QuickRank.of(model)
    assert quick is not None
    rng = np.random.default_rng(0)
    nodes = model.past.num_nodes
    src, dst = rng.integers(0, nodes + 3, (2, 60)).astype(np.int32)  # strangers, too
    t = np.full(60, model.last_time() + 1_000)
    with torch.no_grad():
        expected = model.score(Queries(src, t, dst[:, None]))[:, 0].numpy()
    found = np.concatenate(
        [quick.score(src[k : k + 7], dst[k : k + 7], t[k : k + 7]) for k in range(0, 60, 7)]
    )
    assert np.ptp(expected) > 0.1
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("observed", [0, 4, 9, 12])
def test_in_turn_as_the_model_does(observed: int) -> None:
    model = seen(2)
    other = copy.deepcopy(model)
    stream = simulate_payments(400, seed=3)[300:312]
    quick = QuickRank.of(model)
    assert quick is not None
    found = quick.score_in_turn(stream.src, stream.dst, stream.t, observed)
    with torch.no_grad():
        (expected,) = other.score_in_turn(
            [Queries(stream.src, stream.t, stream.dst[:, None])], stream[:observed]
        )
    np.testing.assert_allclose(found, expected[:, 0].numpy(), rtol=1e-5, atol=1e-5)
    for name, value in other.stream_state().items():
        assert torch.equal(model.stream_state()[name], value), name


def test_learned_widths_are_left_to_the_model() -> None:
    assert QuickRank.of(KeatRank(5, 0, 1.0, RankConfig(widths="learned"))) is None
    assert QuickRank.of(torch.nn.Linear(2, 2)) is None
