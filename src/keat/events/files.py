"""Which source a path or a frame is."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import pyarrow as pa

from keat.disk import look_at
from keat.errors import InputError
from keat.events.arrow_files import open_arrow, open_parquet
from keat.events.file_source import Source
from keat.events.text_files import open_csv

DELIMITERS = {".csv": ",", ".tsv": "\t"}
BINARY = (".parquet", ".arrow", ".feather")
KNOWN = ".csv, .tsv (or those with .gz), .parquet, .arrow or .feather"


def open_frame(frame: Any) -> Source:
    """pyarrow, pandas, polars or anything else that speaks the Arrow PyCapsule protocol."""
    where = f"{type(frame).__module__.split('.')[0]} {type(frame).__name__}"
    if not (hasattr(frame, "__arrow_c_stream__") or hasattr(frame, "__arrow_c_array__")):
        raise InputError(
            f"Cannot read events from a {where}; give a path or a pyarrow, pandas or polars table."
        )
    try:
        table = pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError) as error:
        reason = "; ".join(str(part) for part in error.args)
        raise InputError(f"Arrow cannot read the {where} ({reason}); mend or drop that column.") from error
    return Source(where, "events", table.column_names, lambda columns, _: table.select(columns))


def open_file(path: Path, delimiter: str | None = None, *, header: bool = True) -> Source:
    """The file's columns; nothing but its header is read yet. Without a header they are numbered. A
    ``delimiter`` makes a text file of whatever is not known to be something else."""
    _require_file(path)
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        suffixes.pop()
    kind = suffixes[-1] if suffixes else ""
    if path.suffix.lower() in BINARY:
        opened = open_parquet(path) if path.suffix.lower() == ".parquet" else open_arrow(path)
        return opened if header else opened.numbered()
    if delimiter is not None or kind in DELIMITERS:
        return open_csv(path, delimiter or DELIMITERS[kind], header)
    raise InputError(
        f"Cannot tell what kind of file {path} is; its name should end in {KNOWN}, or say which delimiter "
        "separates its columns."
    )


def _require_file(path: Path) -> None:
    kind = look_at(path)
    if kind == "folder":
        raise InputError(f"{path} is a folder; give a file.")
    if kind is None:
        raise InputError(f"The file {path} does not exist; {_nearest(path)}")
    if path.stat().st_size == 0:
        raise InputError(f"The file {path} is empty (0 bytes); write or download it again.")


def _nearest(path: Path) -> str:
    try:
        if path.is_symlink():
            return "it is a link to something that is gone."
        if look_at(path.parent) == "file":
            return f"{path.parent} is a file and no folder."
        near = difflib.get_close_matches(path.name, [file.name for file in path.parent.iterdir()], n=1)
    except OSError:  # the folder is not there either, or cannot be listed
        near = []
    return f"did you mean '{path.parent / near[0]}'?" if near else "check the path."
