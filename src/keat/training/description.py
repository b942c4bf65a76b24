"""``run.json`` and ``ids.parquet``: what a run is and what its nodes are called, checked before use."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from keat.disk import is_file, look_at, reading, reason_of
from keat.errors import InputError, KeatError
from keat.events import IdMap, Reading
from keat.events.units import TICK, UNITS, clock_of
from keat.models.node_head import HEADS
from keat.training.epochs import damaged

FORMAT = 1
DESCRIPTION, IDS = "run.json", "ids.parquet"
MOST_NODES = 1 << 31  # a node is an int32

Test = Callable[[Any], bool]


def _whole(lowest: int, below: int = 1 << 63) -> Test:
    return lambda value: type(value) is int and lowest <= value < below


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _table(value: Any) -> bool:
    return isinstance(value, dict)


def _positive(value: Any) -> bool:
    return type(value) in (int, float) and 0 < value <= sys.float_info.max


def _with(**tests: Test) -> Test:
    """An object that has these, each as it should be."""
    return lambda value: (
        isinstance(value, dict) and all(name in value and test(value[name]) for name, test in tests.items())
    )


_is_head = _with(
    kind=lambda kind: isinstance(kind, str) and kind in HEADS,
    size=_whole(0, MOST_NODES),
    frozen=lambda frozen: isinstance(frozen, bool),
)


def _is_reading(value: Any) -> bool:
    try:
        Reading.from_json(value)
    except (ValueError, TypeError, AttributeError, KeatError):
        return False
    return True


NEEDED: dict[str, Test] = {
    "model": _text,
    "config": _table,
    "fit": _table,
    "sigma": _positive,
    "unit": lambda value: value in UNITS,
    "data": _with(name=_text, fingerprint=_text),
}
NEEDED_OF_STREAMS: dict[str, Test] = {
    "num_nodes": _whole(1, MOST_NODES),
    "feature_dim": _whole(0, MOST_NODES),
}
WHERE_PRESENT: dict[str, Test] = {
    "limits": _with(epochs=_whole(1), patience=_whole(1)),
    "task": lambda value: _text(value) or _with(kind=_text)(value),
    "labels": lambda value: value is None or _table(value),
    "reading": _is_reading,
    "head": lambda value: _is_head(value) and _whole(0, MOST_NODES)(value.get("first_class", 0)),
}


def read_description(folder: Path) -> dict[str, Any]:
    """What a run is; a clear error where the folder is not one."""
    require_run(folder)
    path = folder / DESCRIPTION
    try:
        with reading(path):
            description = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise damaged(folder, f"{DESCRIPTION} cannot be read ({error})") from error
    if not isinstance(description, dict):
        raise damaged(folder, f"{DESCRIPTION} does not describe a run")
    if description.get("format") != FORMAT:
        raise InputError(
            f"{folder} was written by another version of keat (format {description.get('format')}, this one "
            f"reads {FORMAT}); train again."
        )
    _check(folder, description, NEEDED)
    present = {name: test for name, test in WHERE_PRESENT.items() if name in description}
    _check(folder, description, present)
    if "head" in description:
        _check(folder, description, {"task": _with(kind=_text)})
    if "num_nodes" in description:  # a run of before there were clocks measured in the ticks of its stream
        description["config"].setdefault("clock", "s" if description["unit"] == "s" else TICK)
    return description


def require_run(folder: Path) -> None:
    """There is a run, and nothing that was taken for one by mistake."""
    if look_at(folder) == "file":
        raise InputError(f"{folder} is a file, and a run is a folder made by keat train; give that folder.")
    if look_at(folder / "stream.json") is not None:
        raise InputError(f"{folder} is a saved stream and not a run; give the folder made by keat train.")
    if not is_file(folder / DESCRIPTION):
        raise InputError(
            f"{folder} is not a keat run: it has no {DESCRIPTION}; make one with keat train --out "
            f"{shlex.quote(str(folder))}."
        )


def read_stream_description(folder: Path) -> dict[str, Any]:
    """The same of a run on a stream, which has a number of nodes and of features."""
    description = read_description(folder)
    _check(folder, description, NEEDED_OF_STREAMS)
    return description


def _check(folder: Path, description: Mapping[str, Any], tests: Mapping[str, Test]) -> None:
    for name, test in tests.items():
        if name not in description:
            raise damaged(folder, f"{DESCRIPTION} has no '{name}'")
        if not test(description[name]):
            told = json.dumps(description[name])
            told = told if len(told) <= 60 else told[:60] + " …"
            raise damaged(folder, f"{DESCRIPTION} has {told} as '{name}'")


def config_of(folder: Path, kind: type[Any], settings: Mapping[str, Any]) -> Any:
    """The configuration of a run; settings it does not know, because it is older, have their defaults."""
    try:
        config = kind(**settings)
        if "clock" in settings:
            clock_of("s", settings["clock"])
        return config
    except (TypeError, KeatError) as error:  # a name that is no setting; a value out of range
        raise damaged(folder, f"its configuration is none ({str(error).rstrip('.')})") from error


def read_ids(folder: Path, num_nodes: int) -> IdMap:
    """What the user calls the nodes of a run."""
    path = folder / IDS
    if not is_file(path):
        raise damaged(folder, f"{IDS} is missing")
    with reading(path):
        path.open("rb").close()
    try:
        ids = IdMap.load(path)
    except InputError as error:
        reason = reason_of(error.__cause__ or error)
        raise damaged(folder, f"{IDS} does not hold ids ({reason})") from error
    if len(ids) != num_nodes:
        raise damaged(folder, f"{IDS} has {len(ids)} ids of {num_nodes} nodes")
    return ids
