"""Paths: what is there, what could be written there, and names that stay in their folder."""

from __future__ import annotations

import hashlib
import stat
from pathlib import Path
from typing import Literal

from keat.disk.saying import reason_of
from keat.errors import InputError

LONGEST_NAME = 100  # bytes; file systems take 255, and a model, a seed and an ending come beside it
APART = frozenset('/\\:*?"<>|~')  # of paths, here or on another system; the last is kept for `safe_name`


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
