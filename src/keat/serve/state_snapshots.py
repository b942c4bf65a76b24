"""Snapshots of the live state: one file each, named by the last event in it and by the hash of its bytes.

    live/
      snapshot-000000250000-3f1c….safetensors

A file is written aside and renamed, so it is there whole or not at all; three are kept. One whose bytes are
not those of its name is passed over, and so is one that the log does not go on from: the next older one is
taken, or what the run itself has seen.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save_file
from torch import Tensor

from keat.disk import new_file, remove_parts
from keat.serve.live_ids import Newcomer
from keat.serve.live_state import LiveState
from keat.serve.log import Tail
from keat.serve.steps import reached
from keat.serve.watching import Watch, Watched

KEPT = 3
ABOUT, LAST_SEEN = "about", "when nodes were last sources"
_NAME = re.compile(r"snapshot-(\d{12})-([0-9a-f]{32})\.safetensors")
OTHERWISE = "see to the disk; the log goes on, and a restart reads more of it"


class About(msgspec.Struct):
    """What a snapshot has beside tensors."""

    event: int  # the last that it knows of
    sum: str  # of the row of that event, or of the record after it
    last_time: int
    newcomers: list[tuple[str | int, int]]
    records: int  # how many were before it
    watch: Watched
    horizon: int | None = None  # None where it is the last time


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    about: About
    tensors: dict[str, Tensor]

    @property
    def tail(self) -> Tail:
        return Tail(self.about.event, bytes.fromhex(self.about.sum), self.about.records)


def write_snapshot(
    folder: Path,
    tail: Tail,
    state: LiveState,
    newcomers: list[Newcomer],
    watch: Watch,
) -> Path:
    """Keep a state; older ones than the last three go."""
    place = tail.event, tail.sum.hex()
    kept = About(*place, state.last_time, newcomers, tail.records, watch.kept(), state.horizon)
    about = msgspec.json.encode(kept)
    tensors = state.tensors() | {LAST_SEEN: torch.from_numpy(watch.drift.last_seen)}
    packed = torch.from_numpy(np.frombuffer(about, dtype=np.uint8).copy())
    aside = folder / f"snapshot.{os.getpid()}.aside"
    whole = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    with new_file(aside, OTHERWISE) as part:
        save_file(whole | {ABOUT: packed}, part)
        digest = _digest(part)
        reached("snapshot written aside")
    path = folder / f"snapshot-{tail.event:012}-{digest}.safetensors"
    aside.replace(path)
    reached("snapshot in place")
    for old in [each for each in _names(folder) if each != path][KEPT - 1 :]:
        old.unlink(missing_ok=True)
    reached("older snapshots removed")
    return path


def snapshots(folder: Path) -> Iterator[Snapshot]:
    """Those that are what they were written as, newest first."""
    for path in _names(folder):
        found = _read(path)
        if found is not None:
            yield found


def remove_leftovers(folder: Path) -> None:
    """What a killed process left half-way."""
    remove_parts(folder)
    for path in folder.glob("snapshot.*.aside"):
        path.unlink(missing_ok=True)
    for path in folder.glob("models/*.aside"):
        shutil.rmtree(path, ignore_errors=True)


def last_event_of_newest(folder: Path) -> int:
    """The last event in the newest snapshot by its name; 0 where there is none."""
    newest = next(iter(_names(folder)), None)
    return 0 if newest is None else int(newest.name.split("-")[1])


def _names(folder: Path) -> list[Path]:
    """Newest first."""
    found = [path for path in folder.glob("snapshot-*") if _NAME.fullmatch(path.name)]
    return sorted(found, key=lambda path: path.name, reverse=True)


def _read(path: Path) -> Snapshot | None:
    match = _NAME.fullmatch(path.name)
    assert match is not None
    try:
        content = path.read_bytes()
        if hashlib.blake2b(content, digest_size=16).hexdigest() != match[2]:
            return None
        tensors = load(content)
        about = msgspec.json.decode(tensors.pop(ABOUT).numpy().tobytes(), type=About)
    except (OSError, SafetensorError, KeyError, msgspec.MsgspecError, ValueError):
        return None
    return Snapshot(about, tensors) if about.event == int(match[1]) else None


def _digest(path: Path) -> str:
    found = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            found.update(block)
    return found.hexdigest()
