"""Compiled loops on torch's own threads.

A loop compiled by numba runs on one core. Threads of its own would not help: after each parallel operation
torch's OpenMP workers go on spinning for the next, and keep the other cores busy. So long loops are handed to
these workers, through the runtime that came with torch. Where it is not GNU's (or torch has one thread),
loops run as they are.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

WORTHWHILE = 1 << 20  # multiplications: handing over a loop takes about a tenth of a millisecond
Entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def over_rows(loop: Callable[..., None], rows: int, work: int, *arguments: Any) -> None:
    """``loop(first, last, *arguments)`` over range(rows), cut into a piece for each thread.

    ``work`` is a rough number of multiplications. The loop must release the GIL, and its pieces must not
    write to the same place.
    """
    over_pieces(loop, [(first, last, *arguments) for first, last in cuts(rows, pieces_for(work))])


def over_pieces(loop: Callable[..., None], pieces: list[tuple[Any, ...]]) -> None:
    """``loop(*piece)`` for each piece, side by side.

    Where the team is smaller than asked, as with OMP_THREAD_LIMIT or within another parallel region, its
    threads take several pieces.
    """
    runtime = _runtime()
    if len(pieces) == 1 or runtime is None:
        for piece in pieces:
            loop(*piece)
        return
    errors: list[BaseException] = []

    def work_on_mine(_: int | None) -> None:
        try:
            for piece in pieces[runtime.omp_get_thread_num() :: runtime.omp_get_num_threads()]:
                loop(*piece)
        except BaseException as error:  # must not pass through the runtime
            errors.append(error)

    runtime.GOMP_parallel(Entry(work_on_mine), None, len(pieces), 0)
    if errors:
        raise errors[0]


def pieces_for(work: int) -> int:
    """How many threads so much work is worth."""
    return max(1, min(torch.get_num_threads(), work // WORTHWHILE)) if _runtime() is not None else 1


def cuts(rows: int, pieces: int) -> list[tuple[int, int]]:
    """range(rows) in equal pieces, as (first, last)."""
    edges = [rows * piece // pieces for piece in range(pieces + 1)]
    return list(pairwise(edges))


@cache
def _runtime() -> Any:
    """GNU OpenMP as torch has loaded it, or None."""
    path = Path(torch.__file__).parent / "lib" / "libgomp.so.1"
    try:
        runtime = ctypes.CDLL(str(path))
        runtime.GOMP_parallel.argtypes = (Entry, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint)
        runtime.GOMP_parallel.restype = None
        runtime.omp_get_thread_num.restype = runtime.omp_get_num_threads.restype = ctypes.c_int
    except (OSError, AttributeError):
        return None
    return runtime
