"""Two vectors into one: the layer that TGAT ends with, and the decoder of pairs of DyGLib's models."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class MergeLayer(nn.Module):
    """W₂ ReLU(W₁ [a ‖ b] + b₁) + b₂.

    W₁ [a ‖ b] is a sum of two products, so where a is paired with many b, each is projected once.
    """

    def __init__(self, first_dim: int, second_dim: int, hidden_dim: int, out_dim: int) -> None:
        super().__init__()
        self.first_dim = first_dim
        self.fc1 = nn.Linear(first_dim + second_dim, hidden_dim)
        self.fc2 = nn.Linear(hidden_dim, out_dim)

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """(..., first_dim) and (..., second_dim) → (..., out_dim)"""
        return self.join(self.project_first(first), self.project_second(second))

    def project_first(self, first: Tensor) -> Tensor:
        return functional.linear(first, self.fc1.weight[:, : self.first_dim], self.fc1.bias)

    def project_second(self, second: Tensor) -> Tensor:
        return functional.linear(second, self.fc1.weight[:, self.first_dim :])

    def join(self, first: Tensor, second: Tensor) -> Tensor:
        """The rest of the way from two projections."""
        out: Tensor = self.fc2(torch.relu(first + second))
        return out
