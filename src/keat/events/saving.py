"""The columnar folder of a saved stream: one ``.npy`` file a column, mapped into memory when opened.

A folder is written beside its place and then moved there, so it is there as a whole or not at all.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keat.errors import CacheError, InputError
from keat.events.ids import IdMap

FORMAT = 1  # raise it when the layout changes
META = "stream.json"
IDS = "ids.parquet"
Columns = dict[str, npt.NDArray[Any]]


def save_folder(folder: Path, columns: Columns, ids: IdMap, meta: Mapping[str, Any]) -> None:
    with new_folder(folder) as unfinished:
        for name, array in columns.items():
            np.save(unfinished / f"{name}.npy", array, allow_pickle=False)
        if ids.labels is not None or ids.boundary is not None:
            ids.save(unfinished / IDS)
        about = {"format": FORMAT, **meta, "columns": sorted(columns)}
        (unfinished / META).write_text(json.dumps(about, indent=1))


def require_saved(folder: Path) -> None:
    """``folder`` is one that `save_folder` wrote, whole or not."""
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}; give one written by EventStream.save.")
    if not (folder / META).exists():
        raise InputError(
            f"{folder} is a folder, but not one written by EventStream.save; give a file or such a folder."
        )


def open_folder(folder: Path) -> tuple[Columns, IdMap, dict[str, Any]]:
    require_saved(folder)
    try:
        meta: dict[str, Any] = json.loads((folder / META).read_text())
        if meta["format"] != FORMAT:
            raise InputError(
                f"{folder} was written by another version of keat (format {meta['format']}, "
                f"this one reads {FORMAT}); delete it and load the data again."
            )
        columns = {
            # the view drops numpy's memmap type, which makes every slice slower, and stays mapped
            name: np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False).view(np.ndarray)
            for name in meta["columns"]
        }
        has_ids = (folder / IDS).exists()
        ids = IdMap.load(folder / IDS) if has_ids else IdMap.identity(meta["num_nodes"])
    except (OSError, ValueError, KeyError, TypeError, EOFError, pa.ArrowException) as error:
        raise InputError(
            f"{folder} is not a complete keat stream ({error}); delete it and load the data again."
        ) from error
    return columns, ids, meta


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A folder to fill, which becomes ``folder`` at the end; after a failure nothing is left of it.

    A saved stream that is already there is replaced; anything else there is not touched.
    """
    unfinished = _sibling(folder)
    try:
        if folder.exists() and not (folder / META).exists() and any(folder.iterdir()):
            raise CacheError(f"{folder} holds something other than a keat stream; choose another folder.")
        unfinished.mkdir(parents=True)
        yield unfinished
        if folder.exists():
            replaced = _sibling(folder)
            folder.rename(replaced)
            unfinished.rename(folder)
            shutil.rmtree(replaced, ignore_errors=True)
        else:
            unfinished.rename(folder)
    except OSError as error:
        raise CacheError(
            f"Could not write {folder} ({error.strerror or error}); free some space, or choose a folder "
            "that can be written."
        ) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _sibling(folder: Path) -> Path:
    """A name beside ``folder``, on the same disk, that nobody else uses."""
    return folder.parent / f".{folder.name}.{os.getpid()}-{secrets.token_hex(4)}.partial"
