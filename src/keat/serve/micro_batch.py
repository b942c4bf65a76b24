"""What the engine knows of a micro-batch on its way, and counts of those before it."""

from __future__ import annotations

from dataclasses import dataclass, field

from keat.serve.happened import Happened
from keat.serve.log_rows import Row


@dataclass(slots=True)
class Counts:
    """What has happened since this process began."""

    events: int = 0
    batches: int = 0
    late: int = 0
    reordered: int = 0  # came out of order within the window
    again: int = 0
    newcomers: int = 0


@dataclass(slots=True, eq=False)
class Prepared:
    """A micro-batch that is scored and not yet committed."""

    row: Row | None  # None where all of it was known
    first: int
    happened: Happened | None
    nodes_before: int
    slots: list[tuple[int, bool]]  # for each that was sent: its number in the log, and whether it is known
    reordered: int = 0
    conflicts: dict[int, str] = field(default_factory=dict)
