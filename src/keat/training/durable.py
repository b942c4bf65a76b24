"""Files of a run: each is whole or not there, one process at a time writes, and failures are named.

A file is written in a folder beside its place (``.parts``), brought to the disk, and moved in. What a killed
process leaves is in ``.parts``, whatever the libraries that write call it.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout
from safetensors import SafetensorError

from keat.errors import CacheError, InputError

PARTS, LOCK = ".parts", ".lock"
WAIT = 2.0  # seconds for a lock: a process that is being ended needs a moment

_REASONS = {
    errno.ENOSPC: "no space left on the device; free some and go on with --resume, or choose another --out",
    errno.EDQUOT: "your quota is used up; free some and go on with --resume, or choose another --out",
    errno.EACCES: "permission denied; ask its owner, or choose another --out",
    errno.EPERM: "permission denied; ask its owner, or choose another --out",
    errno.EROFS: "the file system is read-only; choose another --out",
}


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Failures to write ``path``, said as what they are."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        reason = _REASONS.get(_number(error), f"{_text(error)}; choose another --out")
        raise CacheError(f"Cannot write {path}: {reason}.") from error


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """The same for reading; that a file is not there is for the caller to say."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:
        denied = error.errno in (errno.EACCES, errno.EPERM)
        reason = "permission denied; ask its owner" if denied else _text(error)
        raise InputError(f"Cannot read {path}: {reason}.") from error


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """What ``write`` writes to the path it is given is at ``path`` at once, and stays there."""
    part = path.parent / PARTS / path.name
    with writing(path):
        part.parent.mkdir(exist_ok=True)
        part.unlink(missing_ok=True)
        part.touch()
        mode = stat.S_IMODE(part.stat().st_mode)
        write(part)
        part.chmod(mode)  # safetensors' files would be for their owner alone
        _sync(part)
        part.replace(path)
        _sync(path.parent)


def write_text(path: Path, text: str) -> None:
    write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))


def remove_parts(folder: Path) -> None:
    """What a writer left half-written."""
    shutil.rmtree(folder / PARTS, ignore_errors=True)


def make_folder(folder: Path) -> list[Path]:
    """Make a folder; returns those that were not there, the innermost first."""
    with writing(folder):
        missing = [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
    return missing


def lock_folder(folder: Path) -> FileLock:
    """The right to write to a folder. The system takes it back from a process that ends, however it does."""
    lock = FileLock(folder / LOCK, thread_local=False)
    try:
        with writing(folder):
            lock.acquire(timeout=WAIT)
    except CacheError as error:
        if isinstance(error.__cause__, Timeout):
            raise InputError(
                f"{folder} is being trained by another process; wait for it or choose another --out."
            ) from None
        raise
    return lock


def _sync(path: Path) -> None:
    """To the disk itself, so that a file is there before another file says so."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _number(error: OSError | SafetensorError) -> int:
    """The system's number of an error; safetensors has it in its text alone."""
    if isinstance(error, OSError):
        return error.errno or 0
    found = re.search(r"os error (\d+)", str(error))
    return int(found[1]) if found else 0


def _text(error: OSError | SafetensorError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error).rstrip(".")
