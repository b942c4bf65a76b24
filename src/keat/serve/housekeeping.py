"""What goes on beside a service: snapshots, by a process of their own, and rows moved out of the WAL."""

from __future__ import annotations

import asyncio
import subprocess
from contextlib import suppress

from keat.errors import KeatError
from keat.serve.batching import Batcher
from keat.serve.beside_service import begun
from keat.serve.state_snapshots import last_event_of_newest

EVERY = 1.0  # seconds
SNAPSHOT_EVERY = 250_000  # events
TRY_AGAIN = 60  # seconds after a snapshot that failed


class Housekeeping:
    """Looks once a second whether there is something to do."""

    def __init__(self, batcher: Batcher, snapshot_every: int) -> None:
        self._batcher, self._engine, self._snapshot_every = batcher, batcher.engine, snapshot_every
        self._snapshot: subprocess.Popen[bytes] | None = None
        self._tried = 0.0  # when it was begun

    async def run(self) -> None:
        while True:
            await asyncio.sleep(EVERY)
            with suppress(KeatError, OSError):  # a full disk: the next second may be better
                await self._tidy()
                await self._keep()

    async def _tidy(self) -> None:
        log, loop = self._engine.log, asyncio.get_running_loop()
        if log.is_untidy:
            await loop.run_in_executor(None, log.move_rows)
            if log.is_long:  # more rows come while rows are moved
                async with self._batcher.between:
                    await loop.run_in_executor(None, log.tidy)

    async def _keep(self) -> None:
        since = self._engine.log.tail.event - last_event_of_newest(self._engine.folder)
        now = asyncio.get_running_loop().time()
        if self._may_try(now) and since >= self._snapshot_every:
            self._snapshot, self._tried = await begun(self._engine, "snapshot"), now

    def _may_try(self, now: float) -> bool:
        """Whether a snapshot can be begun: none is on its way, and the last did not just fail."""
        if self._snapshot is None:
            return True
        code = self._snapshot.poll()
        return code == 0 or (code is not None and now > self._tried + TRY_AGAIN)

    def end(self) -> None:
        """The service has stopped: nothing is half-way, and a restart has nothing to observe again."""
        engine = self._engine
        if self._snapshot is not None:
            self._snapshot.kill()
            self._snapshot.wait()
        fresh = engine.log.tail.event > last_event_of_newest(engine.folder)
        if fresh and not self._batcher.lost:
            with suppress(KeatError):  # a full disk: the log has it all
                engine.snapshot()
