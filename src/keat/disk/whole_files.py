"""Files and folders that are there as a whole or not at all, and one writer at a time.

What is being written is in a hidden folder beside its place (``.parts-…``), whatever the libraries that write
call it, and is moved in when it is whole. What a killed process leaves is there, too.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from keat.disk.file_errors import ELSEWHERE, writing
from keat.disk.file_paths import require_place
from keat.errors import CacheError, InputError

if TYPE_CHECKING:
    from filelock import FileLock

PARTS, LOCK = ".parts", ".lock"


@contextmanager
def new_file(path: Path, otherwise: str = ELSEWHERE) -> Iterator[Path]:
    """A file to write, which becomes ``path`` when it is whole, and stays; its folder is made. After a
    failure nothing is left of it, and what was at ``path`` before is there as it was."""
    require_place(path)
    path = path.resolve() if path.is_symlink() else path  # the link stays, and leads to the new file
    with _beside(path, otherwise) as part:
        part.touch()
        mode = stat.S_IMODE(part.stat().st_mode)
        yield part
        part.chmod(mode)  # safetensors' files would be for their owner alone
        sync(part)
        part.replace(path)
        sync(path.parent)


def write_text(path: Path, text: str, otherwise: str = ELSEWHERE) -> None:
    with new_file(path, otherwise) as part:
        part.write_text(text, encoding="utf-8")


@contextmanager
def new_folder(folder: Path, otherwise: str = ELSEWHERE, *, replace: bool = False) -> Iterator[Path]:
    """A folder to fill, which becomes ``folder`` when it is whole. One that is there already, since another
    process was quicker, stays, unless it is to be replaced."""
    with _beside(folder, otherwise) as part:
        part.mkdir()
        yield part
        if replace and folder.exists():
            folder.rename(part.with_name(f"{part.name}.replaced"))
        try:
            part.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise


@contextmanager
def _beside(path: Path, otherwise: str) -> Iterator[Path]:
    """A path of the same name on the same disk, of which nothing is left in the end; nor of the folders
    above, where they were made for nothing."""
    made = make_folder(path.parent, otherwise)
    try:
        with writing(path, otherwise):
            parts = Path(tempfile.mkdtemp(prefix=f"{PARTS}-", dir=path.parent))
            try:
                yield parts / path.name
            finally:
                shutil.rmtree(parts, ignore_errors=True)
    except BaseException:
        remove_folders(made)
        raise


def remove_parts(folder: Path) -> None:
    """What a killed writer left half-written."""
    for parts in folder.glob(f"{PARTS}*"):
        shutil.rmtree(parts, ignore_errors=True)


def make_folder(folder: Path, otherwise: str = ELSEWHERE) -> list[Path]:
    """Make a folder; returns those that were not there, the innermost first."""
    with writing(folder, otherwise):
        missing = [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
    return missing


def remove_folders(made: list[Path]) -> None:
    """Remove the folders that `make_folder` made, where nothing is in them."""
    with suppress(OSError):
        for folder in made:
            folder.rmdir()


def lock_folder(folder: Path, busy: str, otherwise: str = ELSEWHERE, seconds: float = -1) -> FileLock:
    """The right to write to a folder, waited for as long as it takes, or for some seconds: then it is
    ``busy``. The system takes it back from a process that ends, however it does."""
    from filelock import FileLock, Timeout  # brings asyncio: only where something is written

    lock = FileLock(folder / LOCK, thread_local=False)
    try:
        with writing(folder, otherwise):
            lock.acquire(timeout=seconds)
    except CacheError as error:
        if isinstance(error.__cause__, Timeout):
            raise InputError(busy) from None
        raise
    return lock


def sync(path: Path) -> None:
    """Bring a file to the disk itself, so that it is there before another file says so; or the names in a
    folder, where a folder can be opened."""
    if path.is_dir() and os.name != "posix":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
