"""Widths of the kernels: a geometric grid around σ, and points on it that are learned."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

RATIO = 4.0  # between neighbouring widths
SHORTEST = -5  # the first width is σ·4⁻⁵: a minute or so where σ is a day
BUMP = 0.5  # how far a learned kernel spreads over the grid, in steps of it


def geometric_widths(sigma: float, number: int = 8) -> npt.NDArray[np.float64]:
    """σ·4⁻⁵, σ·4⁻⁴, … in the unit of σ; eight of them reach from σ/1024 to 16 σ."""
    return sigma * RATIO ** np.arange(SHORTEST, SHORTEST + number, dtype=np.float64)


class LearnedWidths(nn.Module):
    """J kernels, each a bump of the grid's exponentials around a learned place p_j:

        ψ_j(Δ) = Σ_m w_jm exp(-Δ/σ_m),    w_j = softmax_m(-(m - p_j)² / 2b²)

    Because the sums over past events are linear in the kernel, those of ψ_j are mixed from those kept for
    the grid, exactly, whatever p_j has become; the state need not know. A single exponential of a width
    between two of the grid could not be had this way, so ψ_j is a little wider than one: its ``width`` is
    the age at which it has fallen to 1/e.
    """

    grid: Tensor  # (M,)

    def __init__(self, grid: npt.NDArray[np.float64], number: int) -> None:
        super().__init__()
        self.register_buffer("grid", torch.as_tensor(grid), persistent=False)
        self.place = nn.Parameter(torch.linspace(0, len(grid) - 1, number + 2)[1:-1].clone())

    def weights(self) -> Tensor:
        """w, (J, M)."""
        steps = torch.arange(len(self.grid), device=self.place.device) - self.place[:, None]
        return torch.softmax(-(steps**2) / (2 * BUMP**2), dim=1)

    def forward(self, sums: Tensor) -> Tensor:
        """Kernel sums (…, M) of the grid to those of ψ (…, J)."""
        return sums @ self.weights().T

    @torch.no_grad()
    def widths(self) -> list[float]:
        """The age at which each ψ_j has fallen to 1/e, by bisection (ψ never rises)."""
        weights = self.weights().double()
        low, high = self.grid[0].log().expand(len(weights)), (self.grid[-1].log() + 1).expand(len(weights))
        for _ in range(60):
            middle = (low + high) / 2
            psi = (weights * torch.exp(-middle.exp()[:, None] / self.grid)).sum(dim=1)
            above = psi > 1 / math.e
            low, high = torch.where(above, middle, low), torch.where(above, high, middle)
        return [float(width) for width in low.exp()]
