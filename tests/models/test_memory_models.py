"""JODIE, CTAN, DyRep and TNCN: exact shortcuts, clocks that start anywhere, states that go on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from keat.datasets.loading import Dataset
from keat.errors import InputError
from keat.events import EventStream
from keat.models.architectures import ARCHITECTURES
from keat.models.contract import EmbedsNodes, KeepsEvents, LearnedLinkModel, Queries
from keat.models.registry import build_model
from keat.runs.run_model import train_run
from keat.runs.spec import RunSpec
from keat.training.fit import FitConfig

NODES = 30
SMALL: dict[str, dict[str, Any]] = {
    "jodie": {"dim": 8, "time_dim": 6},
    "ctan": {"dim": 8, "neighbors": 4, "layers": 2},
    "dyrep": {"dim": 8, "neighbors": 4},
    "tncn": {"dim": 8, "neighbors": 4, "hidden": 12},
}


def small(name: str, **changes: Any) -> Any:
    config: Any = ARCHITECTURES[name].config
    return replace(config, **SMALL[name.removeprefix("keat-")] | changes)


NAMES = [name for name in ARCHITECTURES if name.removeprefix("keat-") in SMALL]


def make_stream(
    events: int = 160, features: int = 2, seed: int = 0, start: int = 1_600_000_000
) -> EventStream:
    """Several events share a time; an event may be of a node with itself; the last five nodes have none."""
    rng = np.random.default_rng(seed)
    return EventStream.from_arrays(
        rng.integers(0, NODES - 5, events),
        rng.integers(0, NODES - 5, events),
        np.sort(rng.integers(0, 60, events)) * 250 + start,
        rng.standard_normal((events, features), dtype=np.float32),
        num_nodes=NODES,
    )


def some_queries(rng: np.random.Generator, t: int, number: int = 8) -> Queries:
    """Candidates twice, sources among them, and nodes without events."""
    candidates = rng.integers(0, NODES, 40).astype(np.int32)
    times = t + np.sort(rng.integers(0, 5000, number))
    return Queries(rng.integers(0, NODES, number).astype(np.int32), times, candidates)


def own(queries: Queries) -> Queries:
    """The same with a list for each query."""
    return replace(queries, candidates=np.tile(queries.candidates, (len(queries.src), 1)))


def played(model: LearnedLinkModel, stream: EventStream, block: int = 20) -> Iterator[EventStream]:
    for part in stream.blocks(block):
        yield part
        model.observe(part)


@pytest.mark.parametrize("name", NAMES)
def test_the_shortcut_is_exact(name: str) -> None:
    """300 random queries with one list, kept from block to block, against a list for each query."""
    stream, rng, asked = make_stream(300), np.random.default_rng(1), 0
    model = build_model(stream[:150], small(name))
    kept = rng.integers(0, NODES, 40).astype(np.int32)
    for part in played(model, stream, 15):
        queries = replace(some_queries(rng, int(part.t[0]), 15), candidates=kept)
        fast, plain = model.score(queries), model.score(own(queries))
        torch.testing.assert_close(fast, plain, rtol=1e-4, atol=1e-5)
        asked += len(queries.src)
    assert asked == 300


@pytest.mark.parametrize("name", NAMES)
def test_when_the_clock_started_does_not_matter(name: str) -> None:
    scores = []
    for start in (1_600_000_000, 1_600_000_000 + 123_456_789):
        stream = make_stream(start=start)
        model = build_model(stream[:80], small(name))
        for _ in played(model, stream):
            pass
        scores.append(model.score(some_queries(np.random.default_rng(2), int(stream.t[-1]) + 1)))
    assert torch.equal(*scores)


@pytest.mark.parametrize("learning", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_a_loaded_state_goes_on_to_the_bit(name: str, learning: bool) -> None:
    """Also in the midst of training, where messages are pending."""
    stream = make_stream()
    first, second = (build_model(stream[:80], small(name, dropout=0.0)).train(learning) for _ in range(2))
    second.observe(make_stream(seed=5)[:40])  # forgotten
    for _ in played(first, stream[:100]):
        pass
    second.load_stream_state({key: value.clone() for key, value in first.stream_state().items()})
    assert second.last_time() == first.last_time()
    assert second.sources().tolist() == first.sources().tolist() == sorted(set(stream.src[:100].tolist()))
    assert second.destinations().tolist() == sorted(set(stream.dst[:100].tolist()))
    for model in (first, second):
        for _ in played(model, stream[100:]):
            pass
        model.eval()
    asked = some_queries(np.random.default_rng(2), int(stream.t[-1]) + 1)
    assert torch.equal(first.score(asked), second.score(asked))


@pytest.mark.parametrize("name", NAMES)
def test_a_state_of_another_kind_is_refused(name: str) -> None:
    stream = make_stream()
    model = build_model(stream[:80], small(name))
    model.observe(stream[:60])
    good = model.stream_state()
    for key, value in good.items():
        with pytest.raises(InputError, match=key):
            model.load_stream_state({**good, key: value[None]})
    with pytest.raises(InputError, match="is missing"):
        model.load_stream_state({key: value for key, value in good.items() if key != "memory"})
    for key in ("ring", "pending"):
        with pytest.raises(InputError, match=key):
            model.load_stream_state({**good, key: torch.full_like(good[key], 10_000)})


@pytest.mark.parametrize("name", NAMES)
def test_observing_nothing_changes_nothing(name: str) -> None:
    stream = make_stream()
    model = build_model(stream[:80], small(name))
    model.observe(stream[:60])
    before = {key: value.clone() for key, value in model.stream_state().items()}
    model.observe(stream[60:60])
    model.score(some_queries(np.random.default_rng(3), int(stream.t[60])))
    after = model.stream_state()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[key], after[key]) for key in before)


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_learns(name: str) -> None:
    stream = make_stream()
    model = build_model(stream[:80], small(name, dropout=0.0)).train()
    for part in played(model, stream[:80]):
        candidates = np.stack((part.dst, part.dst[::-1]), axis=1)
        model.zero_grad()
        model.score(Queries(part.src, part.t, candidates)).square().sum().backward()
    without = [key for key, value in model.named_parameters() if value.grad is None or not value.grad.any()]
    assert without == []


@pytest.mark.parametrize("name", NAMES)
def test_nodes_have_embeddings(name: str) -> None:
    stream = make_stream()
    model = build_model(stream[:80], small(name))
    assert isinstance(model, EmbedsNodes)
    assert isinstance(model, KeepsEvents)
    model.observe(stream)
    nodes, t = torch.tensor([3, 3, 7, NODES + 2]), torch.full((4,), int(stream.t[-1]) + 5)
    with torch.no_grad():
        z = model.embeddings(nodes, t)
    assert z.shape == (4, model.embedding_dim)
    assert torch.equal(z[0], z[1])
    assert torch.isfinite(z).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_resumed_training_comes_to_the_same_bits(name: str, tmp_path: Path) -> None:
    data, found = Dataset(make_stream(200)), []
    for folder, epochs in (("once", [2]), ("twice", [1, 2])):
        for each in epochs:
            fitting = FitConfig(epochs=each, batch_size=40, lr=1e-2)
            spec = RunSpec(name, small(name), fitting)
            reports = train_run(spec, data, tmp_path / folder, resume=each > epochs[0]).reports
        found.append((reports[-1].epoch, reports[-1].loss, reports[-1].val))
    assert found[0] == found[1]
