"""The rows of a log as records of times, dense ids, labels and features, still in the order of the files."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from keat.events.csv_ids import WrittenIds
from keat.events.dense_ids import checked_ids
from keat.events.feature_columns import FeatureReading, RawColumn, read_labels, stored_matrix
from keat.events.file_column import Column
from keat.events.preparing.column_files import Shape
from keat.events.preparing.id_spaces import IdLookup
from keat.events.preparing.input_files import Inputs
from keat.events.preparing.sizes import Sizes
from keat.events.preparing.survey import Survey
from keat.events.reading_options import Reading
from keat.events.time_column import TimeReading

Records = npt.NDArray[np.void]


class RowReader:
    """Reads files once more, with what the survey found."""

    def __init__(self, inputs: Inputs, reading: Reading, survey: Survey, sizes: Sizes) -> None:
        self.inputs, self.survey, self.sizes = inputs, survey, sizes
        facts = survey.facts
        inputs.kinds = dict(facts.kinds)
        forms = None if facts.text_forms is None else list(facts.text_forms)
        self.times = TimeReading(reading.unit, reading.time_format, facts.fractional, forms)
        self.written = WrittenIds(reading.bipartite, facts.as_numbers) if inputs.sources[0].untyped else None
        lookups = [IdLookup(labels, sizes.table) for labels in survey.labels]
        self.lookups = lookups[0], lookups[-1]
        self.boundary = np.int32(len(survey.labels[0]) if len(lookups) > 1 else 0)
        self.features = FeatureReading(reading.categorical)
        if reading.matrix is None:
            names = reading.features
            kinds = zip(names, facts.widths, survey.kinds, strict=True)
            self.features.raw = [RawColumn(*each) for each in kinds]
        self.matrix = None
        if reading.matrix is not None:
            self.matrix = stored_matrix(reading.matrix, survey.num_events)
        self.starts = [0, *accumulate(facts.rows)]  # of each file among all rows
        self.width = sum(facts.widths)

    @property
    def columns(self) -> dict[str, tuple[npt.DTypeLike, Shape]]:
        """The columns of events: type, and shape of a row."""
        columns: dict[str, tuple[npt.DTypeLike, Shape]] = {
            "t": (np.int64, ()),
            "src": (np.int32, ()),
            "dst": (np.int32, ()),
            "features": (np.float32, (self.width,)),
        }
        if self.survey.facts.label is not None:
            columns["labels"] = (self.survey.facts.label, ())
        return columns

    @property
    def record(self) -> np.dtype[np.void]:
        return np.dtype([(name, kind, shape) for name, (kind, shape) in self.columns.items()])

    def records(self, file: int) -> Iterator[Records]:
        """All rows of a file, in pieces."""
        for piece in self.inputs.pieces(self.sizes.piece, file):
            rows = np.empty(piece.rows, self.record)
            rows["t"] = self.times.settle(self.times.look(piece.columns["time"]))
            rows["src"] = self.lookups[0].index(self._id(piece.columns["src"]))
            rows["dst"] = self.lookups[1].index(self._id(piece.columns["dst"])) + self.boundary
            if "label" in piece.columns:
                rows["labels"] = read_labels(piece.columns["label"])
            if self.matrix is not None:
                first = self.starts[file] + piece.first
                rows["features"] = self.matrix[first : first + piece.rows]
            elif piece.features():
                rows["features"] = self.features.look(piece.features())
            yield rows

    def _id(self, column: Column) -> Column:
        return checked_ids(column if self.written is None else self.written.read(column))
