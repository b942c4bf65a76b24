"""Arrays that grow without being copied, so that a model which is serving never stops to make room.

A large array is given addresses for as many rows as the machine has memory for. Addresses cost nothing:
memory comes when it is first touched. Growing is then to look at more of the same. Small arrays are copied
when they grow, which takes no time to speak of, and so are large ones where the system gives no addresses
ahead (``ulimit -v``, strict overcommit): there it is a pause, and nothing else differs.
"""

from __future__ import annotations

import math
import mmap
import os
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Array = npt.NDArray[Any]
LARGE = 4 << 20  # bytes from which on an array is given addresses ahead: what is copied in a millisecond
STEP = 2 << 20  # bytes that a large array grows by at least
SHARE = 8  # one over the part of the addresses, where these are limited, that one array is given ahead


class _Ahead(mmap.mmap):
    """Addresses given to one array."""

    shown = 0  # bytes that a view has shown so far; those behind it have never been touched


def zeros(shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
    """As of numpy, but for how it grows."""
    dtype = np.dtype(dtype)
    size = _size(shape, dtype)
    ahead = _ahead(size) if size >= LARGE else None
    return np.zeros(shape, dtype) if ahead is None else _view(ahead, shape, dtype)


def lengthened(array: Array, rows: int) -> Array:
    """The same with at least so many rows, those that are new all zero, and half as many again where growing
    copies. It may be the same memory: whoever grows an array lets go of what it was before."""
    if rows <= len(array):
        return array
    ahead, row = _addresses_of(array), _size(array.shape[1:], array.dtype)
    if ahead is not None and array.nbytes == ahead.shown and rows * row <= len(ahead):
        more = min(len(array) // 2, STEP // row, (len(ahead) - array.nbytes) // row)
        return _view(ahead, (max(rows, len(array) + more), *array.shape[1:]), array.dtype)
    longer = zeros((max(rows, len(array) * 3 // 2), *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


class Rooms:
    """Where the tensors of a module have room to grow, by name. A copy of the module has rooms of its own."""

    def __init__(self) -> None:
        self._arrays: dict[str, Array] = {}

    def __reduce__(self) -> tuple[type[Rooms], tuple[()]]:
        return Rooms, ()

    def lengthened(self, name: str, tensor: Tensor, rows: int, fill: Tensor | float = 0) -> Tensor:
        """A tensor with so many rows, those that are new as ``fill`` says."""
        old = len(tensor)
        if rows <= old:
            return tensor
        if tensor.device.type == "cpu":
            array = self._arrays.get(name)
            if array is None or array.ctypes.data != tensor.data_ptr() or len(array) < old:
                array = tensor.numpy()
            array = self._arrays[name] = lengthened(array, rows)
            longer = torch.from_numpy(array[:rows])
        else:
            longer = tensor.new_empty((rows, *tensor.shape[1:]))
            longer[:old] = tensor
        longer[old:] = fill
        return longer


def _size(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    return dtype.itemsize * math.prod(shape)


def _view(ahead: _Ahead, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    array = np.ndarray(shape, dtype, buffer=ahead)
    ahead.shown = array.nbytes
    return array


def _addresses_of(array: Array) -> _Ahead | None:
    base = array.base
    base = base.obj if isinstance(base, memoryview) else base
    return base if isinstance(base, _Ahead) else None


def _ahead(size: int) -> _Ahead | None:
    """Addresses for an array of at least so many bytes; None where there are none to spare."""
    if not hasattr(mmap, "MAP_ANONYMOUS"):
        return None
    import resource  # where there are such maps, there is this

    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    most = memory if limit == resource.RLIM_INFINITY else min(memory, limit // SHARE)
    try:
        ahead = _Ahead(-1, max(2 * size, most), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError:
        return None
    with suppress(AttributeError, OSError):  # not all systems have huge pages
        ahead.madvise(mmap.MADV_HUGEPAGE)  # far fewer of them to find: what random places wait for most
    return ahead
