"""The files of what a run has seen since it was trained: replaced as one, by one atomic step.

    run/
      seen.json                which of the following belong together, and which rows were seen
      state-00002.safetensors  what the model remembers, and the events of the last time, not yet observed
      names-00002.parquet      what the nodes are called, newcomers included

``seen.json`` is written last. The state that evaluation starts from (``best-…``) is another file and stays.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from torch import Tensor

from keat.disk import look_at, new_file, reading, typed, write_text
from keat.errors import InputError
from keat.runs.epochs import OTHERWISE, damaged, load_tensors, write_tensors
from keat.runs.node_names import NodeNames
from keat.runs.run_folder import lock_run
from keat.runs.seen import Seen

SEEN = "seen.json"
_NUMBERED = re.compile(r"(state-\d{5,}\.safetensors|names-\d{5,}\.parquet)")


@dataclass(frozen=True, slots=True)
class _Description:
    """What ``seen.json`` holds: the number of this version, by the parameters of which epoch the state was
    made, and which rows were seen."""

    number: int
    epoch: int
    seen: Seen

    def __post_init__(self) -> None:
        if self.number < 1 or self.epoch < 1 or self.seen.rows == 0:
            raise ValueError("a version has a number, an epoch and rows that were seen")


@dataclass(frozen=True, slots=True, eq=False)
class SeenVersion:
    """What was seen, and what is remembered of it."""

    number: int
    epoch: int
    seen: Seen
    names: NodeNames
    tensors: dict[str, Tensor]


def read_seen_version(folder: Path) -> SeenVersion | None:
    """What a run has seen since it was trained; None where nothing was kept."""
    written = _read_description(folder)
    if written is None:
        return None
    number = written.number
    try:
        names = NodeNames.load(folder / f"names-{number:05}.parquet")
    except ValueError as error:
        raise damaged(folder, str(error)) from error
    state = folder / f"state-{number:05}.safetensors"
    try:
        return SeenVersion(number, written.epoch, written.seen, names, load_tensors(state))
    except FileNotFoundError:
        raise damaged(folder, f"{state.name} is missing") from None


def seen_number(folder: Path) -> int:
    """Of the version that is there; 0 where nothing was kept."""
    written = _read_description(folder)
    return 0 if written is None else written.number


def write_seen_version(folder: Path, version: SeenVersion) -> None:
    """Replace version ``number - 1`` by this one. Another process may have been quicker, which is said."""
    number = version.number
    lock = lock_run(folder)
    try:
        if seen_number(folder) != number - 1:
            raise InputError(f"{folder} has been updated by another process; open the run again.")
        with new_file(folder / f"names-{number:05}.parquet", OTHERWISE) as part:
            version.names.save(part)
        write_tensors(folder / f"state-{number:05}.safetensors", version.tensors)
        written = _Description(number, version.epoch, version.seen)
        write_text(folder / SEEN, json.dumps(asdict(written)), OTHERWISE)
        _remove_others(folder, number)
    finally:
        lock.release()


def _remove_others(folder: Path, number: int) -> None:
    """What belongs to no version, or to one that nobody can be reading any more."""
    keep = {f"{name}-{which:05}" for name in ("state", "names") for which in (number, number - 1)}
    for path in folder.iterdir():
        if _NUMBERED.fullmatch(path.name) and path.stem not in keep:
            path.unlink(missing_ok=True)


def _read_description(folder: Path) -> _Description | None:
    path = folder / SEEN
    if look_at(path) is None:
        return None
    try:
        with reading(path):
            return typed(_Description, json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, RecursionError) as error:
        raise damaged(folder, f"{SEEN} is not sound ({error})") from error
