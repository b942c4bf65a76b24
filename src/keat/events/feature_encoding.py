"""Features as a model is shown them: numbers standardized, kinds of things one-hot.

Every model reads features by a linear map, and of a one-hot column that is an embedding: a vector that is
learned for each kind, one vector for all that are rare.

What the scales are and which kinds have a column of their own is learned from training events alone, and
kept, so that validation, test and every later file are encoded with the same numbers.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from keat.errors import InputError, Notice
from keat.events.feature_columns import BLOCK, Matrix, RawColumn, first_not_finite
from keat.events.node_table import NodeTable
from keat.events.splitting import split
from keat.events.stream import EventStream

MOST = 64  # values of a categorical column that have a column of their own
LARGE = 1_000.0  # from here on a feature that is not scaled drowns the others
CONSTANT = 1e-7  # of the largest value: a deviation as small as this is rounding of float32


@dataclass(frozen=True, slots=True)
class ColumnEncoding:
    """How one column is encoded; as it is, where there are neither categories nor scales."""

    name: str
    width: int  # how many numbers each row has as it is read
    categories: tuple[str, ...] | None = None  # in the order of training; all others share a column
    mean: tuple[float, ...] = ()
    deviation: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """It may come from a file."""
        if self.width < 0 or any(
            len(numbers) not in (0, self.width) for numbers in (self.mean, self.deviation)
        ):
            raise ValueError(f"the scales of '{self.name}' are not as many numbers as it has")
        if not np.isfinite(self.mean).all() or any(not 0 < number < np.inf for number in self.deviation):
            raise ValueError(f"the scales of '{self.name}' are no numbers to divide by")
        unlike = len(self.mean) != len(self.deviation)
        if unlike or (self.categories is not None and (self.mean or self.width != 1)):
            raise ValueError(f"the encoding of '{self.name}' contradicts itself")

    @property
    def encoded_width(self) -> int:
        return self.width if self.categories is None else len(self.categories) + 1


C = TypeVar("C", RawColumn, ColumnEncoding)


@dataclass(frozen=True, slots=True)
class FeatureEncoding:
    """How the features of events and of nodes are encoded, column by column."""

    events: tuple[ColumnEncoding, ...] = ()
    nodes: tuple[ColumnEncoding, ...] = ()

    def position(self, name: str) -> int:
        """Where the encoded numbers of a column of events begin."""
        names = [column.name for column in self.events]
        return sum(column.encoded_width for column in self.events[: names.index(name)])


def learn_encoding(
    stream: EventStream,
    raw: Sequence[RawColumn],
    nodes: NodeTable | None,
    where: str,
    *,
    scale: bool,
    held_out: tuple[float, float],
    kept: Collection[str] = (),
) -> FeatureEncoding:
    """Learns from the events of the training split, and from the rows of the nodes that occur in them.
    Features in ``kept`` are not scaled. A notice names another one that is not scaled although it is
    large."""
    learns = scale or any(column.values is not None for column in raw)
    train = split(stream, *held_out).train if learns else stream[:0]
    events = learn_columns(train.features, raw, scale=scale, kept=kept)
    tell_of_large(events, stream.features, where, kept)
    if nodes is None:
        return FeatureEncoding(events)
    seen = np.zeros(stream.num_nodes, dtype=np.bool_)
    seen[train.src] = seen[train.dst] = True
    of_nodes = learn_columns(nodes.matrix[seen & nodes.known], nodes.raw, scale=scale)
    tell_of_large(of_nodes, nodes.matrix, nodes.where)
    return FeatureEncoding(events, of_nodes)


def encode_stream(
    encoding: FeatureEncoding,
    stream: EventStream,
    raw: Sequence[RawColumn],
    nodes: NodeTable | None,
    where: str,
) -> EventStream:
    """The features of events and of nodes, encoded; a node without a row keeps its zeros, which are the mean
    where features are scaled."""
    stream = replace(stream, features=encode_columns(encoding.events, stream.features, raw, where))
    if nodes is None:
        return stream
    return replace(stream, node_features=encode_nodes(encoding, nodes))


def encode_nodes(encoding: FeatureEncoding, nodes: NodeTable) -> Matrix:
    encoded = encode_columns(encoding.nodes, nodes.matrix, nodes.raw, nodes.where)
    return np.where(nodes.known[:, None], encoded, np.float32(0))


def learn_columns(
    training: Matrix, raw: Sequence[RawColumn], *, scale: bool, kept: Collection[str] = ()
) -> tuple[ColumnEncoding, ...]:
    """How to encode columns, from their training rows in time order; those in ``kept`` are not scaled."""
    learned = []
    for column, part in _parts(raw, training):
        if column.values is not None:
            learned.append(ColumnEncoding(column.name, 1, _categories(column, part[:, 0])))
        elif scale and column.name not in kept:
            mean, deviation = scales(part)
            learned.append(ColumnEncoding(column.name, column.width, None, tuple(mean), tuple(deviation)))
        else:
            learned.append(ColumnEncoding(column.name, column.width))
    return tuple(learned)


def encode_columns(
    columns: Sequence[ColumnEncoding], matrix: Matrix, raw: Sequence[RawColumn], where: str
) -> Matrix:
    """What was read, encoded; the very same matrix where nothing changes."""
    for column, there in zip(columns, raw, strict=True):
        if column.width != there.width:
            raise InputError(
                f"{where}, column '{there.name}': it has {there.width} values in each row where "
                f"{column.width} are known; give files of one layout."
            )
    if all(column.categories is None and not column.mean for column in columns):
        return matrix
    encoded = np.zeros((len(matrix), sum(column.encoded_width for column in columns)), dtype=np.float32)
    place = 0
    for (column, read), there in zip(_parts(columns, matrix), raw, strict=True):
        out = encoded[:, place : place + column.encoded_width]
        place += column.encoded_width
        if column.categories is not None:
            assert there.values is not None  # the reading says which columns are categorical
            known = pc.index_in(there.values, value_set=pa.array(column.categories, there.values.type))
            hot = pc.fill_null(known, len(column.categories)).to_numpy()
            out[np.arange(len(read)), hot[read[:, 0].astype(np.int64)]] = 1
        elif column.mean:
            _standardize(column, read, out, where)
        else:
            out[:] = read
    return encoded


def tell_of_large(
    columns: Sequence[ColumnEncoding], matrix: Matrix, where: str, kept: Collection[str] = ()
) -> None:
    """A notice about the first column that is not scaled and far from what a network is made for."""
    for column, part in _parts(columns, matrix):
        if column.categories is not None or column.mean or column.name in kept:
            continue
        largest = max(
            (float(np.abs(part[row : row + BLOCK]).max(initial=0)) for row in _blocks(part)), default=0
        )
        if largest > LARGE:
            warnings.warn(
                f"{where}, column '{column.name}': values reach {largest:,.0f} and are not scaled, so they "
                "may drown everything else a model sees; have features standardized (scale).",
                Notice,
                stacklevel=2,
            )
            return


def _categories(column: RawColumn, codes: npt.NDArray[np.float32]) -> tuple[str, ...]:
    """The values of a column that occur, the most frequent of them where they are many, in the order in which
    they do."""
    assert column.values is not None
    first = np.full(len(column.values), len(codes))
    counts = np.zeros(len(column.values), dtype=np.int64)
    for row in range(0, len(codes), BLOCK):
        found, places, here = np.unique(codes[row : row + BLOCK], return_index=True, return_counts=True)
        kinds = found.astype(np.int64)
        first[kinds] = np.minimum(first[kinds], row + places)
        counts[kinds] += here
    order = np.argsort(first, kind="stable")[: np.count_nonzero(counts)]
    if len(order) > MOST:
        by_frequency = np.argsort(-counts[order], kind="stable")
        kept = np.sort(by_frequency[:MOST])
        share = 1.0 - counts[order[kept]].sum() / len(codes)
        warnings.warn(
            f"Column '{column.name}' has {len(order):,} values in training; the {MOST} most frequent have a "
            f"feature each, and the others, {100 * share:.2g} % of events, share one.",
            Notice,
            stacklevel=2,
        )
        order = order[kept]
    values = column.values.take(pa.array(order))
    return tuple(values.to_pylist())


def scales(part: Matrix) -> tuple[list[float], list[float]]:
    """Mean and deviation of each position, summed in float64; 1 for what does not vary."""
    if len(part) == 0:
        return [0.0] * part.shape[1], [1.0] * part.shape[1]
    mean = sum(part[row : row + BLOCK].sum(axis=0, dtype=np.float64) for row in _blocks(part)) / len(part)
    squares = sum(
        np.square(part[row : row + BLOCK].astype(np.float64) - mean).sum(axis=0) for row in _blocks(part)
    )
    deviation = np.sqrt(squares / len(part))
    largest = np.max([np.abs(part[row : row + BLOCK]).max(axis=0) for row in _blocks(part)], axis=0)
    deviation = np.where(deviation <= CONSTANT * largest, 1.0, deviation)
    return np.asarray(mean).tolist(), deviation.tolist()


def _standardize(column: ColumnEncoding, read: Matrix, out: Matrix, where: str) -> None:
    mean, deviation = np.array(column.mean), np.array(column.deviation)
    with np.errstate(over="ignore"):  # what becomes infinite is found below
        for row in _blocks(read):
            out[row : row + BLOCK] = (read[row : row + BLOCK] - mean) / deviation
    if (bad := first_not_finite(out)) is not None:
        raise InputError(
            f"{where}, column '{column.name}': {read[bad]:g} is too far from the mean of training "
            f"({mean[bad[1]]:g}) to be scaled; mend or drop such rows."
        )


def _parts(columns: Sequence[C], matrix: Matrix) -> Iterator[tuple[C, Matrix]]:
    """Columns with their numbers in a matrix of all of them, as it is read."""
    start = 0
    for column in columns:
        yield column, matrix[:, start : start + column.width]
        start += column.width


def _blocks(part: Matrix) -> range:
    return range(0, len(part), BLOCK)
