"""What-ifs are the model itself: unchanged they equal it, changed they equal a model told otherwise."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from keat.analysis.what_if import (
    all_at,
    attend,
    each_at,
    each_missing,
    each_older,
    past_of,
    same_events,
    score,
)
from keat.models.contract import Queries
from keat.models.tgn import TGN, TGNConfig
from trained_runs import payments, small, untrained

CONFIGS = [
    small(),
    small(delta="query"),
    small(kernel="identity", delta="query", time_encoder="fixed"),
    small(kernel="learnable", modulate="both", shared_edge_weights=False),
    small(kernel="rbf", modulate="node"),
    small(modulate="none", heads=4),
]
NODES = torch.tensor([0, 3, 7, 50, 130])
TIMES = torch.full((5,), int(payments().test.t[10]))


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: f"{c.kernel}-{c.delta}-{c.modulate}")
def test_unchanged_it_is_the_model(config: TGNConfig) -> None:
    model = untrained(config)
    t = TIMES if config.delta == "query" else None
    with torch.no_grad():
        embedded = model.embed(NODES, t)
    past = past_of(model, NODES, TIMES)
    found, attention = attend(model, past)
    torch.testing.assert_close(found, embedded)
    torch.testing.assert_close(
        attention.alpha.sum(dim=1), past.mask.any(dim=1)[:, None].expand(5, config.heads).float()
    )
    query = Queries(np.array([0], np.int32), TIMES[:1].numpy(), np.array([[130]], np.int32))
    assert float(score(model, found[:1], found[-1:])) == pytest.approx(float(model.score(query)), abs=1e-5)


def test_events_come_newest_first() -> None:
    past = past_of(untrained(small()), NODES, TIMES)
    for row, mask in zip(past.hood.event, past.mask, strict=True):
        assert mask.sort(descending=True).values.equal(mask)
        assert row[mask].sort(descending=True).values.equal(row[mask])


def test_another_age_is_another_query_time() -> None:
    """With Δ from the query, all events 1 h older is the same as asking 1 h later: an independent path."""
    model = untrained(small(delta="query"))
    past = past_of(model, NODES, TIMES)
    later, _ = attend(model, past_of(model, NODES, TIMES + 3600))
    shifted = past.at_ages(past.psi_age + 3600 * past.mask, recompute_phi=True)
    torch.testing.assert_close(attend(model, shifted)[0], later)


def test_each_at_changes_one_event_only() -> None:
    model = untrained(small())
    past = past_of(model, NODES[:1], TIMES[:1])
    ages = torch.tensor([0, 3600, 86_400])
    rows = each_at(past, ages)
    assert len(rows) == 5 * 3
    for k in range(5):
        for g in range(3):
            expected = past.psi_age[0].clone()
            expected[k] = ages[g]
            assert rows.psi_age[3 * k + g].equal(expected)
            assert rows.phi_age[3 * k + g].equal(expected)
    assert each_at(past, ages, recompute_phi=False).phi_age[4].equal(past.phi_age[0])


def test_the_shared_sweep_of_a_plain_model_is_flat() -> None:
    """With φ frozen and ψ = 1 nothing can move: the published figure's left panel is true of any TGN."""
    model = untrained(small(kernel="identity"))
    past = past_of(model, NODES[:1], TIMES[:1])
    ages = torch.tensor([0, 3600, 86_400])
    frozen = attend(model, all_at(past, ages))[1].alpha
    assert frozen[0].equal(frozen[1])
    assert frozen[0].equal(frozen[2])
    one = attend(model, each_at(past, ages))[1].alpha
    assert (one[0] - one[2]).abs().max() > 1e-4  # though φ does tell times apart


def test_log_ratios_are_affine_in_psi() -> None:
    """log α_j/α_k = a + bψ in the shared sweep: what makes what-ifs a closed form."""
    model = untrained(small())
    ages = torch.tensor([0, 20_000, 90_000])
    alpha = attend(model, all_at(past_of(model, NODES[:1], TIMES[:1]), ages))[1].alpha.double()
    psi = model.kernel(ages).double()[:, 0]
    ratio = (alpha[:, 0, 0] / alpha[:, 1, 0]).log()
    slope = (ratio[2] - ratio[0]) / (psi[2] - psi[0])
    assert float(ratio[1]) == pytest.approx(float(ratio[0] + slope * (psi[1] - psi[0])), abs=1e-5)


def test_missing() -> None:
    model = untrained(small())
    past = past_of(model, NODES[:1], TIMES[:1])
    alpha = attend(model, each_missing(past))[1].alpha
    assert (alpha.diagonal(dim1=0, dim2=1) == 0).all()
    torch.testing.assert_close(alpha.sum(dim=1), torch.ones(5, 2))
    forgotten = attend(model, past.keeping(torch.zeros_like(past.mask)))
    torch.testing.assert_close(forgotten[0], model.attention.lin_skip(past.seeds).detach())


def test_older_by_the_query_clock() -> None:
    model = untrained(small(delta="query"))
    past = past_of(model, NODES[:1], TIMES[:1])
    older = each_older(model, past, 259_200)
    assert (older.psi_age - past.psi_age).equal(259_200 * torch.eye(5, dtype=torch.int64))


@pytest.mark.parametrize("delta", ["neighbor", "query"])
@pytest.mark.parametrize("shift", [600, 259_200])
def test_one_event_has_one_answer(delta: str, shift: int) -> None:
    """Had an event been older, or not attended to: the same as a model whose log says so, whose clocks are
    read from that log, and which is asked about both ends anew."""
    model = untrained(small(delta=delta))
    source, destination = meeting_again()
    nodes, t = torch.tensor([source, destination]), TIMES[:2]
    pasts = [past_of(model, nodes[[side]], t[[side]]) for side in (0, 1)]
    assert same_events(pasts[0], pasts[1]).any()  # else there is nothing to contradict

    def asked() -> float:
        with torch.no_grad():
            z = model.embed(nodes, t if delta == "query" else None)
        return float(score(model, z[:1], z[1:]))

    before, clocks_moved = asked(), 0
    for own in pasts:
        older = score(
            model, *(attend(model, each_older(model, past, shift, event_of=own))[0] for past in pasts)
        )
        gone = score(model, *(attend(model, each_missing(past, event_of=own))[0] for past in pasts))
        for k in torch.nonzero(own.mask[0])[:, 0].tolist():
            event, ring, clocks = int(own.hood.event[0, k]), model.state._recent.ring, model.state.last_update
            model.state._log.t[event] -= shift
            model.state._memory.last_update = clocks_of_the_log(model)
            clocks_moved += int((clocks != model.state.last_update).any())
            assert asked() == pytest.approx(float(older[k]), abs=1e-5)
            model.state._log.t[event] += shift
            model.state._memory.last_update = clocks
            model.state._recent.ring = torch.where(ring == event, -1, ring)
            assert asked() == pytest.approx(float(gone[k]), abs=1e-5)
            model.state._recent.ring = ring
    assert clocks_moved > 0
    assert asked() == before


def meeting_again() -> tuple[int, int]:
    """A pair that met among the last events of both."""
    data = payments()
    last = data.before("test")
    return int(last.src[-1]), int(last.dst[-1])


def clocks_of_the_log(model: TGN) -> torch.Tensor:
    log, latest = model.state._log, torch.zeros_like(model.state.last_update)
    for ends in (log.src, log.dst):
        latest.scatter_reduce_(0, ends[: log.length], log.t[: log.length], "amax")
    return latest
