"""The features of one event as the user writes them, encoded as those of training were."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keat.datasets.loading import SIMULATED
from keat.datasets.payments import FEATURES
from keat.errors import InputError, unknown_name
from keat.events.columns import Column
from keat.events.feature_columns import read_features
from keat.events.feature_encoding import ColumnEncoding, encode_columns
from keat.runs.spec import SourceSpec

WHERE = "The event"


def columns_of(source: SourceSpec, feature_dim: int) -> tuple[ColumnEncoding, ...]:
    """What the features of a run are called and how they are encoded. A stream in memory, and most sets that
    are known by name, have no names for them."""
    if source.reading.encoding is not None:
        return source.reading.encoding.events
    names = FEATURES if is_simulated(source) else [f"feature {k + 1}" for k in range(feature_dim)]
    return tuple(ColumnEncoding(name, 1) for name in names)


def is_simulated(source: SourceSpec) -> bool:
    """Whether they are the payments, whose columns are known though no file names them."""
    return source.name is not None and source.name.partition(":")[0] == SIMULATED


def encoded_features(
    columns: tuple[ColumnEncoding, ...], given: Mapping[str, Any]
) -> npt.NDArray[np.float32] | None:
    """Values by the name of their column → (d,); None where the run has no features."""
    names = [column.name for column in columns]
    for name in given:
        if name not in names:
            raise unknown_name("feature of this run", name, names)
    missing = [name for name in names if name not in given]
    if missing:
        raise InputError(f"An event of this run also has {', '.join(missing)}; give all of its features.")
    if not columns:
        return None
    kinds = [column.name for column in columns if column.categories is not None]
    read, raw = read_features(
        [Column(WHERE, name, pa.chunked_array([pa.array([given[name]])])) for name in names], kinds
    )
    encoded: npt.NDArray[np.float32] = encode_columns(columns, read, raw, WHERE)[0]
    return encoded
