"""The features of an event as the user calls them, beside what is usual.

What is usual is the mean: of training where features were scaled, which is 0 to the model, else of events at
hand. Of a column of kinds it is the most frequent kind, since no event is a little of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keat.events.feature_encoding import ColumnEncoding, scales

Raw = float | str | list[float]
Vector = npt.NDArray[np.float32]
FAR = 2.0  # deviations from the mean
OTHER = "another kind"  # than those that have a column of their own


@dataclass(frozen=True, slots=True)
class FeatureValue:
    """One column of one event."""

    name: str
    value: Raw
    usual: Raw
    usual_is: str  # which mean it is, or of which events the most frequent
    far: bool  # more than `FAR` deviations from it


@dataclass(frozen=True, slots=True, eq=False)
class UsualFeatures:
    """What is usual in each column, as the model reads it."""

    columns: tuple[ColumnEncoding, ...]
    encoded: Vector  # (d,)
    deviation: Vector  # (d,)
    events: str  # which they are that it was found of

    @classmethod
    def of(cls, columns: Sequence[ColumnEncoding], features: Vector, events: str) -> UsualFeatures:
        """What is usual in ``features`` (n, d); ``events`` says in words whose they are."""
        width = sum(column.encoded_width for column in columns)
        encoded, deviation = np.zeros(width, np.float32), np.ones(width, np.float32)
        for column, place in _places(columns):
            part = features[:, place]
            if column.categories is not None:
                encoded[place.start + int(part.sum(axis=0).argmax())] = 1
            elif not column.mean:
                encoded[place], deviation[place] = scales(part)
        return cls(tuple(columns), encoded, deviation, events)

    def replaced(self, features: Vector) -> Iterator[tuple[str, Vector]]:
        """For each column its name, and the features of an event (d,) with that column as is usual."""
        for column, place in _places(self.columns):
            changed = features.copy()
            changed[place] = self.encoded[place]
            yield column.name, changed

    def values(self, features: Vector) -> tuple[FeatureValue, ...]:
        """The features of an event (d,) in the units of the user."""
        return tuple(
            FeatureValue(
                name=column.name,
                value=_decoded(column, features[place]),
                usual=_decoded(column, self.encoded[place]),
                usual_is=self._what_usual_is(column),
                far=column.categories is None
                and bool((np.abs(features - self.encoded) > FAR * self.deviation)[place].any()),
            )
            for column, place in _places(self.columns)
        )

    def _what_usual_is(self, column: ColumnEncoding) -> str:
        if column.categories is not None:
            return f"the most frequent of {self.events}"
        return "the mean of training" if column.mean else f"the mean of {self.events}"


def _places(columns: Sequence[ColumnEncoding]) -> Iterator[tuple[ColumnEncoding, slice]]:
    start = 0
    for column in columns:
        yield column, slice(start, start + column.encoded_width)
        start += column.encoded_width


def _decoded(column: ColumnEncoding, numbers: Vector) -> Raw:
    if column.categories is not None:
        return (*column.categories, OTHER)[int(numbers.argmax())]
    plain = numbers.astype(np.float64)
    if column.mean:
        plain = plain * np.array(column.deviation) + np.array(column.mean)
    values: list[float] = plain.tolist()
    return values[0] if column.width == 1 else values
