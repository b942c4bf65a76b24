"""Messages to several at one time, which the third edition reads: as plain loops tell them, strict in time,
however the events are cut, kept, grown and forgotten; and nothing of them before the third edition."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_second_edition import running

from keat.cooccurrence import KernelCooccurrence
from keat.cooccurrence.pair_columns import groups_of
from keat.errors import KeatError
from keat.events import EventStream

SIGMA, NODES, RING = 20.0, 12, 6
LATEST = [name for group, names in groups_of(3).items() if group not in groups_of(2) for name in names]
EVERYONE = np.arange(NODES, dtype=np.int32)
Event = tuple[int, int, int]


def make_stream(seed: int, events: int = 200, until: int = 60) -> EventStream:
    """Few times and few sources: many messages to several, some of them twice to the same."""
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(0, 4, events), rng.integers(0, NODES, events)
    return EventStream.from_arrays(src, dst, np.sort(rng.integers(0, until, events)), num_nodes=NODES)


def past_of(stream: EventStream, edition: int = 3, budget: int = 0) -> KernelCooccurrence:
    past = KernelCooccurrence(NODES, SIGMA, ring=RING, edition=edition, budget=budget)
    past.observe(stream.src, stream.dst, stream.t)
    return past


def defined(events: list[Event], u: int, v: int, now: int) -> dict[str, float]:
    """By the definitions, with nothing kept between questions."""
    return _messages(events, u, v) | _addressed(events, u, v, now)


def _messages(events: list[Event], u: int, v: int) -> dict[str, float]:
    times = sorted({t for a, _, t in events if a == u})
    sizes = [float(len({b for a, b, t in events if (a, t) == (u, then)})) for then in times]
    reached = [(u, v, then) in events for then in times]
    to_it = [size for size, was_reached in zip(sizes, reached, strict=True) if was_reached]
    since = list(reversed(reached)).index(True) if any(reached) else math.inf
    told = {
        "messages of the source": float(len(times)),
        "destinations of the source's last message": sizes[-1] if sizes else 0.0,
        "usual destinations of the source's messages": running(sizes[:-1])[0],
        "the source's messages since the last meeting": since,
        "destinations of the last message to the candidate": to_it[-1] if to_it else 0.0,
        "usual destinations of messages to the candidate": running(to_it)[0],
    }
    for span in (2, 5, 20):
        share = 0.0
        for was_reached in reached:
            share += (was_reached - share) / span
        told[f"weight in the source's last {span} messages"] = share
    return told


def _latest(events: list[Event], node: int, role: int) -> list[tuple[int, int]]:
    """The last partners and when they were met, latest first."""
    latest: dict[int, int] = {}
    for event in events:
        if event[role] == node:
            latest.pop(event[1 - role], None)
            latest[event[1 - role]] = event[2]
    return list(reversed(latest.items()))[:RING]


def _addressed(events: list[Event], u: int, v: int, now: int) -> dict[str, float]:
    by_last, soon, lately, few, senders = 0.0, 0.0, 0.0, 0.0, 0
    for place, (x, then) in enumerate(_latest(events, u, 1)):
        together = [w for w, t in _latest(events, x, 0) if t == then]
        if v == u or v not in together:
            continue
        left = math.exp(-4 * (now - then) / SIGMA)
        by_last = max(by_last, float(place == 0))
        soon, lately, few = soon + left**64, lately + left, few + left / len(together)
        senders += 1
    return {
        "addressed with the source by the last who reached it": by_last,
        "addressed with the source, soon": soon,
        "addressed with the source, lately": lately,
        "addressed with the source among few, lately": few,
        "latest who addressed it with the source": senders,
    }


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), events=st.integers(0, 200), until=st.sampled_from([5, 60, 900]))
def test_numbers_are_those_of_the_definitions(seed: int, events: int, until: int) -> None:
    stream = make_stream(seed, until=until)[:events]
    past = past_of(stream)
    happened = list(zip(stream.src.tolist(), stream.dst.tolist(), stream.t.tolist(), strict=True))
    now = int(stream.t.max(initial=0)) + 1
    for u, v in np.random.default_rng(seed).integers(0, NODES, (12, 2)).tolist():
        told, wanted = past.describe(u % 5, v, now), defined(happened, u % 5, v, now)
        assert wanted.keys() == set(LATEST)
        for name, value in wanted.items():
            assert told[name] == pytest.approx(value, rel=2e-4, abs=1e-6), name


@settings(max_examples=10)
@given(seed=st.integers(0, 10_000), now=st.integers(1, 60))
def test_the_future_changes_nothing(seed: int, now: int) -> None:
    """Nor does the rest of a message that is being sent at the very time of the question."""
    stream, other = make_stream(seed), make_stream(seed + 1)
    known = int(np.searchsorted(stream.t, now))
    times, read = np.full(NODES, now), []
    for later in (stream[known:], other[int(np.searchsorted(other.t, now)) :], stream[:0]):
        past = past_of(stream[:known])
        read.append(past.read_in_turn(EVERYONE, times, EVERYONE, later.src, later.dst, later.t)[0])
    for one in read[1:]:
        assert torch.equal(one.pair, read[0].pair)
        assert torch.equal(one.source, read[0].source)


@settings(max_examples=10)
@given(seed=st.integers(0, 10_000), block=st.integers(1, 60))
def test_any_cutting_gives_the_same(seed: int, block: int) -> None:
    """Also in the middle of a message, where a state is kept and put back, and where nodes come by and by."""
    stream = make_stream(seed, 400)
    whole, cut = past_of(stream), KernelCooccurrence(1, SIGMA, ring=RING, edition=3)
    for number, part in enumerate(stream.blocks(block)):
        cut.observe(part.src, part.dst, part.t)
        if number % 3 == 0:
            kept = cut.state()
            cut = KernelCooccurrence(1, SIGMA, ring=RING, edition=3)
            cut.load_state(kept)
    read = [past.read(EVERYONE, np.full(NODES, 99), EVERYONE) for past in (whole, cut)]
    assert torch.equal(read[0].pair, read[1].pair)
    assert torch.equal(read[0].source, read[1].source)


def test_a_pair_that_was_forgotten_takes_its_messages_with_it() -> None:
    """And those that stay keep theirs."""
    rng = np.random.default_rng(0)
    events, nodes = 20_000, 150
    stream = EventStream.from_arrays(
        (rng.random(events) ** 2 * nodes).astype(np.int32),
        rng.integers(0, nodes, events, dtype=np.int32),
        np.arange(events) // 5,
    )
    whole, less = (KernelCooccurrence(nodes, 200.0, edition=3, budget=budget) for budget in (0, 2_500_000))
    for past in (whole, less):
        past.observe(stream.src, stream.dst, stream.t)
    memory = less.memory()
    assert memory is not None
    assert memory.dropped > 1_000
    met_once = "the source's messages since the last meeting"
    rows = {tuple(divmod(int(key), 1 << 32)) for key in less.state()["pairs.key"]}
    for u, v in sorted(rows)[:200]:
        assert less.describe(u, v, 5_000)[met_once] == whole.describe(u, v, 5_000)[met_once]
    gone = {tuple(divmod(int(key), 1 << 32)) for key in whole.state()["pairs.key"]} - rows
    for u, v in sorted(gone)[:50]:
        assert math.isinf(less.describe(u, v, 5_000)[met_once])


def test_earlier_editions_read_and_keep_what_they_did() -> None:
    """The first columns of the third are those of the second, to the bit; and so is what it keeps."""
    stream = make_stream(3)
    second, third = past_of(stream, edition=2), past_of(stream)
    old, new = (past.read(EVERYONE, np.full(NODES, 99), EVERYONE) for past in (second, third))
    assert torch.equal(old.pair, new.pair[..., : old.pair.shape[-1]])
    assert torch.equal(old.source, new.source[..., : old.source.shape[-1]])
    kept = third.state()
    assert {name for name in kept if name not in second.state()} == {
        *(f"noted.{field}" for field in ("message", "before", "weights", "messages", "size", "usual_size")),
        "senders.messages",
        "senders.reached",
        "senders.size",
        "senders.usual_size",
    }
    assert all(torch.equal(value, kept[name]) for name, value in second.state().items())


@pytest.mark.parametrize(
    ("name", "said"),
    [("noted.message", "is ahead of 'senders.messages'"), ("senders.usual_size", "below zero")],
)
def test_a_damaged_state_is_refused(name: str, said: str) -> None:
    past = past_of(make_stream(1))
    state = past.state()
    state[name] = state[name] + 1_000 if name == "noted.message" else state[name] - 1_000
    with pytest.raises(KeatError, match=said):
        past.load_state(state)
