"""The columns of a saved stream as files that are filled in any order, to the bytes of numpy.save."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

Shape = tuple[int, ...]


class ColumnFiles:
    """Open ``.npy`` files, one for each column, of so many rows."""

    def __init__(self, files: Mapping[str, BinaryIO], begins: Mapping[str, int]) -> None:
        self._files, self._begins = files, begins  # where the first row is, after the header

    def write(self, name: str, row: int, values: npt.NDArray[Any]) -> None:
        """Rows from ``row`` on."""
        rows = np.ascontiguousarray(values)
        if rows.size:
            file = self._files[name]
            file.seek(self._begins[name] + row * rows[0].nbytes)
            file.write(rows.data)

    def sync(self) -> None:
        """Bring what was written to the disk, so that it is there before another file says so."""
        for file in self._files.values():
            file.flush()
            os.fsync(file.fileno())


@contextmanager
def column_files(
    folders: Mapping[str, Path], rows: int, columns: Mapping[str, tuple[npt.DTypeLike, Shape]]
) -> Iterator[ColumnFiles]:
    """Files for columns of a type and the shape of a row each, in the folder of each; those that are there
    keep what is in them."""
    with ExitStack() as opened:
        files, begins = {}, {}
        for name, (kind, shape) in columns.items():
            folders[name].mkdir(exist_ok=True)
            path = folders[name] / f"{name}.npy"
            path.touch()
            file = opened.enter_context(path.open("r+b"))
            about = {
                "descr": np.lib.format.dtype_to_descr(np.dtype(kind)),
                "fortran_order": False,
                "shape": (rows, *shape),
            }
            np.lib.format.write_array_header_1_0(file, about)
            files[name], begins[name] = file, file.tell()
            file.truncate(file.tell() + rows * int(np.prod(shape)) * np.dtype(kind).itemsize)
        yield ColumnFiles(files, begins)


def column_bytes(rows: int, columns: Mapping[str, tuple[npt.DTypeLike, Shape]]) -> int:
    return rows * sum(int(np.prod(shape)) * np.dtype(kind).itemsize for kind, shape in columns.values())
