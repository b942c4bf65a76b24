"""Errors as HTTP says them: a status, and one sentence."""

from __future__ import annotations

from keat.disk import reason_of
from keat.errors import KeatError
from keat.serve.batching import BusyError
from keat.serve.limits import TooManyError
from keat.serve.log import LogDamagedError, LogWriteError
from keat.serve.micro_batch import ConflictError
from keat.serve.reading import NotJsonError, TooLargeError

RETRY = {"retry-after": "1"}
STATUS: tuple[tuple[type[KeatError], int], ...] = (
    (NotJsonError, 400),
    (TooLargeError, 413),
    (ConflictError, 409),
    (BusyError, 429),
    (TooManyError, 429),
    (LogWriteError, 503),
    (LogDamagedError, 500),
    (KeatError, 422),
)


class RefusedError(KeatError):
    """A request that is answered with a status of its own."""

    def __init__(self, status: int, sentence: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status, self.headers = status, headers or {}


def refusal_of(error: Exception) -> RefusedError:
    if isinstance(error, RefusedError):
        return error
    for kind, status in STATUS:
        if isinstance(error, kind):
            return RefusedError(status, str(error), RETRY if status in (429, 503) else None)
    return RefusedError(
        500, f"Something went wrong inside keat ({type(error).__name__}: {reason_of(error)})."
    )
