"""Which rows were seen, however they came in pieces; and what a file cannot say of that."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest

from keat.disk import typed
from keat.events import EventStream
from keat.runs import seen
from keat.runs.seen import Seen


def test_sums_of_rows_do_not_depend_on_pieces() -> None:
    rng = np.random.default_rng(0)
    stream = EventStream.from_arrays(
        rng.integers(0, 50, 400),
        rng.integers(0, 50, 400),
        np.sort(rng.integers(0, 99, 400)),
        rng.normal(size=(400, 2)),
    )
    whole = Seen().and_then(stream)
    pieces = Seen().and_then(stream[:13]).and_then(stream[13:14]).and_then(stream[14:])
    assert (pieces.total, pieces.rows, pieces.last_time) == (whole.total, whole.rows, whole.last_time)
    assert pieces.known_rows(stream) == 400
    assert pieces.known_rows(stream[13:]) == 387
    assert pieces.known_rows(stream[13:14]) == 1
    assert whole.known_rows(stream[:100]) == 0
    other = replace(stream, dst=np.where(np.arange(400) == 7, (stream.dst + 1) % 50, stream.dst))
    assert whole.known_rows(other) == 0
    assert Seen().known_rows(stream) == 0


@pytest.mark.parametrize("block", [1, 7])
def test_a_long_stream_is_looked_at_block_by_block(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    stream = EventStream.from_arrays(rng.integers(0, 9, 40), rng.integers(0, 9, 40), np.arange(40))
    at_once = Seen().and_then(stream[:30])
    monkeypatch.setattr(seen, "BLOCK", block)
    assert Seen().and_then(stream[:30]) == at_once
    assert at_once.known_rows(stream) == 30
    assert at_once.known_rows(stream[1:30]) == 0


KEPT = Seen(5, 70, (0, 3), ((0, 0), (1, 2)), (2**64 - 1, 3))
BAD: list[tuple[dict[str, Any], str]] = [
    ({"rows": -1}, "-1 is below 0"),
    ({"rows": 0}, "do not belong together"),
    ({"last_time": None}, "do not belong together"),
    ({"starts": [0]}, "do not belong together"),
    ({"starts": [], "sums": []}, "do not belong together"),
    ({"total": [0, 0]}, "do not belong together"),
    ({"total": [1]}, "array of length 2"),
    ({"rows": True}, "Expected int, got bool"),
]


def test_it_survives_json() -> None:
    assert typed(Seen, json.loads(json.dumps(asdict(KEPT)))) == KEPT


@pytest.mark.parametrize(("wrong", "message"), BAD)
def test_what_a_file_cannot_say(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        typed(Seen, json.loads(json.dumps(asdict(KEPT))) | wrong)
