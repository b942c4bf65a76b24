"""Every backbone with every kernel, every time encoding and both meanings of Δ: a few steps of training."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

from keat.datasets.loading import Dataset
from keat.events import EventStream
from keat.kernels import KERNELS
from keat.models.contract import LearnedLinkModel, Queries
from keat.models.registry import build_model
from keat.runs.spec import configuration
from keat.time_encoding import TIME_ENCODERS
from keat.training.fit import FitConfig, train_epoch
from keat.training.lessons import LinkLessons

NODES, EVENTS = 14, 90
SIZES: dict[str, dict[str, Any]] = {
    "tgn": {"dim": 8, "neighbors": 4},
    "dygformer": {"channel": 4, "length": 6, "time_dim": 8, "out_dim": 8},
    "tgat": {"neighbors": 4, "time_dim": 8, "out_dim": 8},
    "graphmixer": {"neighbors": 4, "time_dim": 8, "out_dim": 8, "channels": 8},
}
COMBINATIONS = [
    (backbone, kernel, encoder, delta)
    for backbone, kernel, encoder in product(SIZES, KERNELS, TIME_ENCODERS)
    for delta in (("neighbor", "query") if backbone == "tgn" else (None,))
]


def some_events() -> EventStream:
    rng = np.random.default_rng(5)
    return EventStream.from_arrays(
        rng.integers(0, NODES, EVENTS),
        rng.integers(0, NODES, EVENTS),
        np.sort(rng.integers(0, 4_000, EVENTS)),
        rng.standard_normal((EVENTS, 3), dtype=np.float32),
        num_nodes=NODES,
    )


DATA = Dataset(some_events())
STREAM, TRAINED = DATA.stream, len(DATA.train)
EVERYONE = np.arange(NODES, dtype=np.int32)
LAST = Queries(EVERYONE, np.full(NODES, int(STREAM.t[TRAINED])), EVERYONE)


def trained(config: Any) -> LearnedLinkModel:
    """After two steps, knowing the training events."""
    model: LearnedLinkModel = build_model(DATA.train, config, seed=1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    fit = FitConfig(batch_size=TRAINED // 2 + 1, seed=1)
    lessons = LinkLessons(DATA, fit.batch_size, in_turn=model.trains_in_turn)
    loss = train_epoch(model, optimizer, lessons, fit, epoch=1)
    assert np.isfinite(loss)
    return model


def known(model: LearnedLinkModel) -> torch.Tensor:
    """Scores at the time of the first event that was not trained on."""
    with torch.no_grad():
        return model.score(LAST)


@pytest.mark.parametrize(("backbone", "kernel", "encoder", "delta"), COMBINATIONS)
def test_trains_the_same_way_twice_keeps_to_the_past_and_is_loaded_as_it_was(
    backbone: str, kernel: str, encoder: str, delta: str | None
) -> None:
    changes = SIZES[backbone] | ({} if delta is None else {"delta": delta})
    config = configuration(backbone, kernel=kernel, time_encoder=encoder, **changes)
    model, again = trained(config), trained(config)
    for (name, one), (_, other) in zip(model.named_parameters(), again.named_parameters(), strict=True):
        assert torch.equal(one, other), f"{name} differs between two trainings"
        if "kernel" in name or "time_encoder" in name:
            assert one.grad is None or torch.isfinite(one.grad).all(), name
    learnable = [p for name, p in model.named_parameters() if "kernel" in name]
    assert all(p.grad is not None for p in learnable), "the kernel is not learned"

    model.eval()
    scores = known(model)
    assert scores.shape == (NODES, NODES)
    assert torch.isfinite(scores).all()
    fresh: LearnedLinkModel = build_model(DATA.train, config, seed=2)
    fresh.load_state_dict(model.state_dict())
    fresh.load_stream_state({name: value.clone() for name, value in model.stream_state().items()})
    assert torch.equal(known(fresh), scores), "a loaded model scores otherwise"
    if model.trains_in_turn:  # reads by time: the future may be known and must not be used
        model.observe(STREAM[TRAINED:])
        assert torch.equal(known(model), scores), "later events changed a score"
