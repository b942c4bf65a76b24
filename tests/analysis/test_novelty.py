"""The share of a split that was never seen before."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import FindFile, MakeStream
from keat.analysis import novelty
from keat.analysis.novelty import surprise
from keat.events import EventStream, read_events
from keat.events.splitting import split


@pytest.mark.parametrize("seed", range(3))
def test_equals_a_plain_loop(seed: int, random_stream: MakeStream) -> None:
    stream = random_stream(seed)
    test = split(stream).test
    seen: set[tuple[int, int]] = set()
    new = 0
    for row, pair in enumerate(zip(stream.src.tolist(), stream.dst.tolist(), strict=True)):
        new += row >= test.offset and pair not in seen
        seen.add(pair)
    assert surprise(stream, test) == new / len(test)


def test_blocks_of_the_past_do_not_matter(random_stream: MakeStream, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = random_stream(seed=1, events=300)
    wanted = surprise(stream, split(stream).test)
    monkeypatch.setattr(novelty, "BLOCK", 7)
    assert surprise(stream, split(stream).test) == wanted


def test_all_new_and_nothing_new() -> None:
    new = EventStream.from_arrays(np.arange(40), np.arange(40, 80), np.arange(40))
    assert surprise(new, split(new).test) == 1
    old = EventStream.from_arrays(np.zeros(40, int), np.ones(40, int), np.arange(40))
    assert surprise(old, split(old).test) == 0


def test_wikipedia_is_as_published(shared_file: FindFile) -> None:
    stream = read_events(shared_file("wikipedia.parquet"))
    assert surprise(stream, split(stream).test) == pytest.approx(0.108, abs=5e-4)
