"""`Answer`: a table that a run answers with, for frames, files and notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from keat.disk import new_file, require_place
from keat.errors import InputError, MissingExtraError

SHOWN = 20  # rows in a notebook
TABLES = (".csv", ".parquet")  # names of files end in one of these
LISTS = (".parquet",)  # of a table with lists in it, such as embeddings


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """An Arrow table with a sentence about it. Anything that reads Arrow (``pa.table``, ``pl.from_arrow``,
    DuckDB) takes it as it is."""

    table: pa.Table
    about: str = ""

    @property
    def column_names(self) -> list[str]:
        names: list[str] = self.table.column_names
        return names

    def __len__(self) -> int:
        rows: int = self.table.num_rows
        return rows

    def __getitem__(self, column: str) -> pa.ChunkedArray:
        return self.table[column]

    def to_pylist(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.table.to_pylist()
        return rows

    def to_pandas(self) -> Any:
        try:
            return self.table.to_pandas()
        except ImportError as error:
            raise MissingExtraError("pandas is not installed; pip install 'keat[frames]'.") from error

    def to_polars(self) -> Any:
        try:
            import polars
        except ImportError as error:
            raise MissingExtraError("polars is not installed; pip install 'keat[frames]'.") from error
        return polars.from_arrow(self.table)

    def write(self, file: str | Path) -> Path:
        """Write the table to a CSV or a Parquet file, whichever its name says."""
        nested = any(pa.types.is_nested(column.type) for column in self.table.schema)
        path = require_table_file(Path(file), LISTS if nested else TABLES)
        with new_file(path) as part:
            if path.suffix.lower() == ".parquet":
                pq.write_table(self.table, part)
            else:
                pc.write_csv(self.table, part)
        return path

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        rows = [[_cell(value) for value in row.values()] for row in self._shown()]
        widths = [max(map(len, column)) for column in zip(self.column_names, *rows, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in (self.column_names, *rows)
        ]
        return "\n".join([*lines, self._about()])

    def _shown(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.table.slice(0, SHOWN).to_pylist()
        return rows

    def _about(self) -> str:
        more = len(self) - SHOWN
        return f"{self.about} {more:,} more rows." if more > 0 else self.about

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self.column_names)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(_cell(value))}</td>" for value in row.values()) + "</tr>"
            for row in self._shown()
        )
        return (
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            f"<p><small>{escape(self._about())}</small></p>"
        )


def require_table_file(path: Path, kinds: Sequence[str] = TABLES) -> Path:
    """Refuse a place or a name that a table cannot be written to, as far as that can be seen before."""
    require_place(path)
    if path.suffix.lower() not in kinds:
        raise InputError(f"A table is not written as {path.name}; let its name end in {' or '.join(kinds)}.")
    return path


def _cell(value: object) -> str:
    if isinstance(value, list):  # an embedding
        return f"{len(value)} numbers"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
