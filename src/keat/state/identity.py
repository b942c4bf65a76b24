"""Who is who, as vectors: a fixed random encoding of node numbers, without a table."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


class NodeIdentity(nn.Module):
    """id(n) = √2 cos(w n + b) with fixed w ~ U(-π, π), b ~ U(0, 2π), one of each a coordinate.

    The mean over w of cos(w (m - n)) is sin(π (m - n)) / (π (m - n)), which is 0 for different whole
    numbers: encodings of different nodes are orthogonal but for chance. A node that nobody has seen has its
    encoding already, and there is nothing to learn or to keep a node.
    """

    frequency: Tensor
    phase: Tensor

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim
        # Node numbers go into the millions: phases in float64, kept with the parameters.
        self.register_buffer("frequency", (2 * torch.rand(dim, dtype=torch.float64) - 1) * math.pi)
        self.register_buffer("phase", 2 * math.pi * torch.rand(dim, dtype=torch.float64))

    def forward(self, nodes: Tensor) -> Tensor:
        """(n,) → (n, dim)."""
        angle = nodes[:, None] * self.frequency + self.phase
        return (math.sqrt(2) * torch.cos(angle)).float()
