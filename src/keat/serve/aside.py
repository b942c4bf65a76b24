"""Work beside the service, in a process of its own, so that no request waits for it.

    python -m keat.serve.aside snapshot RUN     the state as the log has it now, kept as a snapshot
    python -m keat.serve.aside explain RUN SEQ  why an event was scored as it was, as JSON
    python -m keat.serve.aside explain-page RUN SEQ  the same as a page

All read the log, and make the state again from the newest snapshot: the service itself is not asked.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec
import torch

from keat.errors import KeatError
from keat.serve.engine import Engine


def take_snapshot(run: Path) -> dict[str, object]:
    engine = Engine(run, write=False)
    path = engine.snapshot()
    engine.close()
    return {"snapshot": path.name}


def _give_way() -> None:
    """To the service, also where that has a priority which its children would inherit."""
    if sys.platform == "linux":
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    os.nice(10)


def main(arguments: list[str]) -> int:
    """Prints one JSON object; 1 if that is an error."""
    torch.set_num_threads(1)
    _give_way()
    try:
        match arguments:
            case ["snapshot", run]:
                found: dict[str, object] = take_snapshot(Path(run))
            case ["explain", run, number]:
                from keat.serve.explaining import explain_event

                found = explain_event(Path(run), int(number))
            case ["explain-page", run, number]:
                from keat.serve.explaining import page_of_event

                found = page_of_event(Path(run), int(number))
            case _:
                found = {"error": "Give snapshot RUN, or explain RUN SEQ."}
    except KeatError as error:
        found = {"error": str(error)}
    sys.stdout.buffer.write(msgspec.json.encode(found) + b"\n")
    return 1 if "error" in found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
