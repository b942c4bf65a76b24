"""Arrays that grow without being copied, so that a model which is serving never stops to make room.

A large array is given addresses for as many rows as the machine has memory for. Addresses cost nothing:
memory comes when it is first touched. Growing is then to look at more of the same. What is not looked at yet
may not be written, so that it does not count where the system limits a program's data (``ulimit -d``). Small
arrays are copied when they grow, which takes no time to speak of, and so are large ones where the system
gives no addresses ahead (``ulimit -v``): there it is a pause, and nothing else differs.
"""

from __future__ import annotations

import ctypes
import math
import mmap
import os
import sys
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Array = npt.NDArray[Any]
LARGE = 4 << 20  # bytes from which on an array is given addresses ahead: what is copied in a millisecond
STEP = 2 << 20  # bytes that a large array grows by at least
SHARE = 8  # one over the part of the addresses, where these are limited, that one array is given ahead
PAGE = STEP  # of the largest kind: what is opened begins and ends with one
NOT_TO_BE_USED, HUGE_PAGES = 0, 14  # PROT_NONE and MADV_HUGEPAGE of Linux


class _Ahead:
    """Addresses given to one array, of which so many bytes as have been shown may be used."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.shown = 0  # bytes that a view has shown so far; those behind it have never been touched
        self._open = 0  # bytes that may be read and written
        self._mapped = size + PAGE
        private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
        start = _system().mmap(None, self._mapped, NOT_TO_BE_USED, private, -1, 0)
        if start in (None, ctypes.c_void_p(-1).value):
            raise OSError("the system gives no addresses ahead")
        self._start = start
        self.address = -(-start // PAGE) * PAGE
        _system().madvise(self.address, size, HUGE_PAGES)  # what random places wait for most: finding a page

    def show(self, size: int) -> None:
        """So many bytes may be used."""
        wanted = min(-(-size // PAGE) * PAGE, self._start + self._mapped - self.address)
        if wanted > self._open:
            if _system().mprotect(self.address, wanted, mmap.PROT_READ | mmap.PROT_WRITE):
                raise MemoryError(f"there is no memory for {size} bytes")
            self._open = wanted
        self.shown = size

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {"version": 3, "shape": (self.shown,), "typestr": "|u1", "data": (self.address, False)}

    def __del__(self) -> None:
        if hasattr(self, "_start"):
            _system().munmap(self._start, self._mapped)


@cache
def _system() -> ctypes.CDLL:
    """Calls that Python's own maps do not have."""
    system = ctypes.CDLL(None, use_errno=True)
    size, address, number = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int
    system.mmap.restype = address
    system.mmap.argtypes = [address, size, number, number, number, ctypes.c_long]
    for call in (system.mprotect, system.madvise):
        call.argtypes = [address, size, number]
    system.munmap.argtypes = [address, size]
    return system


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
    if ahead is not None and array.nbytes == ahead.shown and rows * row <= ahead.size:
        more = min(len(array) // 2, STEP // row, (ahead.size - array.nbytes) // row)
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
    ahead.show(_size(shape, dtype))
    return np.asarray(ahead).view(dtype).reshape(shape)


def _addresses_of(array: Array) -> _Ahead | None:
    base = array.base
    while isinstance(base, np.ndarray):
        base = base.base
    return base if isinstance(base, _Ahead) else None


def _ahead(size: int) -> _Ahead | None:
    """Addresses for an array of at least so many bytes; None where there are none to spare."""
    if sys.platform != "linux":
        return None
    import resource  # Linux has it

    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    most = memory if limit == resource.RLIM_INFINITY else min(memory, limit // SHARE)
    try:
        return _Ahead(max(2 * size, most))
    except OSError:
        return None
