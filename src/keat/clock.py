"""Ages: differences of a stream's int64 times, measured in one unit whatever the stream's own is.

φ reads an age as it is, so the same log in seconds and in microseconds would make two models. A model
therefore has a clock: it measures in seconds unless its configuration says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Clock:
    """One tick of a stream's time is ``multiply / divide`` of the unit that ages are measured in.

    A quotient of whole numbers is rounded once, so the same moments written in s, ms or µs have the same ages
    to the last bit. With 1 / 1 an age is the difference itself.
    """

    multiply: int = 1
    divide: int = 1

    def ages(self, difference: Tensor) -> Tensor:
        """The age that a difference of times (int64) is: int64 too where nothing is divided, else float64."""
        if self.multiply != 1:
            difference = difference * self.multiply
        if self.divide == 1:
            return difference
        exact = difference.double()  # on a GPU, division by a number is multiplication by its rounded inverse
        return exact / exact.new_full((), self.divide)

    def measure(self, difference: npt.NDArray[np.int64]) -> npt.NDArray[np.int64 | np.float64]:
        """`ages` of an array."""
        if self.multiply != 1:
            difference = difference * self.multiply
        return difference if self.divide == 1 else difference / self.divide

    def ticks(self, age: float) -> float:
        """How many ticks an age takes."""
        return age if self == PLAIN else age * self.divide / self.multiply


PLAIN = Clock()
