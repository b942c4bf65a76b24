"""What a log holds beside events: how the service was told to work from some place on. Records are in the
one chain of checksums with the rows, so a replay does at each place what was done there."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from keat.serve.log_rows import chained

MARK = b"\xc1"  # no row begins with it, so that a record never passes for one


class Settings(msgspec.Struct, tag="settings", frozen=True):
    """What decides about events beside the model."""

    alerts: int = 50  # events an hour that may be alerts


class Swap(msgspec.Struct, tag="swap", frozen=True):
    """Another model answers from now on."""

    model: str  # its fingerprint
    calibration: dict[str, Any] | None = None


class Calibrated(msgspec.Struct, tag="calibration", frozen=True):
    """The present model has another calibration from now on, which was fitted to labels. Losses are
    log-losses on the newest of the labels, of the calibration before and of this one."""

    calibration: dict[str, Any]
    labels: int  # that had come, of events of this model
    judged_by: int  # the newest of them, which it was not fitted to
    last: int  # number of the last event with a label
    before: float
    after: float
    at: int  # seconds since 1970


Record = Settings | Swap | Calibrated


def model_after(records: list[Recorded], first: str) -> str:
    """The fingerprint of the model that answers after these records."""
    found = [one.record.model for one in records if isinstance(one.record, Swap)]
    return found[-1] if found else first


class Recorded(NamedTuple):
    """A record with its place: right after an event, and after the records before it."""

    number: int
    after: int
    record: Record


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Record)


def packed_record(record: Record) -> bytes:
    return _encoder.encode(record)


def unpacked_record(body: bytes) -> Record:
    """Raises `ValueError` where it is none."""
    record: Record = _decoder.decode(body)
    return record


def chained_record(before: bytes, body: bytes) -> bytes:
    """The checksum of a record, given that of the row or record before it."""
    return chained(before, MARK + body)
