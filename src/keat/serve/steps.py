"""Named steps on the way of an event to the disk, at which tests end the process.

Outside of tests `reached` does nothing: nobody watches.
"""

from __future__ import annotations

from collections.abc import Callable

STEPS = (
    "batch scored",
    "row in transaction",
    "row committed",
    "head written",
    "batch observed",
    "model copied aside",
    "model in place",
    "shadow caught up",
    "record in transaction",
    "record committed",
    "model switched",
    "calibration switched",
    "snapshot written aside",
    "snapshot in place",
    "older snapshots removed",
    "checkpoint begun",
    "checkpoint done",
    "seal written aside",
    "seal in place",
)

watcher: Callable[[str], None] | None = None


def reached(step: str) -> None:
    if watcher is not None:
        watcher(step)
