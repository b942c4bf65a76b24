"""TGB's link files: ``time,source,destination,attributes…`` with names for nodes.

Nodes are numbered in the order in which they first appear, source before destination, and features
are made as py-tgb ≥ 2.1 makes them; tests compare both with py-tgb element by element.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from keat.datasets.data_folder import writing
from keat.datasets.dataset_info import DatasetInfo
from keat.datasets.raw_csv import FLOAT, INT, NAME, number_names, read_columns, refuse_first, split_dictionary
from keat.errors import InputError
from keat.events import EventStream, IdMap

_MOST_WORDS = 5000  # what py-tgb divides a comment's length by
_CODE_WIDTH = 8  # call signs and type codes are padded to this
_REGION_WIDTH = 7
_PADDING = "!"
_BLOCK_ROWS = 1 << 20


def read_weighted(raw: Path, info: DatasetInfo) -> EventStream:
    """tgbl-coin and tgbl-review, ``time,source,destination,weight``: the feature is log2(weight), and
    log2(1) where the weight is 0."""
    path = raw / info.raw_files[0]
    columns = read_columns(path, {0: INT, 1: NAME, 2: NAME, 3: FLOAT})
    weight = columns[3].to_numpy()
    refuse_first(weight < 0, weight, path, "negative weight", "which has no log2")
    feature = np.log2(np.where(weight == 0, 1.0, weight)).astype(np.float32)
    return _stream(info, columns, feature[:, None])


def read_comments(raw: Path, info: DatasetInfo) -> EventStream:
    """tgbl-comment, ``time,source,destination,words,score``. py-tgb writes words/5000 into two columns."""
    columns = read_columns(raw / info.raw_files[0], {0: INT, 1: NAME, 2: NAME, 3: INT, 4: INT})
    words = columns[3].to_numpy() / _MOST_WORDS
    features = np.stack([words, words, columns[4].to_numpy()], axis=1, dtype=np.float32, casting="unsafe")
    return _stream(info, columns, features)


def read_flights(raw: Path, info: DatasetInfo) -> EventStream:
    """tgbl-flight, ``day,source,destination,call sign,type code``, and the airports' own features.

    Days are unix seconds. (The first version of the file had dates, which py-tgb turned into seconds of
    the reader's own time zone.)
    """
    columns = read_columns(raw / info.raw_files[0], {0: INT, 1: NAME, 2: NAME, 3: NAME, 4: NAME})
    texts, codes = zip(*(split_dictionary(columns.pop(i)) for i in (3, 4)), strict=True)
    spelled = [_spell(distinct, _CODE_WIDTH) for distinct in texts]  # thousands of codes, not 67 million
    rows = len(columns[0])
    # 64 bytes a flight, 4.3 GB in all: on disk, not in memory.
    with writing(raw), tempfile.TemporaryFile(dir=raw) as scratch:
        for start in range(0, rows, _BLOCK_ROWS):
            block = slice(start, start + _BLOCK_ROWS)
            parts = [letters[code[block]] for letters, code in zip(spelled, codes, strict=True)]
            scratch.write(np.concatenate(parts, axis=1).data)
        scratch.flush()
        features = np.memmap(scratch, np.float32, "r", shape=(rows, 2 * _CODE_WIDTH))
    return _stream(info, columns, features, airports=raw / info.raw_files[1])


def _stream(
    info: DatasetInfo,
    columns: dict[int, pa.ChunkedArray],
    features: npt.NDArray[np.float32],
    airports: Path | None = None,
) -> EventStream:
    (src, dst), names = number_names(columns[1], columns[2])
    return EventStream.from_arrays(
        src,
        dst,
        columns[0].to_numpy(),
        features,
        num_nodes=len(names),
        unit=info.unit,
        node_features=None if airports is None else _airport_features(airports, names),
        ids=IdMap(names),
        name=info.name,
    )


def _airport_features(path: Path, names: pa.Array) -> npt.NDArray[np.float32]:
    """One-hot type, one-hot continent (numbered as they first appear among airports of the stream),
    region letter by letter, longitude, latitude; zeros for an airport the file does not have."""
    columns = read_columns(path, {0: NAME, 1: NAME, 2: NAME, 3: NAME, 4: FLOAT, 5: FLOAT})
    code, kind, continent, region = (columns[i].cast(pa.string()).combine_chunks() for i in range(4))
    node = pc.index_in(code, value_set=names)
    known = pc.is_valid(node)
    where = node.filter(known).to_numpy()
    blocks = [_one_hot(column.filter(known)) for column in (kind, continent)]
    blocks.append(_spell(region.filter(known), _REGION_WIDTH))
    blocks.append(
        np.stack([columns[i].to_numpy()[known.to_numpy(zero_copy_only=False)] for i in (4, 5)], axis=1)
    )
    features = np.zeros((len(names), sum(block.shape[1] for block in blocks)), dtype=np.float32)
    features[where] = np.concatenate(blocks, axis=1)
    return features


def _one_hot(column: pa.Array) -> npt.NDArray[np.float32]:
    encoded = column.dictionary_encode()
    rows: npt.NDArray[np.intp] = encoded.indices.to_numpy().astype(np.intp)
    return np.eye(len(encoded.dictionary), dtype=np.float32)[rows]


def _spell(texts: pa.Array, width: int) -> npt.NDArray[np.float32]:
    """Each text as ``width`` numbers: digits as themselves, other characters as ord(upper case) - 35, and
    -1 for padding at the end. py-tgb pads a text that is too long for a type code all the way; here that
    holds for every text, so none can spill into the next."""
    fits = pc.less_equal(pc.utf8_length(texts), width)
    ascii_only = pc.string_is_ascii(texts)
    if not pc.all(ascii_only).as_py():
        odd = texts.filter(pc.invert(ascii_only))[0].as_py()
        raise InputError(f"The code '{odd}' is not plain ASCII; fetch the dataset again.")
    padded = pc.utf8_rpad(pc.if_else(fits, texts, ""), width=width, padding=_PADDING)
    letters = np.frombuffer("".join(padded.to_pylist()).encode(), dtype=np.uint8).reshape(-1, width)
    return _LETTER_VALUE[letters]


def _letter_values() -> npt.NDArray[np.float32]:
    values = np.array([ord(chr(byte).upper()) - 35 for byte in range(128)], dtype=np.float32)
    values[ord("0") : ord("9") + 1] = np.arange(10)
    values[ord(_PADDING)] = -1
    return values


_LETTER_VALUE = _letter_values()
