"""What a row of the log holds: the events of one micro-batch, who is new, the clients' ids, the answers.

A row is packed by msgpack and has a checksum of 16 bytes, of itself and of the checksum before it: a row that
was changed, lost or moved is found as soon as one reads past it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

Value = float | str | None | list[float]  # of a feature, as a client sent it
SUM = 16  # bytes of a checksum


class Beside(msgspec.Struct, array_like=True, omit_defaults=True, gc=False):
    """What an answer has beside its logit, where it was asked for."""

    rank: float | None = None
    candidates: int | None = None
    share: float | None = None
    reasons: list[str] | None = None


class Row(msgspec.Struct, array_like=True, gc=False):
    """The events of a micro-batch, in order. Nodes are numbers; the names of newcomers are told in the order
    of their numbers, with the side they are on."""

    src: bytes  # int32
    dst: bytes  # int32
    t: bytes  # int64, each as it counts
    logits: bytes  # float32
    model: int  # which of the models of this log answered
    newcomers: list[tuple[str | int, int]] = []
    ids: dict[int, str] = {}  # by position, what the client calls an event
    late: dict[int, int] = {}  # by position, the time that was sent, where it was too late
    features: list[list[Value]] = []  # a list for each column, as they were sent
    beside: dict[int, Beside] = {}
    alerts: list[int] = []  # positions of events that were among the most suspicious
    window: int = 0  # how far out of order events might come, in the unit of their times
    offsets: dict[str, int] = {}  # by partition of a topic, the offset after the last of it that is here

    def __len__(self) -> int:
        return len(self.src) // 4


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The numbers of one row or of many, one after the other."""

    src: npt.NDArray[np.int32]
    dst: npt.NDArray[np.int32]
    t: npt.NDArray[np.int64]


def columns_of(rows: list[Row]) -> Columns:
    return Columns(
        np.frombuffer(b"".join(row.src for row in rows), dtype="<i4"),
        np.frombuffer(b"".join(row.dst for row in rows), dtype="<i4"),
        np.frombuffer(b"".join(row.t for row in rows), dtype="<i8"),
    )


def logits_of(row: Row) -> npt.NDArray[np.float32]:
    return np.frombuffer(row.logits, dtype="<f4")


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Row)


def packed(row: Row) -> bytes:
    return _encoder.encode(row)


def unpacked(body: bytes) -> Row:
    """Raises `ValueError` where it is no row; the numbers in it are as many as there are events."""
    row = _decoder.decode(body)
    events = len(row)
    size = 4 * events
    if not (0 < size == len(row.src) == len(row.dst) == len(row.logits) and len(row.t) == 2 * size):
        raise ValueError("its columns are not of one length")
    if row.features and any(len(column) != events for column in row.features):
        raise ValueError("its features are not of one length")
    return row


def chained(before: bytes, body: bytes) -> bytes:
    """The checksum of a row, given that of the one before it."""
    return hashlib.blake2b(before + body, digest_size=SUM).digest()


def first_sum(about: dict[str, Any]) -> bytes:
    """What the chain begins with: what the log is about."""
    return chained(b"", msgspec.json.encode(about, order="sorted"))
