"""Arrays in files, mapped only if a file is what it says it is."""

from __future__ import annotations

import tokenize
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from keat.disk.paths import is_file
from keat.disk.saying import reason_of, unreadable

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
        raise unreadable(path, error) from error
    except NOT_AN_ARRAY as error:
        raise ValueError(f"{path.name} is not an array ({reason_of(error)})") from error
