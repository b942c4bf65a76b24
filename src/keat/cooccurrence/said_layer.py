"""A layer on what past events said: fading means of their features, by how far they are from usual."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

PRIOR = 1.0  # events that say what is usual, mixed into each mean: little or old evidence says little


class SaidLayer(nn.Module):
    """For each feature f, kind of sum and width:

        x = asinh((S - μ W) / (s (W + 1)))

    the mean Σ f w / Σ w less what is usual in training, in usual deviations, and less where the weights are
    small. How many events there were says little in it; the counts are told beside it. It begins at zero, so
    training begins with the counts alone.
    """

    usual: Tensor  # (d,) μ
    gain: Tensor  # (d,) 1/s

    def __init__(self, kinds: int, features: int, kernels: int, hidden: int) -> None:
        super().__init__()
        self.register_buffer("usual", torch.zeros(features))
        self.register_buffer("gain", torch.ones(features))
        self.weight = nn.Parameter(torch.zeros(hidden, kinds * features * kernels))

    def look_at(self, features: npt.NDArray[np.float32]) -> None:
        """What is usual in training events (n, d)."""
        if len(features) == 0:
            return
        spread = torch.from_numpy(features.std(axis=0, dtype=np.float64))
        self.usual.copy_(torch.from_numpy(features.mean(axis=0, dtype=np.float64)))
        self.gain.copy_(torch.where(spread > 0, 1.0 / spread, 0.0))

    def forward(self, sums: Tensor) -> Tensor:
        """Of sums (…, kinds, d + 1, M)."""
        return functional.linear(self.seen(sums).flatten(-3), self.weight)

    def seen(self, sums: Tensor) -> Tensor:
        """What the layer weighs, (…, kinds, d, M)."""
        said, weights = sums[..., :-1, :], sums[..., -1:, :]
        away = said - self.usual[:, None] * weights
        return torch.asinh(away * self.gain[:, None] / (weights + PRIOR))
