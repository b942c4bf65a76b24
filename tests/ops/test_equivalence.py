"""Every operation is what its plain form says: values and gradients, at any size, on one thread or many."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from examples import OPERATIONS, Sizes, normal
from torch import Tensor

from keat.events import EventStream
from keat.models.architectures import ARCHITECTURES
from keat.models.contract import Queries
from keat.models.registry import build_model
from keat.ops import compiling, messages, mlp, team

SIZES = {
    "usual": Sizes(rows=12, slots=5, heads=2, dim=8, time=6, message=4, queries=9),
    "odd": Sizes(rows=7, slots=3, heads=3, dim=5, time=1, message=11, queries=13),
    "without messages": Sizes(rows=5, slots=10, heads=1, dim=3, time=7, message=0, queries=2),
    "one of each": Sizes(rows=1, slots=1, heads=1, dim=1, time=1, message=1, queries=1),
    "nothing": Sizes(rows=0, slots=4, heads=2, dim=4, time=3, message=2, queries=3),
}
TOLERANCE = {torch.float32: 2e-5, torch.float64: 1e-11}


@pytest.fixture(params=[1, 3])
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """With several threads, however little work there is; and blocks of rows that are not whole."""
    monkeypatch.setattr(team, "WORTHWHILE", 1)
    monkeypatch.setattr(mlp, "ROWS", 4)
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def gradients(outputs: list[Tensor], leaves: list[Tensor]) -> list[Tensor | None]:
    torch.manual_seed(6)
    total = sum((out * torch.randn(out.shape, dtype=out.dtype)).sum() for out in outputs)
    assert isinstance(total, Tensor)
    return list(torch.autograd.grad(total, leaves, allow_unused=True))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.usefixtures("threads")
def test_it_is_its_plain_form(name: str, size: str, dtype: torch.dtype) -> None:
    example = OPERATIONS[name](SIZES[size], normal(dtype))
    fast, plain = list(example.fast()), list(example.plain())
    near = TOLERANCE[dtype if name != "cosine and sine" else torch.float32]
    for ours, expected in zip(fast, plain, strict=True):
        torch.testing.assert_close(ours, expected, rtol=near, atol=near)
    if example.leaves:
        leaves = list(example.leaves)
        for found, wanted in zip(gradients(fast, leaves), gradients(plain, leaves), strict=True):
            assert found is not None
            assert wanted is not None
            scale = max(1.0, float(wanted.abs().max())) if wanted.numel() else 1.0
            torch.testing.assert_close(found, wanted, rtol=10 * near, atol=10 * near * scale)


@pytest.mark.parametrize("name", OPERATIONS)
def test_it_is_the_same_without_gradients(name: str) -> None:
    example = OPERATIONS[name](SIZES["usual"], normal(torch.float64))
    with torch.no_grad():
        fast, plain = list(example.fast()), list(example.plain())
    for ours, expected in zip(fast, plain, strict=True):
        torch.testing.assert_close(ours, expected)


@pytest.mark.parametrize("plainly", [False, True])
def test_messages_are_not_written_where_a_node_without_one_has_a_memory(
    plainly: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if plainly:
        monkeypatch.setattr(compiling, "DEVICES", frozenset())
    nodes, events = torch.arange(2), (*torch.zeros(3, 1, dtype=torch.int64), torch.zeros(1, 3))
    told = torch.tensor([0, -1])
    for memory, whole in ((torch.tensor([[1.0], [0.0]]), True), (torch.ones(2, 1), False)):
        written = messages.write_messages(nodes, memory, torch.zeros(2).long(), told, events, 6)
        assert (written is not None) == whole


def test_compiled_loops_are_for_full_precision_in_reach() -> None:
    assert compiling.is_compilable(torch.zeros(1))
    assert not compiling.is_compilable(torch.zeros(1, dtype=torch.bfloat16))
    assert not compiling.is_compilable(torch.zeros(1, device="meta"))


def some_stream() -> EventStream:
    rng = np.random.default_rng(0)
    src, dst = rng.integers(0, 15, 300), rng.integers(15, 30, 300)
    features = rng.standard_normal((300, 3), dtype=np.float32)
    return EventStream.from_arrays(src, dst, np.sort(rng.integers(0, 9_000, 300)), features, num_nodes=32)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("keat-tgn", {"delta": "neighbor"}),
        ("keat-tgn", {"delta": "query"}),
        ("keat-tgat", {}),
        ("keat-graphmixer", {"neighbors": 4}),
        ("keat-dygformer", {"length": 8}),
        ("jodie", {"dim": 16}),
        ("keat-ctan", {"dim": 16, "layers": 2}),
        ("keat-dyrep", {"dim": 16}),
        ("keat-tncn", {"dim": 16, "mode": 2}),
    ],
)
def test_models_are_the_same_where_nothing_is_compiled(
    name: str, settings: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What other devices do: gradients of training, and scores in evaluation."""
    config: Any = ARCHITECTURES[name].config
    config = replace(config, dropout=0.0, **settings)
    stream, results = some_stream(), []
    for devices in (frozenset({"cpu"}), frozenset()):
        monkeypatch.setattr(compiling, "DEVICES", devices)
        torch.manual_seed(0)
        model = build_model(stream, config).train()
        for part, block in pairwise(stream[:200].blocks(50)):
            model.observe(part)
            model.zero_grad()
            candidates = np.stack((block.dst, block.dst[::-1]), axis=1)
            model.score(Queries(block.src, block.t, candidates)).square().sum().backward()
        grads = [p.grad.clone() for p in model.parameters() if p.grad is not None]
        model.eval()
        model.observe(stream[150:])
        t = np.full(6, 9_500, dtype=np.int64) + np.arange(6)
        everyone = np.arange(32, dtype=np.int32)
        results.append([model.score(Queries(everyone[:6], t, everyone)).detach(), *grads])
    for ours, plain in zip(*results, strict=True):
        torch.testing.assert_close(ours, plain, rtol=1e-3, atol=1e-4 * max(1.0, float(plain.abs().max())))
