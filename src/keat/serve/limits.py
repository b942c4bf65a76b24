"""What a client may ask of the service, and how much of it."""

from __future__ import annotations

import time
from dataclasses import dataclass

from keat.errors import KeatError

MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one request, and of all clients together."""

    body: int = 16 * MEGABYTE
    events: int = 20_000  # of one request
    pairs: int = 10_000  # of one question
    new_ids: int = 10_000  # nodes that may join in a second


class TooManyError(KeatError):
    """A client is to wait before it sends more."""


class NewIds:
    """How many nodes may still join: so many in a second, and what was not used of the last second."""

    def __init__(self, a_second: int) -> None:
        self.a_second = a_second
        self._left, self._when = float(a_second), time.monotonic()

    def take(self, number: int) -> None:
        now = time.monotonic()
        self._left = min(self.a_second, self._left + (now - self._when) * self.a_second)
        self._when = now
        if number > self._left and number > 0:
            raise TooManyError(
                f"{number:,} new nodes at once are more than the {self.a_second:,} a second that may join; "
                "send fewer events, or raise --new-ids."
            )
        self._left -= number
