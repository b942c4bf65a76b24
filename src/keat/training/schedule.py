"""How the learning rate goes over the course of training."""

from __future__ import annotations

import math
from typing import Literal, get_args

Schedule = Literal["constant", "one-cycle"]
SCHEDULES: tuple[Schedule, ...] = get_args(Schedule)
RISE = 0.25  # share of training in which the rate rises
LOWEST = 0.04  # where it rises from


def one_cycle(share: float) -> float:
    """The rate as a part of the largest, after a ``share`` of all training: it rises in a straight line and
    then falls to nothing along a cosine."""
    if share < RISE:
        return LOWEST + (1 - LOWEST) * share / RISE
    return 0.5 + 0.5 * math.cos(math.pi * (share - RISE) / (1 - RISE))
