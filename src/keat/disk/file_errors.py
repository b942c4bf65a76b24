"""What the system says of a file, in one sentence: what could not be done, why, and what to do."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from keat.errors import CacheError, InputError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, None)  # the last of numpy, when not all could be written
ELSEWHERE = "choose another place"
FORBIDDEN = (errno.EACCES, errno.EPERM)


@contextmanager
def writing(path: Path, otherwise: str = ELSEWHERE) -> Iterator[None]:
    """Failures to write ``path``; ``otherwise`` is what helps where nothing else does."""
    try:
        yield
    except OSError as error:
        first = "free some space, or " if error.errno in FULL else ""
        first = "make it writable, or " if error.errno in FORBIDDEN else first
        raise CacheError(f"Cannot write {path} ({reason_of(error)}); {first}{otherwise}.") from error


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Failures to read ``path``; that it is not there is for the caller to say."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: OSError) -> InputError:
    return InputError(f"Cannot read {path} ({reason_of(error)}); check its rights.")


def reason_of(error: BaseException) -> str:
    """What an error says, on one line."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    if isinstance(error, OSError) and error.errno and "Detail:" in str(text):  # Arrow says it all, and twice
        text = os.strerror(error.errno)
    return " ".join(str(text).split()).rstrip(".")[:200]
