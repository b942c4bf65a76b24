"""The columnar folder of a saved stream: one ``.npy`` file for each column, mapped into memory when opened.

A folder is there as a whole or not at all. What is opened is checked first, in one pass over the columns: it
may come from anywhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from keat.disk import is_file, look_at, map_array, new_folder, reading, reason_of, writing
from keat.errors import CacheError, InputError
from keat.events.ids import IdMap
from keat.events.soundness import wrong_columns, wrong_description

FORMAT = 1  # raise it when the layout changes
META = "stream.json"
IDS = "ids.parquet"
Columns = dict[str, npt.NDArray[Any]]


def save_folder(folder: Path, columns: Columns, ids: IdMap, meta: Mapping[str, Any]) -> None:
    """Replace a saved stream, or write where nothing is; anything else there is not touched."""
    with writing(folder):
        if folder.exists() and not (folder / META).exists() and any(folder.iterdir()):
            raise CacheError(f"{folder} holds something other than a keat stream; choose another folder.")
    with new_folder(folder, replace=True) as unfinished:
        for name, array in columns.items():
            np.save(unfinished / f"{name}.npy", array, allow_pickle=False)
        describe_folder(unfinished, columns, ids, meta)


def describe_folder(folder: Path, columns: Iterable[str], ids: IdMap, meta: Mapping[str, Any]) -> None:
    """Beside the columns: the ids, and what the stream is."""
    named = ids.labels is not None or ids.boundary is not None
    if named:
        ids.save(folder / IDS)
    about = {"format": FORMAT, **meta, "columns": sorted(columns), "ids": named}
    (folder / META).write_text(json.dumps(about, indent=1))


def require_saved(folder: Path) -> None:
    """``folder`` is one that `save_folder` wrote, whole or not."""
    if look_at(folder) != "folder":
        raise InputError(f"There is no folder {folder}; give one written by EventStream.save.")
    if look_at(folder / META) is not None:
        return
    if look_at(folder / "run.json") is not None:
        raise InputError(f"{folder} is a run, made by keat train, and not a dataset; give the data instead.")
    raise InputError(
        f"{folder} is a folder, but not one written by EventStream.save; give a file or such a folder."
    )


def open_folder(folder: Path) -> tuple[Columns, IdMap, dict[str, Any]]:
    """The columns, ids and description of a saved stream, each checked: what is damaged is said."""
    require_saved(folder)
    meta = _description(folder)
    try:
        columns = {name: map_array(folder / f"{name}.npy") for name in meta["columns"]}
        named = look_at(folder / IDS) is not None if "ids" not in meta else meta["ids"]
        ids = IdMap.load(folder / IDS) if named else IdMap.identity(meta["num_nodes"])
    except ValueError as error:
        raise damaged(folder, str(error)) from error
    if problem := wrong_columns(columns, meta["num_nodes"], ids):
        raise damaged(folder, problem)
    return columns, ids, meta


def damaged(folder: Path, problem: str) -> InputError:
    return InputError(f"The saved stream {folder} is damaged: {problem}; delete it and load the data again.")


def _description(folder: Path) -> dict[str, Any]:
    path = folder / META
    if not is_file(path):
        raise damaged(folder, f"{META} is not a file")
    try:
        with reading(path):
            about = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise damaged(folder, f"{META} is not JSON ({reason_of(error)})") from error
    if not isinstance(about, dict) or type(about.get("format")) is not int:
        raise damaged(folder, f"{META} does not describe a stream")
    if about["format"] != FORMAT:
        raise InputError(
            f"{folder} was written by another version of keat (format {about['format']}, "
            f"this one reads {FORMAT}); delete it and load the data again."
        )
    if problem := wrong_description(about):
        raise damaged(folder, problem)
    return about
