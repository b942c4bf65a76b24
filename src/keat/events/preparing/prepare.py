"""`prepare_events`: a log of any size, in many files, becomes a saved stream, within a limit of memory."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from keat.disk import expanded, map_array
from keat.errors import CacheError, InputError
from keat.events.feature_columns import BLOCK, RawColumn
from keat.events.feature_encoding import FeatureEncoding, encode_columns, encode_nodes, learn_encoding
from keat.events.node_table import NodeTable, read_node_table
from keat.events.preparing.column_files import column_bytes, column_files
from keat.events.preparing.input_files import Inputs
from keat.events.preparing.row_reader import RowReader
from keat.events.preparing.sizes import Sizes
from keat.events.preparing.sorting import gather, scatter, write_in_order
from keat.events.preparing.survey import Survey, survey, tell_of_order
from keat.events.preparing.workplace import Begun, Workplace
from keat.events.reading_options import Reading
from keat.events.saved_stream import describe_folder
from keat.events.splitting import HELD_OUT
from keat.events.stream import EventStream
from keat.events.units import TimeUnit

Progress = Callable[[int, int | None], None]
MEMORY = 2_000_000_000


@dataclass(frozen=True, slots=True)
class Prepared:
    """What was prepared."""

    folder: Path
    name: str
    events: int
    nodes: int
    features: int
    unit: TimeUnit
    buckets: int  # 0 where the log was in order already
    continued: bool  # from where an earlier attempt ended


def prepare_events(
    files: Sequence[str | Path],
    out: str | Path,
    reading: Reading | None = None,
    *,
    name: str | None = None,
    memory: int = MEMORY,
    restart: bool = False,
    sizes: Sizes | None = None,
    progress: Progress | None = None,
) -> Prepared:
    """Writes the saved stream that reading ``files`` as one, in memory, and saving it would give, to the bit.

    ``reading`` says how they are read, see `read_events`; ``name`` is the stream's, by default that of the
    only file, or of the folder. No more than about ``memory`` bytes are used; ``sizes`` divides them
    otherwise than is usual. A preparation that was interrupted continues if it is begun again with the same
    files and options; ``restart`` begins anew. ``progress`` hears of steps (done, in all), of which each
    event is several.
    """
    reading = Reading() if reading is None else reading
    sizes = Sizes.within(memory) if sizes is None else sizes
    progress = progress or _silent
    place = Workplace(expanded(out))
    place.require_free()
    inputs = Inputs.open(files, reading)
    if name is None:
        name = inputs.sources[0].name if len(inputs.sources) == 1 else place.out.resolve().name
    now = Begun.now(inputs.paths, reading, name, sizes.memory)
    if restart:
        place.clear()
    begun = place.begun()
    if begun is None:
        found = survey(inputs, reading, sizes, progress)
        require_space(place.out, _space(found), f"Preparing {found.num_events:,} events")
        place.clear()  # what an attempt left that did not get here
        place.lock()
        place.keep(now, found)
    else:
        begun.require_same(now, place.out)
        place.lock()
        found = place.survey()
    try:
        tell_of_order(found.facts, inputs, name)
        return _Preparation(inputs, reading, found, sizes, place, name, progress).run(begun is not None)
    except InputError:  # once more would be as bad
        place.clear()
        raise
    finally:
        place.unlock()


def _silent(done: int, total: int | None) -> None:
    """Progress that nobody hears of."""


def _space(found: Survey) -> int:
    """Rows are on the disk while they are sorted, and what is sorted of them is removed on the way."""
    row = 24 + 4 * sum(found.facts.widths)
    return int(1.1 * row * found.num_events) + sum(int(labels.nbytes) for labels in found.labels)


def require_space(out: Path, needed: int, what: str) -> None:
    there = next(folder for folder in out.resolve().parents if folder.exists())
    free = shutil.disk_usage(there).free
    if needed > free:
        raise CacheError(
            f"{what} needs {needed / 1e9:.1f} GB in {there}, where {free / 1e9:.1f} GB are free; free some "
            "space, or choose another place."
        )


@dataclass(slots=True)
class _Preparation:
    """The passes after the survey."""

    inputs: Inputs
    reading: Reading
    found: Survey
    sizes: Sizes
    place: Workplace
    name: str
    progress: Progress

    def run(self, continued: bool) -> Prepared:
        in_order = self.found.facts.unsorted is None
        nodes = self._node_table()
        self._write_events(in_order)
        stream, columns, learned = self._encoded(self._mapped(), nodes)
        learned.keep(self.place.stream)
        describe_folder(self.place.stream, columns, stream.ids, stream.about())
        self.place.finish()
        return Prepared(
            folder=self.place.out,
            name=self.name,
            events=len(stream),
            nodes=stream.num_nodes,
            features=stream.feature_dim,
            unit=stream.unit,
            buckets=0 if in_order else len(self.found.facts.begins),
            continued=continued,
        )

    @property
    def raw_features(self) -> Path:
        """Where features are until they are encoded, which some never are."""
        encodes = self.reading.scale or self.reading.categorical or self.reading.encoding is not None
        return self.place.folder / "raw" if encodes else self.place.stream

    def _write_events(self, in_order: bool) -> None:
        """The columns of events, with features as they are read."""
        events = self.found.num_events
        done, total = events, (2 if in_order else 3) * events

        def step(rows: int) -> None:
            nonlocal done
            done += rows
            self.progress(done, total)

        rows = RowReader(self.inputs, self.reading, self.found, self.sizes)
        folders = dict.fromkeys(rows.columns, self.place.stream) | {"features": self.raw_features}
        with column_files(folders, events, rows.columns) as columns:
            if in_order:
                write_in_order(rows, columns, self.place, step)
            else:
                gather(rows, scatter(rows, self.place, step), columns, self.place, step)

    def _mapped(self) -> EventStream:
        """The stream as it is by now."""
        facts, ids = self.found.facts, self.found.id_map()
        folder = self.place.stream
        return EventStream(
            src=map_array(folder / "src.npy"),
            dst=map_array(folder / "dst.npy"),
            t=map_array(folder / "t.npy"),
            features=map_array(self.raw_features / "features.npy"),
            labels=None if facts.label is None else map_array(folder / "labels.npy"),
            num_nodes=len(ids),
            ids=ids,
            unit=facts.unit,
            name=self.name,
        )

    def _node_table(self) -> NodeTable | None:
        """Features of nodes, read first: if they do not fit the ids, nothing is sorted in vain."""
        reading = self.reading
        if reading.node_features is None:
            return None
        path = expanded(reading.node_features)
        ids = self.found.id_map()
        return read_node_table(path, ids, self.name, reading.delimiter, header=reading.header)

    def _encoded(
        self, stream: EventStream, nodes: NodeTable | None
    ) -> tuple[EventStream, list[str], Reading]:
        """The stream with features as models are shown them, its columns, and the reading that was learned,
        as by `Reading.learn`."""
        reading, facts = self.reading, self.found.facts
        names = ["src", "dst", "t", "features", *(["labels"] if facts.label is not None else [])]
        columns = zip(reading.features, facts.widths, self.found.kinds, strict=True)
        raw = [RawColumn(*each) for each in columns]
        if not raw and nodes is None:
            return stream, names, reading
        where = self.inputs.where
        encoding = reading.encoding or learn_encoding(
            stream,
            raw,
            nodes,
            where,
            scale=reading.scale,
            held_out=HELD_OUT,
            kept=() if reading.weight is None else (reading.weight,),
        )
        learned = replace(reading, encoding=encoding)
        if nodes is not None:
            names.append("node_features")
            np.save(self.place.stream / "node_features.npy", encode_nodes(encoding, nodes))
        if self.raw_features == self.place.stream:
            return stream, names, learned
        encoded = self.place.stream / "features.npy"
        self._encode_events(encoding, raw, stream, where)
        return replace(stream, features=map_array(encoded)), names, learned

    def _encode_events(
        self, encoding: FeatureEncoding, raw: list[RawColumn], stream: EventStream, where: str
    ) -> None:
        width = sum(column.encoded_width for column in encoding.events)
        kinds = {"features": (np.float32, (width,))}
        require_space(self.place.out, column_bytes(len(stream), kinds), "Encoding their features")
        with column_files({"features": self.place.stream}, len(stream), kinds) as columns:
            for row in range(0, len(stream), BLOCK):
                block = stream.features[row : row + BLOCK]
                columns.write("features", row, encode_columns(encoding.events, block, raw, where))
