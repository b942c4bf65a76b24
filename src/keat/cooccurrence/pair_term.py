"""`PairTerm`: the numbers of a pair to one logit, by a small network. For any model, or as one by itself."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from keat.cooccurrence.pair_columns import (
    EDITIONS,
    GROUPS,
    PAIR_SUMS,
    SOURCE_SUMS,
    Scale,
    pair_single,
    source_single,
)
from keat.cooccurrence.widths import LearnedWidths


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """What `KernelCooccurrence` reads for B questions of C candidates."""

    source: Tensor  # (B, Columns.source)
    pair: Tensor  # (B, C, Columns.pair)

    def to(self, device: torch.device) -> Numbers:
        return Numbers(self.source.to(device), self.pair.to(device))


class PairTerm(nn.Module):
    """logit(u, v) = MLP(log(1 + numbers)), with two hidden layers.

    The source's own numbers enter the first layer once a question, the pair's once a candidate.
    """

    def __init__(
        self,
        widths: npt.NDArray[np.float64],
        learned: int | None = None,
        hidden: int = 64,
        without: Collection[str] = (),
        edition: int = EDITIONS,
    ) -> None:
        """``learned`` kernels placed freely on the grid of ``widths``; else the grid's own. Of the numbers of
        an ``edition``, the groups ``without`` are not looked at."""
        super().__init__()
        self.mix = LearnedWidths(widths, learned) if learned is not None else None
        unseen = {name for group in without for name in GROUPS[group]}
        used = len(widths) if learned is None else learned
        self.lin_source = _LogLinear(SOURCE_SUMS, source_single(edition), used, hidden, unseen)
        self.lin_pair = _LogLinear(PAIR_SUMS, pair_single(edition), used, hidden, unseen)
        self.lin_hidden = nn.Linear(hidden, hidden)
        self.lin_out = nn.Linear(hidden, 1)

    def forward(self, numbers: Numbers) -> Tensor:
        """Logits (B, C)."""
        return self.judge(self.mixed(numbers))

    def mixed(self, numbers: Numbers) -> Numbers:
        """With kernel sums of the widths in use, the learned ones if there are such."""
        if self.mix is None:
            return numbers
        return Numbers(
            _mixed(numbers.source, len(SOURCE_SUMS), self.mix), _mixed(numbers.pair, len(PAIR_SUMS), self.mix)
        )

    def judge(self, numbers: Numbers) -> Tensor:
        """Logits (B, C) of `mixed` numbers."""
        hidden = self.lin_pair(numbers.pair) + self.lin_source(numbers.source)[:, None]
        hidden = self.lin_hidden(hidden.relu_()).relu_()
        logits: Tensor = self.lin_out(hidden)[..., 0]
        return logits


class _LogLinear(nn.Module):
    """A linear layer on g·log(1 + x), for x whose kernel sums were mixed if widths are learned."""

    gain: Tensor

    def __init__(
        self,
        sums: dict[str, Scale],
        single: dict[str, Scale],
        kernels: int,
        hidden: int,
        unseen: Collection[str],
    ) -> None:
        super().__init__()
        gains = {name: 0.0 if name in unseen else scale.gain for name, scale in (sums | single).items()}
        gain = [gains[name] for name in sums for _ in range(kernels)] + [gains[name] for name in single]
        self.register_buffer("gain", torch.tensor(gain), persistent=False)
        self.linear = nn.Linear(len(gain), hidden)

    def forward(self, numbers: Tensor) -> Tensor:
        # g scales the weights, not the numbers, of which there are many more.
        return functional.linear(torch.log1p(numbers), self.linear.weight * self.gain, self.linear.bias)


def _mixed(numbers: Tensor, kinds: int, mix: LearnedWidths) -> Tensor:
    """Numbers whose first columns are ``kinds`` of kernel sums of the grid, with those of learned widths."""
    sums, single = numbers.tensor_split([kinds * len(mix.grid)], dim=-1)
    mixed = mix(sums.reshape(*sums.shape[:-1], kinds, -1)).flatten(-2)
    return torch.cat((mixed, single), dim=-1)
