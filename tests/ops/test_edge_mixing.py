"""TGN's sums over past events one after the other against attention's own, which works on dense slots."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from keat.attention import NeighborFeatures
from keat.events import EventStream
from keat.models.registry import build_model
from keat.models.tgn import TGN, TGNConfig

NODES = 30


def some_model(config: TGNConfig, features: int = 3) -> TGN:
    """A few events: some nodes have more than K, some fewer, some none."""
    rng = np.random.default_rng(0)
    stream = EventStream.from_arrays(
        rng.integers(0, 12, 60),
        rng.integers(12, 26, 60),
        np.sort(rng.integers(0, 9_000, 60)),
        rng.standard_normal((60, features), dtype=np.float32),
        num_nodes=NODES,
    )
    model: TGN = build_model(stream, config).double().train()
    model.observe(stream)
    return model


def in_slots(model: TGN, nodes: Tensor, t: Tensor | None) -> Tensor:
    """Embeddings by `KernelizedAttention` itself."""
    past, slots = model.state.past(nodes), model.config.neighbors
    count = past.first.diff()
    mask = torch.arange(slots) < count[:, None]  # (n, K)
    index, event = torch.zeros(2, len(nodes), slots, dtype=torch.int64)
    index[mask], event[mask] = past.row, past.event
    now = past.last_update[index] if t is None else t[:, None]
    age = torch.where(mask, now - model.state._log.t[event], 0)
    near = NeighborFeatures(
        past.x, index, model.time_encoder(age), mask, model.kernel(age), model.state._log.features, event
    )
    z: Tensor = model.attention(past.seeds, near)
    return z


def gradients(model: TGN, z: Tensor) -> dict[str, Tensor]:
    model.zero_grad()
    weight = torch.linspace(-1, 1, z.numel(), dtype=z.dtype).view_as(z)
    (z * weight).sum().backward()  # type: ignore[no-untyped-call]
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("modulate", ["edge", "node", "both", "none"])
@pytest.mark.parametrize("kernel", ["identity", "laplacian", "mixture", "mlp"])
@pytest.mark.parametrize("delta", ["neighbor", "query"])
def test_equal_to_attention_with_gradients(kernel: str, modulate: str, delta: str) -> None:
    config = TGNConfig(kernel=kernel, modulate=modulate, dim=8, neighbors=5, dropout=0.0)  # type: ignore[arg-type]
    model = some_model(config)
    nodes = torch.arange(NODES)
    t = torch.arange(NODES) * 7 + 10_000 if delta == "query" else None
    plain = in_slots(model, nodes, t)
    expected = gradients(model, plain)
    compiled = model.embed(nodes, t)
    torch.testing.assert_close(compiled, plain)
    found = gradients(model, compiled)
    assert found.keys() == expected.keys()
    for name, grad in expected.items():
        torch.testing.assert_close(found[name], grad, msg=name)


def test_nobody_has_a_past_and_events_have_no_features() -> None:
    model = some_model(TGNConfig(dim=8, neighbors=5, kernel="laplacian"), features=0)
    assert torch.isfinite(model.embed(torch.arange(NODES))).all()
    model.reset()
    past = model.state.past(torch.arange(NODES))
    torch.testing.assert_close(model.embed(torch.arange(NODES)), model.attention.lin_skip(past.seeds))


def test_dropout_takes_attention_away_in_training_only() -> None:
    model = some_model(TGNConfig(dim=8, neighbors=5, dropout=0.9))
    nodes = torch.arange(NODES)
    assert not torch.equal(model.embed(nodes), model.embed(nodes))
    model.eval()
    assert torch.equal(model.embed(nodes), model.embed(nodes))
    same = some_model(replace(model.config, dropout=0.0)).eval()
    torch.testing.assert_close(model.embed(nodes), same.embed(nodes))
