"""The Poincaré ball of curvature -1, by vectors tangent at its origin.

Everything that is learned or remembered is such a vector u, which may be any; the point is exp₀(u). So
ordinary steps of Adam are sound, and no parameter has to be kept inside of the ball.
"""

from __future__ import annotations

import torch
from torch import Tensor

TINY = 1e-7
RIM = 1 - 1e-5  # the largest norm of a point in float32
SMALL = 1e-3  # below it a series is exact in float32


def exp_0(u: Tensor) -> Tensor:
    """tanh(|u|) u/|u|, the point that a tangent vector leads to."""
    norm = u.norm(dim=-1, keepdim=True).clamp(min=TINY)
    point: Tensor = torch.tanh(norm).clamp(max=RIM) / norm * u
    return point


def log_0(x: Tensor) -> Tensor:
    """artanh(|x|) x/|x|, the tangent vector that leads to a point."""
    norm = x.norm(dim=-1, keepdim=True).clamp(min=TINY, max=RIM)
    tangent: Tensor = torch.atanh(norm) / norm * x
    return tangent


def mobius_add(x: Tensor, y: Tensor) -> Tensor:
    """x ⊕ y = ((1 + 2 x·y + |y|²) x + (1 - |x|²) y) / (1 + 2 x·y + |x|²|y|²)"""
    dot, x2, y2 = ((a * b).sum(-1, keepdim=True) for a, b in ((x, y), (x, x), (y, y)))  # (..., 1)
    return ((1 + 2 * dot + y2) * x + (1 - x2) * y) / (1 + 2 * dot + x2 * y2).clamp(min=TINY)


def squared_distance(x: Tensor, y: Tensor) -> Tensor:
    """d² with cosh d = 1 + δ, δ = 2 |x - y|² / ((1 - |x|²)(1 - |y|²)).

    d itself has no slope where the points meet, but d² = 2δ - δ²/3 + 4δ³/45 - … has, so it is used there."""
    gap = (x - y).square().sum(-1)
    room = (1 - x.square().sum(-1)) * (1 - y.square().sum(-1))
    delta = 2 * gap / room.clamp(min=TINY)
    near = delta * (2 - delta * (1 / 3 - 4 / 45 * delta))
    safe = delta.clamp(min=SMALL)
    far = torch.log1p(safe + torch.sqrt(safe * (safe + 2))).square()
    return torch.where(delta < SMALL, near, far)
