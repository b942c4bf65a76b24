"""Both sides of benchmarks/dygformer.py compute the same, where keat pads as the reference does."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch

from keat.events import EventStream
from keat.models.contract import Queries
from keat.models.dygformer import DyGFormer, DyGFormerConfig

pytest.importorskip("benchmarks", reason="benchmarks/ is not on the path; run as python -m pytest")

from benchmarks.dygformer_reference import Reference


def test_equal_scores_with_legacy_padding_and_different_ones_without() -> None:
    rng = np.random.default_rng(0)
    events = EventStream.from_arrays(
        rng.integers(0, 20, 300),
        rng.integers(20, 40, 300),
        np.sort(rng.integers(0, 200, 300)),
        rng.standard_normal((300, 4), dtype=np.float32),
        num_nodes=40,
    )
    config = DyGFormerConfig(length=16, channel=10, time_dim=12, out_dim=14, legacy_padding=True)
    torch.manual_seed(0)
    model = DyGFormer(40, 4, 1.0, config).eval()
    model.observe(events)
    reference = Reference(copy.deepcopy(model), events).eval()
    asked = events[20:70]  # some ends have a short past
    with torch.no_grad():
        expected = reference(asked.src.astype(np.int64), asked.dst.astype(np.int64), asked.t)
    queries = Queries(asked.src, asked.t, asked.dst[:, None])
    torch.testing.assert_close(model.score(queries)[:, 0], expected, atol=1e-5, rtol=1e-5)
    model.config = replace(config, legacy_padding=False)
    assert (model.score(queries)[:, 0] - expected).abs().max() > 1e-4
