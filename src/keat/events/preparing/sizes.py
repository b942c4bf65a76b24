"""How much is held at a time, so that everything stays within a limit of memory."""

from __future__ import annotations

from dataclasses import dataclass

from keat.errors import InputError

SMALLEST = 500_000_000  # of which Python and Arrow themselves take a third


@dataclass(frozen=True, slots=True)
class Sizes:
    """Parts of the memory, in bytes. What is done with a piece or a bucket takes a few times its size."""

    memory: int
    piece: int  # of rows as they are read
    bucket: int  # of rows that are sorted at a time
    table: int  # places of a table of integers, of four bytes each

    @classmethod
    def within(cls, memory: int) -> Sizes:
        if memory < SMALLEST:
            raise InputError(
                f"{memory / 1e9:.2g} GB of memory are too few to prepare anything; allow at least "
                f"{SMALLEST / 1e9:g} GB."
            )
        return cls(memory, piece=memory // 32, bucket=memory // 10, table=memory // 32)
