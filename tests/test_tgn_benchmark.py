"""The two sides of benchmarks/tgn.py compute the same: losses batch by batch, then scores and ranks."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from keat.events import EventStream
from keat.models.tgn import TGNConfig
from keat.tasks.candidates import SharedCandidates

pytest.importorskip("benchmarks", reason="benchmarks/ is not on the path; run as python -m pytest")

from benchmarks.tgn_reference import PyGReference
from benchmarks.tgn_sides import BATCH, Trainer, batches, rank_batch

SOURCES, NODES = 300, 500  # many: PyG loses events of a node that has more than K in a batch


@pytest.fixture(autouse=True)
def mended_argmax(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyG without torch_scatter gives nodes without events another node's message (see test_memory)."""

    def argmax(src: Tensor, index: Tensor, dim: int, dim_size: int) -> Tensor:  # noqa: ARG001
        order = torch.argsort(src, stable=True)
        out = index.new_full((dim_size,), len(src))
        out[index[order]] = order
        return out

    monkeypatch.setattr("torch_geometric.nn.models.tgn.scatter_argmax", argmax)


def test_equal_losses_scores_and_ranks() -> None:
    rng = np.random.default_rng(0)
    events = 8 * BATCH
    stream = EventStream.from_arrays(
        rng.integers(0, SOURCES, events),
        rng.integers(SOURCES, NODES, events),
        np.arange(events) * 3,
        rng.standard_normal((events, 4), dtype=np.float32),
        num_nodes=NODES,
    )
    config = TGNConfig(dropout=0.0, precision="legacy")
    trainer, reference = Trainer(stream, config), PyGReference(stream).train()
    reference.take_weights(trainer.model)
    reference.conv.dropout = 0.0
    trained = 4
    for block, negative in batches(stream, trained):
        assert trainer.step(block, negative) == pytest.approx(reference.train_step(block, negative), rel=1e-4)

    model = trainer.model.eval()
    reference.eval()
    rest = stream[trained * BATCH :]
    candidates = SharedCandidates(rest, stream.dst)
    for start in range(0, len(rest), BATCH):
        queries = candidates.queries(slice(start, start + BATCH))
        with torch.no_grad():
            scores = model.score(queries)
            ranks = rank_batch(model, candidates, start)
        for i in range(0, BATCH, 40):
            src, dst = int(queries.src[i]), int(rest.dst[start + i])
            others = np.setdiff1d(candidates.catalogue, [dst])
            reciprocal, theirs = reference.evaluate_one(src, dst, others)
            ours = torch.cat((scores[i, candidates.catalogue == dst], scores[i, candidates.catalogue != dst]))
            torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)
            assert 1 / float(ranks[i]) == pytest.approx(reciprocal)
        reference.observe(rest[start : start + BATCH])
