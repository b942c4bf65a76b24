"""Columns of a stream as tensors, without a copy and without a warning."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

# Streams are read-only, which torch has no notion of and warns about, once a process. Nothing in keat
# writes to such a tensor, so the warning is used up here.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    _silence = np.zeros(1)
    _silence.flags.writeable = False
    torch.from_numpy(_silence)


def as_tensor(column: npt.NDArray[Any], device: torch.device | None = None) -> Tensor:
    """A column as a tensor; on the CPU it shares the column's memory and must not be written to."""
    return torch.as_tensor(column, device=device)
