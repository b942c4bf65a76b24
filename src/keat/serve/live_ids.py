"""What nodes are called, for one look-up at a time: a dictionary for each side, to which newcomers are added.

`keat.runs.NodeNames` is for whole files: it is immutable, and a look-up reads all names.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa

from keat.errors import InputError
from keat.events.ids import WHOLE_NUMBER
from keat.runs.node_names import NodeNames

Label = str | int
Newcomer = tuple[Label, int]  # with the side, 0 or 1
LONGEST = 256  # characters of an id
_WHOLE = re.compile(WHOLE_NUMBER)


class LiveIds:
    """Labels of nodes 0 … n - 1, on one side or two; a newcomer has the next number."""

    def __init__(self, names: NodeNames) -> None:
        labels = names.labels.to_pylist()
        self.labels: list[Label] = labels
        self.known = len(labels)  # in the run itself; those after it are newcomers
        self.whole = pa.types.is_integer(names.labels.type)
        self.sides: list[int] | None = None if names.side is None else names.side.tolist()
        self._names = names
        if self.sides is None:
            self._numbers: tuple[dict[Label, int], ...] = (
                dict(zip(labels, range(len(labels)), strict=True)),
            )
        else:
            self._numbers = ({}, {})
            for number, (label, side) in enumerate(zip(labels, self.sides, strict=True)):
                self._numbers[side][label] = number

    def __len__(self) -> int:
        return len(self.labels)

    def read(self, written: Label) -> Label:
        """A label as this run has them, whole numbers or text; one that cannot be is refused."""
        if self.whole:
            if isinstance(written, str):
                if len(written) > 20 or not _WHOLE.match(written):
                    raise InputError(
                        f"The nodes of this run are whole numbers, written like 7 or 42; '{written[:40]}' is "
                        "not."
                    )
                written = int(written)
            if not -(1 << 63) <= written < 1 << 63:
                raise InputError(f"Node {written} does not fit 64 bits; use smaller numbers.")
            return written
        text = written if isinstance(written, str) else str(written)
        if not text.strip():
            raise InputError("The name of a node is empty; give one.")
        if len(text) > LONGEST and not any(text in numbers for numbers in self._numbers):
            raise InputError(
                f"A new node's name has at most {LONGEST} characters; '{text[:20]}…' has {len(text)}."
            )
        return text

    def numbers(self, side: int) -> dict[Label, int]:
        """The numbers of all nodes of a side, to look up and not to change."""
        return self._numbers[side if self.sides is not None else 0]

    def find(self, label: Label, side: int) -> int | None:
        """The number of a node; None of a stranger."""
        return self.numbers(side).get(label)

    def join(self, label: Label, side: int) -> int:
        """The number of a node, which may be new."""
        numbers = self.numbers(side)
        number = numbers.get(label)
        if number is None:
            number = numbers[label] = len(self.labels)
            self.labels.append(label)
            if self.sides is not None:
                self.sides.append(side)
        return number

    def newcomers(self, since: int) -> list[Newcomer]:
        """Nodes from number ``since`` on."""
        sides = [0] * len(self.labels) if self.sides is None else self.sides
        return list(zip(self.labels[since:], sides[since:], strict=True))

    def welcome(self, newcomers: list[Newcomer]) -> None:
        """What `newcomers` told, in the same order."""
        for label, side in newcomers:
            if type(label) is not (int if self.whole else str) or side not in (0, 1):
                raise ValueError("a newcomer's name is not like the others")
            before = len(self.labels)
            if self.join(label, side) != before:
                raise ValueError("a newcomer is known already")

    def names(self) -> NodeNames:
        """The same for whole tables."""
        if len(self._names) != len(self.labels):
            side = None if self.sides is None else np.array(self.sides, dtype=np.int8)
            self._names = NodeNames(pa.array(self.labels, self._names.labels.type), side)
        return self._names
