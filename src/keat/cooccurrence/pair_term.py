"""`PairTerm`: the numbers of a pair to one logit, by a small network. For any model, or as one by itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from keat.cooccurrence.columns import (
    PAIR_SINGLE,
    PAIR_SUMS,
    SHARE,
    SOURCE_SINGLE,
    SOURCE_SUMS,
    SUM,
    Columns,
    Scale,
    scales,
)
from keat.cooccurrence.widths import LearnedWidths

TINY = 1e-6  # of a kernel sum: what has faded so far has no share


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """What `KernelCooccurrence` reads for B questions of C candidates."""

    source: Tensor  # (B, Columns.source)
    pair: Tensor  # (B, C, Columns.pair)

    def to(self, device: torch.device) -> Numbers:
        return Numbers(self.source.to(device), self.pair.to(device))


class PairTerm(nn.Module):
    """logit(u, v) = MLP(log of all numbers), with two hidden layers.

    The source's own numbers enter the first layer once a question, the pair's once a candidate. To the sums
    of the pair come their shares, of the source's and of the candidate's sum of the same kernel.
    """

    def __init__(self, widths: npt.NDArray[np.float64], learned: int | None = None, hidden: int = 64) -> None:
        """``learned`` kernels placed freely on the grid of ``widths``; else the grid's own."""
        super().__init__()
        self.columns = Columns(len(widths))
        self.mix = LearnedWidths(widths, learned) if learned is not None else None
        kernels = len(widths) if learned is None else learned
        self.source_scale = _Squash(len(SOURCE_SUMS) * kernels, 0, SOURCE_SINGLE)
        self.pair_scale = _Squash(len(PAIR_SUMS) * kernels, 2 * kernels, PAIR_SINGLE)
        self.lin_source = nn.Linear(self.source_scale.size, hidden)
        self.lin_pair = nn.Linear(self.pair_scale.size, hidden, bias=False)
        self.lin_hidden = nn.Linear(hidden, hidden)
        self.lin_out = nn.Linear(hidden, 1, bias=False)  # one number more for all candidates ranks nobody

    def forward(self, numbers: Numbers) -> Tensor:
        """Logits (B, C)."""
        source = self.lin_source(self.source_scale(*self._sums(numbers.source, len(SOURCE_SUMS))))
        sums, single = self._sums(numbers.pair, len(PAIR_SUMS))
        met, _, to_candidate, _ = sums.unbind(dim=-2)  # in the order of PAIR_SUMS, (B, C, M) each
        by_source = self._sums(numbers.source, len(SOURCE_SUMS))[0][:, None, 0]
        shares = torch.cat((met / (by_source + TINY), met / (to_candidate + TINY)), dim=-1)
        pair = self.lin_pair(self.pair_scale(sums, single, shares))
        hidden = functional.relu(pair + source[:, None])
        hidden = functional.relu(self.lin_hidden(hidden))
        logits: Tensor = self.lin_out(hidden)[..., 0]
        return logits

    def _sums(self, numbers: Tensor, groups: int) -> tuple[Tensor, Tensor]:
        """Kernel sums (…, groups, M) and the single numbers after them."""
        sums, single = numbers.tensor_split([groups * self.columns.kernels], dim=-1)
        sums = sums.view(*sums.shape[:-1], groups, self.columns.kernels)
        return sums if self.mix is None else self.mix(sums), single


class _Squash(nn.Module):
    """y = g·log(1 + k·x) of sums, shares and single numbers, side by side."""

    inner: Tensor
    gain: Tensor

    def __init__(self, sums: int, shares: int, single: dict[str, Scale]) -> None:
        super().__init__()
        inner, gain = scales({str(i): SUM for i in range(sums)} | {f"s{i}": SHARE for i in range(shares)})
        more_inner, more_gain = scales(single)
        self.size = sums + shares + len(single)
        self.register_buffer("inner", torch.from_numpy(np.append(inner, more_inner)), persistent=False)
        self.register_buffer("gain", torch.from_numpy(np.append(gain, more_gain)), persistent=False)

    def forward(self, sums: Tensor, single: Tensor, shares: Tensor | None = None) -> Tensor:
        parts = (sums.flatten(-2), single) if shares is None else (sums.flatten(-2), shares, single)
        return self.gain * torch.log1p(self.inner * torch.cat(parts, dim=-1))
