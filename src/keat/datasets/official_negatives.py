"""TGB's own negatives: a pickled dict {(source, destination, time): destinations} a split.

A pickle can run any code when it is opened, so keat opens one only when told that the file is trusted,
and even then lets it build nothing but numpy arrays and numbers. The dict is turned once into an int32
matrix that lies beside it as .npy files and is mapped from then on, without any pickle.
"""

from __future__ import annotations

import hashlib
import pickle
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from keat.datasets.data_folder import OTHERWISE
from keat.datasets.kept_negatives import LENGTHS, MATRIX, Negatives, discard, open_negatives
from keat.disk import is_file, look_at, new_folder, unreadable
from keat.errors import InputError, Notice

_BLOCK_ROWS = 1 << 16
_ALLOWED = {
    *(
        (f"numpy.{core}.multiarray", name)
        for core in ("core", "_core")
        for name in ("_reconstruct", "scalar")
    ),
    *((f"numpy.{core}.numeric", "_frombuffer") for core in ("core", "_core")),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
}


def load_official_negatives(
    path: Path,
    src: npt.NDArray[np.integer[Any]],
    dst: npt.NDArray[np.integer[Any]],
    t: npt.NDArray[np.integer[Any]],
    *,
    num_nodes: int,
    trust_pickle: bool = False,
) -> Negatives:
    """Negatives of the B positives (src, dst, t), in their order: a (B, M) matrix of destinations and how
    many entries of each row count. A short row is filled up with its own first entry.
    """
    if not is_file(path):
        raise InputError(f"{path} does not exist; it comes with the dataset's download.")
    folder = path.with_name(f"{path.name}.{_digest(path, src, dst, t)}")
    if look_at(folder) is not None:
        try:
            return open_negatives(folder, len(src), num_nodes)
        except ValueError as error:
            damage = f"The negatives in {folder} are damaged ({error})"
        if not trust_pickle:
            raise InputError(
                f"{damage}; say that you trust the pickle file (trust-pickle) to make them again."
            )
        warnings.warn(f"{damage} and are made again.", Notice, stacklevel=2)
        discard(folder)
    if not trust_pickle:
        raise InputError(
            f"{path} is a pickle file, which can run any code when opened; if you trust where it came "
            "from, say so (trust-pickle)."
        )
    table = _unpickle(path)
    with new_folder(folder, OTHERWISE) as made:
        _convert(table, path, made, src, dst, t)
        try:
            open_negatives(made, len(src), num_nodes)
        except ValueError as error:
            raise InputError(f"{path} is not a table of negatives ({error}); it was not used.") from error
    return open_negatives(folder, len(src), num_nodes)


class _NumbersOnly(pickle.Unpickler):
    """Builds numpy arrays and numbers; refuses to import anything else."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        return super().find_class(module, name)


def _unpickle(path: Path) -> Mapping[tuple[int, int, int], npt.NDArray[Any]]:
    try:
        with path.open("rb") as file:
            table = _NumbersOnly(file).load()
    except PermissionError as error:
        raise unreadable(path, error) from error
    except Exception as error:  # a damaged pickle raises whatever its instructions happen to come to
        raise InputError(f"{path} is not a table of negatives ({error}); it was not used.") from error
    if not isinstance(table, dict) or not table:
        raise InputError(f"{path} is not a table of negatives (a {type(table).__name__}); it was not used.")
    return table


def _convert(
    table: Mapping[tuple[int, int, int], npt.NDArray[Any]],
    path: Path,
    folder: Path,
    src: npt.NDArray[np.integer[Any]],
    dst: npt.NDArray[np.integer[Any]],
    t: npt.NDArray[np.integer[Any]],
) -> None:
    """One look-up a positive, then whole blocks at a time."""
    if not all(isinstance(row, list | tuple | np.ndarray) and np.ndim(row) == 1 for row in table.values()):
        raise InputError(f"{path} is not a table of negatives (a row is no list); it was not used.")
    width = max(map(len, table.values()))
    lengths = np.empty(len(src), dtype=np.int32)
    with (folder / MATRIX).open("wb") as file:
        header = {"descr": "<i4", "fortran_order": False, "shape": (len(src), width)}
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, len(src), _BLOCK_ROWS):
            block = slice(start, start + _BLOCK_ROWS)
            keys = list(zip(src[block].tolist(), dst[block].tolist(), t[block].tolist(), strict=True))
            rows = [table.get(key, ()) for key in keys]
            lengths[block] = [len(row) for row in rows]
            if not lengths[block].all():
                event = keys[int(np.argmin(lengths[block]))]
                raise InputError(
                    f"{path} has no negatives for the event (source, destination, time) = {event}; it "
                    "belongs to another split or version of the dataset."
                )
            file.write(_pad(rows, lengths[block], width, path).data)
    np.save(folder / LENGTHS, lengths)


def _pad(
    rows: Sequence[npt.ArrayLike], lengths: npt.NDArray[np.int32], width: int, path: Path
) -> npt.NDArray[np.int32]:
    """Rows of different length as one matrix, each filled up with its own first entry."""
    flat = np.concatenate(rows)
    if flat.dtype.kind not in "iuf" or not (np.abs(flat) < 1 << 31).all():
        raise InputError(f"{path} is not a table of negatives (they are no node numbers); it was not used.")
    flat = flat.astype(np.int32)
    first = np.cumsum(lengths) - lengths
    column = np.arange(width)
    padded: npt.NDArray[np.int32] = flat[first[:, None] + np.where(column < lengths[:, None], column, 0)]
    return padded


def _digest(path: Path, *arrays: npt.NDArray[np.integer[Any]]) -> str:
    """Marks which pickle file and which positives a matrix was made of."""
    state = path.stat()
    digest = hashlib.sha256(f"{state.st_size} {state.st_mtime_ns}".encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array, dtype=np.int64).data)
    return digest.hexdigest()[:16]
