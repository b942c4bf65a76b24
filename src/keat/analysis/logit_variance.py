"""Does a kernel make attention logits steadier? Var[X + ψY] beside Var[X + Y] (appendix E).

X is the node logit of a neighbour, Y its edge logit. The published theorem takes ψ as one number; it is
nearly always one of many, which adds a term that can only raise the variance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def variance_reduction(
    sigma_x: npt.ArrayLike, sigma_y: npt.ArrayLike, rho: npt.ArrayLike, psi: npt.ArrayLike
) -> Floats:
    """Var[X+Y] - Var[X+ψY] for one ψ: (1-ψ)[σ_Y²(1+ψ) + 2ρσ_Xσ_Y]."""
    x, y, r, p = (np.asarray(value, dtype=np.float64) for value in (sigma_x, sigma_y, rho, psi))
    return np.asarray((1 - p) * (y**2 * (1 + p) + 2 * r * x * y))


def is_guaranteed(sigma_x: float, sigma_y: float, psi: float) -> bool:
    """The paper's condition σ_Y(1+ψ) ≥ 2σ_X: sufficient at any ρ, and necessary only at ρ = -1."""
    return sigma_y * (1 + psi) >= 2 * sigma_x


@dataclass(frozen=True, slots=True)
class LogitMoments:
    """Of node logits X, edge logits Y and kernel weights ψ, over neighbours."""

    sigma_x: float
    sigma_y: float
    rho: float
    mean_y: float
    mean_psi: float
    sigma_psi: float

    def plain(self) -> float:
        """Var[X+Y] = σ_X² + σ_Y² + 2ρσ_Xσ_Y."""
        return self.sigma_x**2 + self.sigma_y**2 + 2 * self.rho * self.sigma_x * self.sigma_y

    def modulated_by_a_constant(self) -> float:
        """Var[X+ψY] if every ψ were its mean, as the theorem has it."""
        reduction = variance_reduction(self.sigma_x, self.sigma_y, self.rho, self.mean_psi)
        return self.plain() - float(reduction)

    def modulated(self) -> float:
        """Var[X+ψY] with ψ random but independent of (X, Y): the constant's, and Var[ψ]·E[Y²] more.

        E[Y²] = σ_Y² + μ_Y², so even edges that are all alike (σ_Y = 0) get unequal logits: the variance the
        kernel adds is the very difference between old and new that it is there to make.
        """
        return self.modulated_by_a_constant() + self.sigma_psi**2 * (self.sigma_y**2 + self.mean_y**2)


@dataclass(frozen=True, slots=True)
class LogitVariance:
    """What was measured on logits, and what the closed forms make of their moments."""

    moments: LogitMoments
    plain: float  # Var[X+Y]
    modulated: float  # Var[X+ψY]
    plain_within: float  # the same within a neighbourhood, averaged: all that a softmax can see
    modulated_within: float
    neighbors: int

    @property
    def ratio(self) -> float:
        """Var[X+ψY]/Var[X+Y]: below 1, the kernel reduces."""
        return self.modulated / self.plain

    @property
    def ratio_within(self) -> float:
        return self.modulated_within / self.plain_within


def measure(x: Floats, y: Floats, psi: Floats, group: npt.NDArray[np.integer]) -> LogitVariance:
    """Variances of the logits of m neighbours, (m,) each; ``group`` says whose neighbour each is."""
    x, y, psi = (np.asarray(values, dtype=np.float64) for values in (x, y, psi))
    plain, modulated = x + y, x + psi * y
    spread = float(x.std() * y.std())
    moments = LogitMoments(
        sigma_x=float(x.std()),
        sigma_y=float(y.std()),
        rho=float(np.mean((x - x.mean()) * (y - y.mean())) / spread) if spread > 0 else 0.0,
        mean_y=float(y.mean()),
        mean_psi=float(psi.mean()),
        sigma_psi=float(psi.std()),
    )
    return LogitVariance(
        moments,
        float(plain.var()),
        float(modulated.var()),
        _variance_within(plain, group),
        _variance_within(modulated, group),
        len(x),
    )


def _variance_within(values: Floats, group: npt.NDArray[np.integer]) -> float:
    """Mean square distance from the mean of one's own group."""
    _, place, size = np.unique(group, return_inverse=True, return_counts=True)
    mean = np.bincount(place, values) / size
    return float(np.mean((values - mean[place]) ** 2))


def correlated_reduction(cov_yy: Floats, cov_xy: Floats, psi: Floats) -> float:
    """Var[mean of X_j+Y_j] - Var[mean of X_j+ψ_jY_j] over n neighbours of any correlation,

        1/n² Σ_jl [(1 - ψ_jψ_l) Cov(Y_j, Y_l) + 2 (1 - ψ_l) Cov(X_j, Y_l)],

    with ``cov_xy[j, l]`` = Cov(X_j, Y_l). (The factor belongs to Y's own ψ; in print the indices of the two
    cross terms are exchanged, which is another number unless Cov(X_j, Y_l) = Cov(X_l, Y_j).)

    It is ≥ 0 where all these covariances are. The printed conditions leave out j = l, where Cov(X_j, Y_j) =
    ρσ_Xσ_Y may be negative: then the variance can rise although every condition holds.
    """
    n = len(psi)
    own = (1 - np.outer(psi, psi)) * cov_yy
    cross = 2 * (1 - psi)[None, :] * cov_xy
    return float((own + cross).sum() / n**2)
