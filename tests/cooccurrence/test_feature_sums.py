"""Fading sums of features: what a loop over all past events gives, by every road and from every file."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from keat.clock import Clock
from keat.cooccurrence.feature_sums import FeatureSums, Said
from keat.errors import InputError
from keat.events import EventStream

NODES, WIDTHS = 12, np.array([1.0, 10.0, 100.0])
EVERYONE = np.arange(NODES, dtype=np.int32)


def make_stream(seed: int = 0, events: int = 300) -> EventStream:
    rng = np.random.default_rng(seed)
    return EventStream.from_arrays(
        rng.integers(0, NODES, events),
        rng.integers(0, NODES, events),
        np.sort(rng.integers(0, 100, events)),
        rng.normal(size=(events, 2)),
    )


def observed(stream: EventStream, num_nodes: int = NODES, clock: Clock | None = None) -> FeatureSums:
    sums = FeatureSums(num_nodes, WIDTHS, 2, *(() if clock is None else (clock,)))
    sums.observe(stream.src, stream.dst, stream.t, stream.features)
    return sums


def at(sums: FeatureSums, now: int) -> Said:
    return sums.read(EVERYONE, np.full(NODES, now), EVERYONE)


def plainly(stream: EventStream, among: np.ndarray, now: int) -> np.ndarray:
    weights = np.exp(-(now - stream.t[among])[:, None] / WIDTHS)
    told = np.concatenate((stream.features[among], np.ones((among.sum(), 1))), axis=1)
    return np.asarray((told[:, :, None] * weights[:, None, :]).sum(axis=0))


def test_sums_are_those_of_all_past_events() -> None:
    """Also of nodes that join only after the sums were made."""
    stream, now = make_stream(), 103
    said = at(observed(stream, num_nodes=3), now)
    for u in EVERYONE:
        wanted = plainly(stream, stream.src == u, now)
        np.testing.assert_allclose(said.source[u, 0], wanted, atol=1e-4)
        for v in EVERYONE:
            forth = (stream.src == u) & (stream.dst == v)
            back = (stream.src == v) & (stream.dst == u)
            for place, among in enumerate((forth, back, stream.dst == v)):
                wanted = plainly(stream, among, now)
                np.testing.assert_allclose(said.pair[u, v, place], wanted, atol=1e-4)


def test_in_turn_is_to_observe_and_to_read() -> None:
    """Of events at the time of a question none is known."""
    stream = make_stream(1)
    cut = int(np.searchsorted(stream.t, 50))
    first, block = stream[:cut], stream[cut:]
    quick, plain = observed(first), observed(first)
    candidates = np.random.default_rng(2).integers(0, NODES, (len(block), 3)).astype(np.int32)
    told = quick.read_in_turn(block.src, block.t, candidates, block.src, block.dst, block.t, block.features)
    for i in range(len(block)):
        earlier = observed(stream[: int(np.searchsorted(stream.t, block.t[i]))])
        said = earlier.read(block.src[i : i + 1], block.t[i : i + 1], candidates[i : i + 1])
        torch.testing.assert_close(told.source[i : i + 1], said.source)
        torch.testing.assert_close(told.pair[i : i + 1], said.pair)
    for event in block.blocks(1):
        plain.observe(event.src, event.dst, event.t, event.features)
    assert all(torch.equal(value, plain.state()[name]) for name, value in quick.state().items())


def test_a_kept_state_goes_on_to_the_bit() -> None:
    stream = make_stream(3)
    one, other = observed(stream[:200]), FeatureSums(1, WIDTHS, 2)
    other.load_state(one.state())
    for sums in (one, other):
        sums.observe(stream.src[200:], stream.dst[200:], stream.t[200:], stream.features[200:])
    assert torch.equal(at(one, 120).pair, at(other, 120).pair)
    one.clear()
    assert not at(one, 120).pair.any()
    assert at(other, 120).pair.any()


@pytest.mark.parametrize(
    ("name", "value", "wrong"),
    [
        ("pairs.key", torch.zeros(2, dtype=torch.int64), "the same pair twice"),
        ("ends.sums", torch.full((4, 3, 3), -1.0), "holds a weight below zero"),
        ("ends.sums", torch.zeros(4, 2, 3), "has the shape"),
        ("pairs.last", torch.zeros(2), "is of type float32"),
    ],
)
def test_a_damaged_state_is_refused(name: str, value: torch.Tensor, wrong: str) -> None:
    sums = FeatureSums(2, WIDTHS, 2)
    one, two, times = np.array([0, 1], np.int32), np.array([1, 0], np.int32), np.array([3, 4])
    sums.observe(one, two, times, np.ones((2, 2), np.float32))
    with pytest.raises(InputError, match=wrong):
        FeatureSums(2, WIDTHS, 2).load_state(sums.state() | {name: value})


def test_widths_are_in_the_unit_of_the_clock() -> None:
    """Milliseconds, with widths of seconds."""
    stream = make_stream(4)
    fine = EventStream.from_arrays(stream.src, stream.dst, stream.t * 1_000, stream.features)
    coarse = at(observed(stream), 130).pair
    torch.testing.assert_close(coarse, at(observed(fine, clock=Clock(1, 1_000)), 130_000).pair)
