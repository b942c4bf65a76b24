"""JODIE: its size, its drift, its cell, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from keat.clock import PLAIN
from keat.errors import InputError
from keat.events import EventStream
from keat.kernels import KERNELS
from keat.models.contract import Queries
from keat.models.gap_scale import GapScale
from keat.models.jodie_model import JODIE, JODIEConfig
from keat.models.registry import build_model
from keat.runs.spec import configuration

SMALL = JODIEConfig(dim=2, time_dim=3, dropout=0.0)


def two_events() -> EventStream:
    return EventStream.from_arrays([0, 0], [1, 2], [100, 130], np.ones((2, 1), dtype=np.float32), num_nodes=4)


def test_parameters_are_as_many_as_in_dyglib() -> None:
    model = JODIE(10, 172, 1.0, JODIEConfig())
    assert sum(p.numel() for p in model.decoder.parameters()) == 59_513
    assert sum(p.numel() for p in model.memory.cell.parameters()) == 135_880
    assert sum(p.numel() for p in model.memory.time_encoder.parameters()) == 200
    assert sum(p.numel() for p in model.parameters()) == 136_424 + 59_513


def test_the_drift_by_hand() -> None:
    model = JODIE(4, 1, 1.0, SMALL).eval()
    with torch.no_grad():
        model.projection.weight.copy_(torch.tensor([[0.5], [-1.0]]))
        model.projection.bias.zero_()
        model.source_gaps.mean.fill_(2.0)
        model.source_gaps.std.fill_(4.0)
        z = model.drifted(
            torch.tensor([[1.0, 2.0]]), torch.tensor([94]), torch.tensor([100]), model.source_gaps
        )
    assert z.tolist() == [[1.5, 0.0]]


def test_the_cell_is_that_of_torch_on_messages_written_by_hand() -> None:
    """Of two events in one call, the last counts; the memories it reads are those before the call."""
    stream = two_events()
    model = build_model(stream, SMALL, sigma=1.0)
    cell = nn.RNNCell(2 + 2 + 1 + 3, 2)
    cell.load_state_dict(model.memory.cell.state_dict())
    model.observe(stream[:1])
    zero, feature = torch.zeros(2), torch.ones(1)
    with torch.no_grad():
        encoded = model.memory.time_encoder(torch.tensor([0, 30]))  # the clock starts with the first event
        first = cell(torch.cat((zero, zero, feature, encoded[0]))[None], zero[None])[0]
        torch.testing.assert_close(model.state.memory[:3], torch.stack((first, first, zero)))
        model.observe(stream[1:])
        second = cell(torch.cat((first, zero, feature, encoded[1]))[None], first[None])[0]
        other = cell(torch.cat((zero, first, feature, encoded[1]))[None], zero[None])[0]
    torch.testing.assert_close(model.state.memory[:3], torch.stack((second, first, other)))
    assert model.state.last_update.tolist() == [130, 100, 130, 100]


def test_without_a_drift_time_does_not_matter() -> None:
    stream = two_events()
    model = build_model(stream, SMALL, sigma=1.0)
    model.observe(stream)
    candidates = np.arange(4, dtype=np.int32)
    now, later = (
        model.score(Queries(np.array([0], np.int32), np.array([t]), candidates)) for t in (140, 999)
    )
    assert not torch.equal(now, later)
    with torch.no_grad():
        for parameter in model.projection.parameters():
            parameter.zero_()
    now, later = (
        model.score(Queries(np.array([0], np.int32), np.array([t]), candidates.copy())) for t in (140, 999)
    )
    assert torch.equal(now, later)
    z = model.embeddings(torch.arange(4), torch.full((4,), 140))
    assert torch.equal(z, model.state.memory)


def test_messages_in_training_are_those_of_evaluation() -> None:
    """Where everybody is asked about in every block. (Else a message that waits reads the other end's memory
    as it is when it is applied, as in TGN.)"""
    rng = np.random.default_rng(0)
    src = np.concatenate([rng.permutation(4) for _ in range(12)])
    dst = np.concatenate([rng.permutation(4) + 4 for _ in range(12)])
    stream = EventStream.from_arrays(src, dst, np.arange(48) * 7, rng.random((48, 1), dtype=np.float32))
    learning, settled = (build_model(stream, SMALL, sigma=1.0) for _ in range(2))
    learning.train()
    for part in stream.blocks(4):
        queries = Queries(part.src, part.t, np.stack((part.dst, part.dst[::-1]), axis=1))
        torch.testing.assert_close(learning.score(queries), settled.score(queries))
        learning.observe(part)
        settled.observe(part)


def test_usual_gaps_are_of_each_role_and_from_the_first_event() -> None:
    stream = EventStream.from_arrays([0, 0, 1], [2, 3, 3], [1000, 1010, 1030], num_nodes=4)
    model = build_model(stream, SMALL, sigma=1.0)
    for gaps, found in ((model.source_gaps, [0, 10, 30]), (model.destination_gaps, [0, 10, 20])):
        assert float(gaps.mean) == pytest.approx(np.mean(found))
        assert float(gaps.std) == pytest.approx(np.std(found))
    again = JODIE(4, 0, 1.0, SMALL)
    again.load_state_dict(model.state_dict())
    assert torch.equal(again.source_gaps.mean, model.source_gaps.mean)


def test_a_split_without_gaps_leaves_the_scale() -> None:
    scale = GapScale(3.0)
    scale.look_at(np.empty(0, np.int64), np.empty(0, np.int64), PLAIN)
    scale.look_at(np.array([4, 5]), np.array([70, 70]), PLAIN)
    assert (float(scale.mean), float(scale.std)) == (0.0, 3.0)
    assert scale(torch.tensor([6])).tolist() == [2.0]


@pytest.mark.parametrize("kernel", [name for name in KERNELS if name != "identity"])
def test_a_kernel_is_refused_with_the_reason(kernel: str) -> None:
    with pytest.raises(InputError, match="JODIE reads none when it scores, only a memory; leave the kernel"):
        configuration("jodie", kernel=kernel)
