"""Files, folders and names as they are found on a disk, where nothing is taken on trust.

A path is looked at before it is opened, since opening a pipe waits for ever. An array is mapped only if its
file is what it says it is. A name becomes part of a path only through `safe_name`.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tokenize
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from keat.errors import CacheError, InputError

LONGEST_NAME = 100  # bytes; file systems take 255, and a model, a seed and an ending come beside it
APART = frozenset('/\\:*?"<>|~')  # of paths, here or on another system; the last is kept for `safe_name`

# What numpy raises, by what is wrong: the disk, the header (which it evaluates), the size it promises.
NOT_AN_ARRAY = (
    OSError,
    ValueError,
    TypeError,
    EOFError,
    OverflowError,
    MemoryError,
    RecursionError,
    SyntaxError,
    tokenize.TokenError,
)


def safe_name(name: str) -> str:
    """``name`` as the name of one file or folder, which cannot lead anywhere else.

    An ordinary name stays as it is. In any other, what does not belong in a path is replaced, and a mark of
    the whole name follows, so that two names never become one.
    """
    plain = "".join(c if c.isprintable() and c not in APART else "_" for c in name)
    plain = plain.strip(" ")
    if plain[:1] in ("-", "."):  # an option, a hidden file, a way up
        plain = "_" + plain[1:]
    plain = plain.rstrip(".")  # which some systems drop in silence
    plain = plain.encode()[:LONGEST_NAME].decode(errors="ignore")
    if plain and plain == name:
        return plain
    mark = hashlib.blake2b(name.encode(errors="surrogatepass"), digest_size=4).hexdigest()
    return f"{plain}~{mark}" if plain else mark


def expanded(path: str | Path) -> Path:
    """With a home folder in place of ``~``."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:  # ~somebody who is not here
        raise InputError(f"{path} names a home folder that is not here ({error}); give the path.") from error


def look_at(path: Path) -> Literal["file", "folder"] | None:
    """What is at ``path``; None where there is nothing. Whatever can be neither is refused."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:  # a name too long, a folder that may not be entered, a zero byte
        raise InputError(f"Cannot use {path} ({reason_of(error)}); check the path and its rights.") from error
    if stat.S_ISDIR(mode):
        return "folder"
    if stat.S_ISREG(mode):
        return "file"
    raise InputError(f"{path} is neither a file nor a folder but a pipe or a device; give a plain file.")


def is_file(path: Path) -> bool:
    """Whether there is a file, which can be opened without waiting for anybody."""
    return look_at(path) == "file"


def map_array(path: Path) -> npt.NDArray[Any]:
    """The array in a ``.npy`` file, mapped into memory and read-only. Never unpickles.

    Raises `ValueError` with the reason where there is none; what the array holds is for the caller to check.
    """
    if not is_file(path):
        raise ValueError(f"{path.name} is missing")
    try:
        # The view drops numpy's memmap type, which makes every slice slower, and stays mapped.
        return np.lib.format.open_memmap(path, mode="r").view(np.ndarray)
    except PermissionError as error:
        raise InputError(f"Cannot read {path} ({reason_of(error)}); check its rights.") from error
    except NOT_AN_ARRAY as error:
        raise ValueError(f"{path.name} is not an array ({reason_of(error)})") from error


def require_place(path: Path) -> None:
    """A file can be written at ``path``, as far as can be told before: nothing but a file is there, and
    nothing but folders above."""
    if look_at(path) == "folder":
        raise InputError(f"{path} is a folder; name a file in it.")
    _require_folders_above(path)


def require_folder(path: Path) -> None:
    """The same for a folder that is there or can be made."""
    if look_at(path) == "file":
        raise InputError(f"{path} is a file; name a folder.")
    _require_folders_above(path)


def _require_folders_above(path: Path) -> None:
    above = next((folder for folder in path.parents if look_at(folder) is not None), None)
    if above is not None and look_at(above) == "file":
        raise InputError(f"Cannot write {path}, since {above} is a file and no folder; choose another place.")


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A file to write, which becomes ``path`` when it is whole; its folder is made. After a failure nothing
    is left of it, and what was at ``path`` before is there as it was."""
    require_place(path)
    path = path.resolve() if path.is_symlink() else path  # the link stays, and leads to the new file
    part = path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")  # the ending says what it is
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield part
        part.replace(path)
    except OSError as error:
        raise CacheError(
            f"Cannot write {path} ({reason_of(error)}); free space, or choose a place that can be written."
        ) from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def reason_of(error: BaseException) -> str:
    """What an error says, on one line."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    if isinstance(error, OSError) and error.errno and "Detail:" in str(text):  # Arrow says it all, and twice
        text = os.strerror(error.errno)
    return " ".join(str(text).split()).rstrip(".")[:200]
