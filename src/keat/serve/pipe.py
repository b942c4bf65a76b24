"""Events from a pipe, one JSON object a line; answers to another, in the same order.

What can be read at once is taken together, so a fast writer gets large batches and a slow one quick answers.
A line that is wrong is answered with its error, and the others are taken.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from keat.errors import KeatError
from keat.serve.engine import Engine
from keat.serve.events import Checked, Event
from keat.serve.live_answers import Answer
from keat.serve.log import LogDamagedError, LogWriteError
from keat.serve.micro_batch import BATCH, Wanted
from keat.serve.reading import line_read

AT_ONCE = 1 << 16  # bytes


class Wrong(msgspec.Struct):
    """What is wrong with a line."""

    error: str
    line: int


def pipe(engine: Engine, source: BinaryIO, answers: BinaryIO, wanted: Wanted, snapshot_every: int) -> int:
    """Take every line; how many were wrong. What was answered is in the log. A failure to write the log is
    raised: later lines are not read."""
    encoder, wrong, number = msgspec.json.Encoder(), 0, 0
    since = engine.log.tail.event
    for lines in _lines(source):
        for start in range(0, len(lines), BATCH):
            some = lines[start : start + BATCH]
            said = _taken(engine, some, number, wanted)
            number += len(some)
            wrong += sum(isinstance(one, Wrong) for one in said)
            answers.write(encoder.encode_lines(said))
            answers.flush()
            if engine.log.is_untidy:
                engine.log.tidy()
            if engine.log.tail.event - since >= snapshot_every:
                engine.snapshot()
                since = engine.log.tail.event
    return wrong


def _taken(engine: Engine, lines: list[bytes], number: int, wanted: Wanted) -> list[Answer | Wrong]:
    found: list[Checked | Wrong] = []
    for place, line in enumerate(lines, start=number + 1):
        try:
            event = engine.checker.event(line_read(Event, line))
            engine.require_same(event)
            found.append(event)
        except (LogDamagedError, LogWriteError):
            raise
        except KeatError as error:
            found.append(Wrong(str(error), place))
    good = [one for one in found if isinstance(one, Checked)]
    answered = iter(engine.take(good, wanted))
    return [one if isinstance(one, Wrong) else next(answered) for one in found]


def _lines(source: BinaryIO) -> Iterator[list[bytes]]:
    """Lines that are not empty, as many as there are at a time; the last need not end."""
    rest = b""
    while block := os.read(source.fileno(), AT_ONCE):
        *lines, rest = (rest + block).split(b"\n")
        yield [line for line in lines if line.strip()]
    if rest.strip():
        yield [rest]
