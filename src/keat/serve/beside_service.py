"""How work that no request may wait for is begun, in a process of its own (`keat.serve.aside`)."""

from __future__ import annotations

import asyncio
import os
import sys

from keat.serve.engine import Engine


async def begun(engine: Engine, verb: str, *more: str) -> asyncio.subprocess.Process:
    """A process that was told a verb; what it says is read, unless it is a snapshot, which says nothing."""
    words = [sys.executable, "-m", "keat.serve.aside", verb, str(engine.base.run.folder), *more]
    pipe = asyncio.subprocess.DEVNULL if verb == "snapshot" else asyncio.subprocess.PIPE
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return await asyncio.create_subprocess_exec(*words, stdout=pipe, env=environment)
