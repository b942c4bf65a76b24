"""The four networks against their formulas, their numbers of parameters, and what parity brings back."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from small_snapshots import NODES, ask, build
from torch import Tensor, nn

from keat.errors import InputError
from keat.events import EventStream
from keat.models.architectures import ARCHITECTURES
from keat.models.registry import assemble
from keat.models.snapshots import (
    GCLSTM,
    GCN,
    HTGN,
    EvolveGCN,
    EvolveGCNConfig,
    GCLSTMConfig,
    GCNConfig,
    HTGNConfig,
)
from keat.models.snapshots.driver import SnapshotModel
from keat.models.snapshots.poincare import exp_0, log_0, mobius_add

BIN = 5


def crowd(t: int, seed: int) -> EventStream:
    """Every node meets some other at a time."""
    others = np.random.default_rng(seed).permutation(NODES)
    features = np.zeros((NODES, 2), dtype=np.float32)
    return EventStream.from_arrays(np.arange(NODES), others, np.full(NODES, t), features, num_nodes=NODES)


def shown(model: SnapshotModel, snapshots: int, change: int = 0) -> Tensor:
    """z of all nodes after a number of snapshots; the last is another with ``change``."""
    model.reset()
    for number in range(snapshots + 1):
        last = number == snapshots - 1
        model.observe(crowd(number * BIN, number + 100 * change * last))
    return model.embeddings(torch.arange(NODES), torch.zeros(NODES, dtype=torch.int64))


def adjacency(number: int) -> Tensor:
    events = crowd(0, number)
    a = torch.zeros(NODES, NODES)
    a[events.src, events.dst] = a[events.dst, events.src] = 1
    return a.fill_diagonal_(0)


def with_loops(a: Tensor) -> Tensor:
    scale = (a.sum(1) + 1).rsqrt()
    return scale[:, None] * (a + torch.eye(NODES)) * scale


@pytest.mark.parametrize(
    ("config", "numbers"),
    [
        (GCNConfig(), 82_817),
        (GCNConfig(parity=True), 82_817),
        (GCLSTMConfig(parity=True), 658_177),
        (GCLSTMConfig(), 658_177 + 4 * 256 * 256),  # the second term of the polynomial, for each gate
        (EvolveGCNConfig(), 592_129),
        # The published layers also hold 146 numbers that nothing reads: two biases and two attentions.
        (HTGNConfig(), 5_698 - 146 + 128 * 1_000),
    ],
)
def test_numbers_of_parameters(config: object, numbers: int) -> None:
    kind = next(entry.kind for entry in ARCHITECTURES.values() if type(entry.config) is type(config))
    model = kind(1_000, 172, 1.0, config)
    assert sum(parameter.numel() for parameter in model.parameters()) == numbers


def test_gcn_is_its_formula() -> None:
    model = build("utg-gcn")
    assert isinstance(model, GCN)
    z, mixing = shown(model, 3), with_loops(adjacency(2))
    h = mixing @ model.random.identity(torch.arange(NODES)) @ model.first.weight.T + model.first.bias
    norm = nn.BatchNorm1d(h.shape[1]).train()
    with torch.no_grad():
        torch.testing.assert_close(
            z, mixing @ torch.relu(norm(h)) @ model.second.weight.T + model.second.bias
        )


def test_gcn_reads_the_latest_snapshot_and_with_parity_the_first() -> None:
    for parity in (False, True):
        model = build("utg-gcn", parity=parity)
        assert torch.equal(shown(model, 5), shown(model, 1)) == parity
        assert torch.equal(shown(model, 5), shown(model, 5, change=1)) == parity


def test_gclstm_is_its_formula() -> None:
    model = build("utg-gclstm")
    assert isinstance(model, GCLSTM)
    z = shown(model, 2)
    x, dim = model.random.identity(torch.arange(NODES)), model.config.dim
    h = c = torch.zeros(NODES, dim)
    with torch.no_grad():
        for number in range(2):
            a = adjacency(number)
            scale = torch.where(a.sum(1) > 0, a.sum(1).rsqrt(), 0)
            scaled = -scale[:, None] * a * scale  # the Laplacian, minus 1
            of_h = h @ model.of_state.weight[:, :dim].T + (scaled @ h) @ model.of_state.weight[:, dim:].T
            gates = model.of_input(x) + of_h + model.of_state.bias
            i, f, o, new = gates.chunk(4, dim=1)
            c = f.sigmoid() * c + i.sigmoid() * new.tanh()
            h = o.sigmoid() * c.tanh()
        torch.testing.assert_close(z, model.output(h.relu()))


def test_gclstm_sees_edges_unless_its_polynomial_has_one_term() -> None:
    for parity in (False, True):
        model = build("utg-gclstm", parity=parity)
        assert torch.equal(shown(model, 4), shown(model, 4, change=1)) == parity


def test_the_weight_of_evolvegcn_is_that_of_a_gru_and_with_parity_of_one_step() -> None:
    for parity in (False, True):
        model = build("utg-evolvegcn", parity=parity)
        assert isinstance(model, EvolveGCN)
        z, size = shown(model, 3), model.config.input_dim
        gru = nn.GRU(size, size)
        gru.load_state_dict({f"{key}_l0": value for key, value in model.gru.state_dict().items()})
        weight = model.start[None]
        with torch.no_grad():
            for _ in range(1 if parity else 3):
                _, weight = gru(weight, weight)
            mixed = with_loops(adjacency(2)) @ model.random.identity(torch.arange(NODES))
            torch.testing.assert_close(z, model.output(torch.relu(mixed @ weight[0])))


def test_htgn_is_its_formula() -> None:
    model = build("utg-htgn", states=3)
    assert isinstance(model, HTGN)
    z = shown(model, 4)
    states = [torch.zeros(NODES, model.config.dim)] * 3
    with torch.no_grad():
        for number in range(4):
            v = torch.cat((model.of_features(model.features), states[-1]), dim=1)
            for layer in model.layers:
                linear = layer.linear
                assert isinstance(linear, nn.Linear)
                point = mobius_add(exp_0(v @ linear.weight.T), exp_0(linear.bias))
                v = nn.functional.leaky_relu(with_loops(adjacency(number)) @ log_0(point))
            logits = torch.stack([torch.tanh(u @ model.query) @ model.weigh for u in states])  # (3, n, 1)
            mean = sum(w * u for w, u in zip(logits.softmax(0), states, strict=True)) / 3
            states = [*states[1:], model.gru(v, mean)]
    torch.testing.assert_close(z, states[-1])


def test_htgn_is_kept_near_where_it_was_unless_parity_says_not() -> None:
    """Scores are the same. With a loss that is always 0, the consistency alone is left to learn from."""
    scores, gradients = {}, {}
    for parity in (False, True):
        model = build("utg-htgn", parity=parity).train()
        shown(model, 3)
        logits = model.score(ask())
        (0 * logits.sum()).backward()  # type: ignore[no-untyped-call]
        assert isinstance(model, HTGN)
        assert model.gru.weight_ih.grad is not None
        scores[parity], gradients[parity] = logits.detach(), model.gru.weight_ih.grad
    assert torch.equal(scores[False], scores[True])
    assert gradients[False].any()
    assert not gradients[True].any()


def test_nodes_that_came_after_training_are_served_by_htgn() -> None:
    model = build("utg-htgn")
    shown(model, 2)
    strangers = model.embeddings(torch.tensor([NODES, 5_000]), torch.zeros(2, dtype=torch.int64))
    assert torch.equal(strangers[0], strangers[1])  # nothing is known that would tell them apart
    assert torch.isfinite(strangers).all()


def test_htgn_has_no_pair_term() -> None:
    with pytest.raises(InputError, match="decodes by a distance"):
        _ = build("utg-htgn").last_layer
    config = GCNConfig(input_dim=4, dim=4, pair_term="rank")
    made = assemble(config, NODES, 0, 1.0, build("utg-gcn").clock)
    assert not made.last_layer.weight.any()
