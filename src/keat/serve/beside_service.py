"""How work that no request may wait for is begun, in a process of its own (`keat.serve.aside`)."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

from keat.serve.engine import Engine


async def begun(engine: Engine, verb: str, *more: str) -> subprocess.Popen[bytes]:
    """A process that was told a verb; what it says is for `said`, but a snapshot says nothing. (It is begun
    by vfork, as asyncio's are not: to fork a large service stops it for long.)"""
    words = [sys.executable, "-m", "keat.serve.aside", verb, str(engine.base.run.folder), *more]
    pipe = subprocess.DEVNULL if verb == "snapshot" else subprocess.PIPE
    environment = os.environ | {"OMP_NUM_THREADS": "1"}

    def begin() -> subprocess.Popen[bytes]:
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=pipe, env=environment)

    return await asyncio.get_running_loop().run_in_executor(None, begin)


async def said(process: subprocess.Popen[bytes], seconds: float) -> bytes:
    """All that a process says; raises `TimeoutError` where that takes longer. It has ended then."""
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), process.stdout)
    try:
        return await asyncio.wait_for(reader.read(), seconds)
    finally:
        transport.close()
        process.kill()  # if it is still there
        await loop.run_in_executor(None, process.wait)
