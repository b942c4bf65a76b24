"""`Reading`: how files and frames of any layout become an `EventStream`. Each way of reading is a field here,
from which the options of `read_events`, `keat.load` and the command follow."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self, TypedDict, Unpack

import numpy as np

from keat.disk import expanded, look_at, reading, typed
from keat.errors import InputError
from keat.events.csv_ids import typed_ids
from keat.events.dense_ids import dense_ids
from keat.events.feature_columns import Matrix, RawColumn, map_features, read_features, read_labels
from keat.events.feature_encoding import FeatureEncoding, encode_stream, learn_encoding
from keat.events.file_column import Column
from keat.events.file_source import Source
from keat.events.files import open_file, open_frame
from keat.events.node_table import read_node_table
from keat.events.roles import columns_of_roles
from keat.events.saved_stream import damaged, require_saved
from keat.events.splitting import HELD_OUT
from keat.events.stream import EventStream
from keat.events.text_files import sign_of
from keat.events.time_column import read_time
from keat.events.time_format import require_time_format
from keat.events.units import TimeUnit, require_unit

KEPT = "reading.json"  # in the folder of a saved stream that was made of files


def _option(default: object, about: str) -> Any:
    """A field that is an option of every verb that reads a file, with its help."""
    return field(default=default, metadata={"help": about})


@dataclass(frozen=True, slots=True)
class Reading:
    """How a file or frame is read: what was said, and in ``encoding`` what was learned from training events.
    `read_events` says what each field means."""

    src: str | None = _option(None, "Column of sources.")
    dst: str | None = _option(None, "Column of destinations.")
    time: str | None = _option(None, "Column of times.")
    features: tuple[str, ...] = _option((), "Feature columns, comma-separated, or an .npy matrix.")
    categorical: tuple[str, ...] = _option(
        (), "Feature columns of kinds, not amounts: each of up to 64 values is a feature."
    )
    scale: bool = _option(False, "Standardize numeric features by the training split's mean and deviation.")
    label: str | None = _option(None, "Column of event labels.")
    unit: TimeUnit | None = _option(  # noqa: RUF009  (a field, like the others)
        None, "Unit of whole-number times: s, ms, us, ns, day, year."
    )
    time_format: str | None = _option(
        None, "How times are written: strptime, like '%d.%m.%Y %H:%M'; yyyymmdd; or excel."
    )
    bipartite: bool = _option(
        False, "Sources and destinations are different things even where their ids coincide."
    )
    delimiter: str | None = _option(
        None, "Between columns of text: a sign, or comma, tab, semicolon, pipe, space."
    )
    header: bool = _option(True, "The first row is an event; columns are named by number, from 1.")
    node_features: str | None = _option(
        None, "File of features of nodes: a column that names them, and numbers."
    )
    weight: str | None = None  # a feature that says how much an event counts, never scaled
    encoding: FeatureEncoding | None = None

    def __post_init__(self) -> None:
        if self.unit is not None:
            require_unit(self.unit)
        if self.time_format is not None:
            require_time_format(self.time_format)
        if self.delimiter is not None:
            object.__setattr__(self, "delimiter", sign_of(self.delimiter))
        more = [*self.categorical, *([] if self.weight is None else [self.weight])]
        if self.matrix is not None and more:
            raise InputError(f"'{more[0]}' names a column, so the features must be columns, too.")
        if self.weight in self.categorical:
            raise InputError(f"'{self.weight}' is a weight, so it cannot be categorical; choose.")
        also = tuple(column for column in dict.fromkeys(more) if column not in self.features)
        object.__setattr__(self, "features", self.features + also)

    @classmethod
    def of(cls, **options: Unpack[ReadingOptions]) -> Self:
        """Makes a reading of options as people write them: one column or several, a number for a column, a
        path."""
        plain: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
        for name in ("features", "categorical"):
            if name in plain:
                several = plain[name]
                several = [several] if isinstance(several, str | int | Path) else several
                plain[name] = tuple(str(column) for column in several)
        for name in ("src", "dst", "time", "label", "weight", "node_features"):
            if name in plain:
                plain[name] = str(plain[name])
        return cls(**plain)

    @property
    def matrix(self) -> Path | None:
        """The file of features, where they are no columns."""
        only = self.features[0] if len(self.features) == 1 else ""
        return expanded(only) if only.endswith(".npy") else None

    def read(self, source: Any, *, name: str | None = None) -> EventStream:
        """Read a stream of events, check it, and put it in time order; see `read_events`."""
        return self.learn(source, name=name)[1]

    def read_rows(self, source: Any) -> EventStream:
        """Read events, and leave them in the order in which they were given, for questions about each."""
        opened = self._opened(source)
        stream, raw = self._unencoded(opened, None)
        if self.encoding is None:
            return stream
        return encode_stream(self.encoding, stream, raw, None, opened.where)

    def learn(
        self, source: Any, *, name: str | None = None, held_out: tuple[float, float] = HELD_OUT
    ) -> tuple[Self, EventStream]:
        """The stream, and this reading with the encoding that later files are to be read with. Where there is
        none yet, it is learned from the training split of what is read."""
        if isinstance(source, str) and not source:
            raise InputError("The path of the events is empty; give a file or a folder.")
        if isinstance(source, str | Path) and look_at(expanded(source)) == "folder":
            return self._saved(expanded(source), name)
        opened = self._opened(source)
        unsorted, raw = self._unencoded(opened, name)
        stream = unsorted.in_time_order()
        nodes = None
        if self.node_features is not None:
            path = expanded(self.node_features)
            nodes = read_node_table(path, stream.ids, stream.name, self.delimiter, header=self.header)
        if not raw and nodes is None:
            return self, stream
        known = self.encoding
        if known is None:
            kept = () if self.weight is None else (self.weight,)
            known = learn_encoding(
                stream, raw, nodes, opened.where, scale=self.scale, held_out=held_out, kept=kept
            )
        return replace(self, encoding=known), encode_stream(known, stream, raw, nodes, opened.where)

    def position(self, column: str) -> int:
        """Where the numbers of a column begin among the features of an event that was read."""
        return 0 if self.encoding is None else self.encoding.position(column)

    def _opened(self, source: Any) -> Source:
        if isinstance(source, str | Path):
            return open_file(expanded(source), self.delimiter, header=self.header)
        frame = open_frame(source)
        return frame if self.header else frame.numbered()

    def keep(self, folder: Path) -> None:
        """Beside a saved stream: how the files were read that it was made of, so that later ones are, too."""
        (folder / KEPT).write_text(json.dumps(asdict(self), indent=1))

    def _saved(self, folder: Path, name: str | None) -> tuple[Self, EventStream]:
        """A saved stream, and how it was read, where that is kept."""
        require_saved(folder)
        kept = self._kept(folder)
        if self != type(self)() and not self._is_like(kept):
            raise InputError(f"{folder} is a saved stream, whose columns are settled; give only its path.")
        stream = EventStream.open(folder)
        if len(stream) == 0:
            raise InputError(f"{folder} is a saved stream without events; give one with at least one.")
        return kept, stream if name is None else replace(stream, name=name)

    def _kept(self, folder: Path) -> Self:
        if look_at(folder / KEPT) is None:
            return type(self)()
        try:
            with reading(folder / KEPT):
                return typed(type(self), json.loads((folder / KEPT).read_bytes()))
        except ValueError as error:
            raise damaged(folder, f"{KEPT} does not say how it was read ({error})") from error

    def _is_like(self, other: Self) -> bool:
        """Whether rows are read alike; labels and features of nodes are columns of their own."""
        ours, theirs = (replace(each, label=None, node_features=None) for each in (self, other))
        return ours == theirs

    def _unencoded(self, opened: Source, name: str | None) -> tuple[EventStream, list[RawColumn]]:
        """The rows as they are in the file, and their features as they are there."""
        features = [] if self.matrix is not None else list(self.features)
        named = {"src": self.src, "dst": self.dst, "time": self.time}
        roles = columns_of_roles(opened, named, self.label, features, header=self.header)
        timed = [roles["time"]] if self.time_format is not None else []
        table = opened.read(list(roles.values()), [roles["src"], roles["dst"], *timed, *self.categorical])
        if table.num_rows == 0:
            raise InputError(f"{opened.where} has columns but no rows; give at least one event.")
        column = {role: Column(opened.where, name, table[name]) for role, name in roles.items()}

        times, unit = read_time(column["time"], self.unit, self.time_format)
        sides = column["src"], column["dst"]
        bipartite = self.bipartite
        dense_src, dense_dst, ids = dense_ids(
            *typed_ids(*sides, bipartite=bipartite) if opened.untyped else sides, bipartite=bipartite
        )
        matrix: Matrix = np.zeros((len(times), 0), dtype=np.float32)
        raw: list[RawColumn] = []
        if self.matrix is not None:
            matrix = map_features(self.matrix, len(times))
            raw = [RawColumn(self.features[0], matrix.shape[1])]
        elif features:
            matrix, raw = read_features([column[f"features {each}"] for each in features], self.categorical)
        rows = EventStream(
            src=dense_src,
            dst=dense_dst,
            t=times,
            features=matrix,
            labels=read_labels(column["label"]) if self.label is not None else None,
            num_nodes=len(ids),
            ids=ids,
            unit=unit,
            name=name if name is not None else opened.name,
        )
        return rows, raw


class ReadingOptions(TypedDict, total=False):
    """The fields of a `Reading`, in the types in which people write them."""

    src: str | int | None
    dst: str | int | None
    time: str | int | None
    features: str | int | Path | Sequence[str | int] | None
    categorical: str | int | Sequence[str | int] | None
    scale: bool
    label: str | int | None
    unit: TimeUnit | None
    time_format: str | None
    bipartite: bool
    delimiter: str | None
    header: bool
    node_features: str | Path | None
    weight: str | int | None


def read_events(source: Any, *, name: str | None = None, **options: Unpack[ReadingOptions]) -> EventStream:
    """Read a stream of events, check it, and put it in time order.

    ``source`` is a path (CSV, TSV, Parquet, Arrow, or a folder written by `EventStream.save`) or a
    frame (pyarrow, pandas, polars, or anything that speaks the Arrow PyCapsule protocol). Only the
    columns needed are read.

    - ``src``, ``dst``, ``time``: column names; without them the usual ones are looked for.
    - ``features``: one column or several, of numbers or of equally long lists of numbers, or the path
      of an ``.npy`` matrix with one row for each event, which stays on disk. None: no features.
    - ``categorical``: columns of text or whole numbers that are kinds and not amounts. Each of the 64 most
      frequent values of the training split becomes a feature that is 1 or 0; all others share one.
    - ``scale``: features that are numbers are standardized, by mean and deviation of the training split.
    - ``label``: a column of whole numbers (kept as int64) or other numbers (float32).
    - ``unit``: of whole-number times, seconds if not given. Dates and datetimes have their own.
      Float times with fractions become whole numbers of a finer unit, with a notice.
    - ``time_format``: how times are written, for strptime (``"%d.%m.%Y %H:%M"``), or ``"yyyymmdd"``, or
      ``"excel"`` for day numbers of a spreadsheet. Without it, numbers and ISO 8601.
    - ``bipartite``: sources and destinations are different kinds of node even where ids coincide.
    - ``delimiter``: what separates columns of a text file, a sign or its name (``"tab"``). Without it, a
      comma or, in ``.tsv``, a tab.
    - ``header``: False if the first row is an event; columns are then called ``"1"``, ``"2"``, …, and the
      first three are source, destination and time.
    - ``node_features``: a file of any of these kinds with a row for each node, which its first column (or one
      called node, node_id or id) names; other columns are numbers. Nodes without a row get zeros.
    - ``weight``: the feature that says how much an event counts; it is never scaled.

    Ids are integers or strings. In CSV they are integers if all ids of both columns are written as such;
    as soon as one is not, has leading zeros (``007``) or does not fit 64 bits, all are text as it is written,
    but for blanks around them.
    """
    return Reading.of(**options).read(source, name=name)
