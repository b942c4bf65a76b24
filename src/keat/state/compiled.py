"""One way to compile the few loops that array operations cannot express."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile to machine code on first use, kept on disk for the next process where possible."""
    try:
        return cast(F, numba.njit(cache=True, nogil=True)(function))
    except RuntimeError:  # no writable place for the cache: compile in every process instead
        return cast(F, numba.njit(nogil=True)(function))
