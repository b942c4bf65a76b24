"""Ways to compile the few loops that array operations cannot express, or are slow at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt
import torch

Floats = npt.NDArray[np.floating[Any]]
Integers = npt.NDArray[np.int64]
F = TypeVar("F", bound=Callable[..., Any])
S = TypeVar("S", bound=np.generic)

DEVICES = frozenset({"cpu"})  # whose memory compiled loops can read


def compiled(function: F) -> F:
    """Compile to machine code on first use, kept on disk for the next process where possible."""
    return _compile(function)


def compiled_into(function: F) -> F:
    """The same for a piece of a loop, which becomes a part of every loop that calls it. A call would count
    references to each array that is handed over, which costs more than what most pieces do."""
    return _compile(function, forceinline=True)


def compiled_sums(function: F) -> F:
    """The same for float sums whose terms may be taken in any order, which vector instructions need.

    The order is that of the machine code: the same in every run on a machine, maybe another on another.
    """
    return _compile(function, fastmath={"reassoc", "contract", "nsz"})


def _compile(function: F, **options: Any) -> F:
    try:
        return cast(F, numba.njit(cache=True, nogil=True, **options)(function))
    except RuntimeError:  # no writable place for the cache: compile in every process instead
        return cast(F, numba.njit(nogil=True, **options)(function))


def frozen(array: npt.NDArray[S]) -> npt.NDArray[S]:
    """An array that a loop only reads, contiguous and not to be written to: the loop is compiled once, and
    not again for every mixture of slices, broadcast lists and columns of a stream."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def is_compilable(tensor: torch.Tensor) -> bool:
    """Whether compiled loops can read this tensor where it is."""
    return tensor.device.type in DEVICES and tensor.dtype in (torch.float32, torch.float64)


def arrays(*tensors: torch.Tensor) -> tuple[npt.NDArray[Any], ...]:
    """Tensors as compiled loops take them, without a copy."""
    return tuple((tensor.detach() if tensor.requires_grad else tensor).numpy() for tensor in tensors)
