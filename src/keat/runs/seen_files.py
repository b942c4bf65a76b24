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
from collections.abc import Mapping
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
class Version:
    """What ``seen.json`` holds: the number of this version, by the parameters of which epoch its state was
    made, and which rows were seen."""

    number: int
    epoch: int
    seen: Seen

    def __post_init__(self) -> None:
        if self.number < 1 or self.epoch < 1 or self.seen.rows == 0:
            raise ValueError("a version has a number, an epoch and rows that were seen")

    @property
    def names(self) -> str:
        return f"names-{self.number:05}.parquet"

    @property
    def state(self) -> str:
        return f"state-{self.number:05}.safetensors"


def read_version(folder: Path) -> Version | None:
    """The version that is there; None where nothing was kept."""
    path = folder / SEEN
    if look_at(path) is None:
        return None
    try:
        with reading(path):
            return typed(Version, json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, RecursionError) as error:
        raise damaged(folder, f"{SEEN} is not sound ({error})") from error


def read_remembered(folder: Path, version: Version) -> tuple[NodeNames, dict[str, Tensor]]:
    """What nodes are called, and what the model remembers of the rows that were seen."""
    try:
        names = NodeNames.load(folder / version.names)
    except ValueError as error:
        raise damaged(folder, str(error)) from error
    try:
        return names, load_tensors(folder / version.state)
    except FileNotFoundError:
        raise damaged(folder, f"{version.state} is missing") from None


def write_version(folder: Path, version: Version, names: NodeNames, tensors: Mapping[str, Tensor]) -> None:
    """Replace version ``number - 1`` by this one. Another process may have been quicker, which is said."""
    lock = lock_run(folder)
    try:
        there = read_version(folder)
        if (0 if there is None else there.number) != version.number - 1:
            raise InputError(f"{folder} has been updated by another process; open the run again.")
        with new_file(folder / version.names, OTHERWISE) as part:
            names.save(part)
        write_tensors(folder / version.state, tensors)
        write_text(folder / SEEN, json.dumps(asdict(version)), OTHERWISE)
        _remove_others(folder, version.number)
    finally:
        lock.release()


def _remove_others(folder: Path, number: int) -> None:
    """What belongs to no version, or to one that nobody can be reading any more."""
    keep = {f"{name}-{which:05}" for name in ("state", "names") for which in (number, number - 1)}
    for path in folder.iterdir():
        if _NUMBERED.fullmatch(path.name) and path.stem not in keep:
            path.unlink(missing_ok=True)
