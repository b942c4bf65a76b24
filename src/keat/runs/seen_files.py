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
from typing import Any

from torch import Tensor

from keat.disk import look_at, new_file, reading, write_text
from keat.errors import InputError
from keat.runs.epochs import OTHERWISE, damaged, load_tensors, write_tensors
from keat.runs.node_names import NodeNames
from keat.runs.run_folder import lock_run
from keat.runs.seen import Seen

SEEN = "seen.json"
_NUMBERED = re.compile(r"(state-\d{5,}\.safetensors|names-\d{5,}\.parquet)")


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """What was seen, what is remembered of it, by the parameters of which epoch, and the number of this
    version."""

    number: int
    epoch: int
    seen: Seen
    names: NodeNames
    tensors: dict[str, Tensor]


def read_kept(folder: Path) -> Kept | None:
    """What a run has seen since it was trained; None where nothing was kept."""
    written = _read_seen(folder)
    if written is None:
        return None
    number, epoch, seen = written
    try:
        names = NodeNames.load(folder / f"names-{number:05}.parquet")
    except ValueError as error:
        raise damaged(folder, str(error)) from error
    state = folder / f"state-{number:05}.safetensors"
    try:
        return Kept(number, epoch, seen, names, load_tensors(state))
    except FileNotFoundError:
        raise damaged(folder, f"{state.name} is missing") from None


def kept_number(folder: Path) -> int:
    """Of the version that is there; 0 where nothing was kept."""
    written = _read_seen(folder)
    return 0 if written is None else written[0]


def write_kept(folder: Path, kept: Kept) -> None:
    """Replace version ``number - 1`` by this one. Another process may have been quicker, which is said."""
    lock = lock_run(folder)
    try:
        if kept_number(folder) != kept.number - 1:
            raise InputError(f"{folder} has been updated by another process; open the run again.")
        with new_file(folder / f"names-{kept.number:05}.parquet", OTHERWISE) as part:
            kept.names.save(part)
        write_tensors(folder / f"state-{kept.number:05}.safetensors", kept.tensors)
        told = {"number": kept.number, "epoch": kept.epoch, "seen": asdict(kept.seen)}
        write_text(folder / SEEN, json.dumps(told), OTHERWISE)
        _remove_others(folder, kept.number)
    finally:
        lock.release()


def _remove_others(folder: Path, number: int) -> None:
    """What belongs to no version, or to one that nobody can be reading any more."""
    keep = {f"{name}-{which:05}" for name in ("state", "names") for which in (number, number - 1)}
    for path in folder.iterdir():
        if _NUMBERED.fullmatch(path.name) and path.stem not in keep:
            path.unlink(missing_ok=True)


def _read_seen(folder: Path) -> tuple[int, int, Seen] | None:
    path = folder / SEEN
    if look_at(path) is None:
        return None
    try:
        with reading(path):
            return _checked(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise damaged(folder, f"{SEEN} is not sound ({error})") from error


def _checked(written: Any) -> tuple[int, int, Seen]:
    seen = Seen(
        rows=_whole(written["seen"]["rows"]),
        last_time=_whole(written["seen"]["last_time"]),
        starts=tuple(_whole(start) for start in written["seen"]["starts"]),
        sums=tuple(_pair(pair) for pair in written["seen"]["sums"]),
        total=_pair(written["seen"]["total"]),
    )
    if len(seen.starts) != len(seen.sums):
        raise ValueError("pieces without their sums")
    return _whole(written["number"]), _whole(written["epoch"]), seen


def _whole(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is no whole number")
    return value


def _pair(value: Any) -> tuple[int, int]:
    first, second = value
    return _whole(first), _whole(second)
