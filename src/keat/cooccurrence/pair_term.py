"""`PairTerm`: the numbers of a pair to one logit, by a small network. For any model, or as one by itself."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from keat.cooccurrence.feature_sums import OF_PAIR, OF_SOURCE, Said
from keat.cooccurrence.pair_columns import (
    GROUPS,
    PAIR_SUMS,
    SOURCE_SUMS,
    USUAL_EDITION,
    Scale,
    pair_single,
    source_single,
)
from keat.cooccurrence.said_layer import SaidLayer
from keat.cooccurrence.widths import LearnedWidths

SMALLEST_SPREAD = 1e-3  # of a logarithm; what differs by less is the same


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """What `KernelCooccurrence` reads for B questions of C candidates, and `FeatureSums`, where features are
    read."""

    source: Tensor  # (B, Columns.source)
    pair: Tensor  # (B, C, Columns.pair)
    said: Said | None = None

    def to(self, device: torch.device) -> Numbers:
        said = None if self.said is None else self.said.to(device)
        return Numbers(self.source.to(device), self.pair.to(device), said)


class PairTerm(nn.Module):
    """logit(u, v) = MLP(log(1 + numbers)), with two hidden layers.

    The source's own numbers enter the first layer once a question, the pair's once a candidate; what the
    features of past events say is added to both.
    """

    def __init__(
        self,
        widths: npt.NDArray[np.float64],
        learned: int | None = None,
        hidden: int = 64,
        without: Collection[str] = (),
        edition: int = USUAL_EDITION,
        features: int = 0,
    ) -> None:
        """``learned`` kernels placed freely on the grid of ``widths``; else the grid's own. Of the numbers of
        an ``edition``, the groups ``without`` are not looked at. Of each event so many ``features`` are
        read."""
        super().__init__()
        self.mix = LearnedWidths(widths, learned) if learned is not None else None
        unseen = {name for group in without for name in GROUPS[group]}
        used = len(widths) if learned is None else learned
        inputs = _Standardized if edition > 1 else _LogLinear
        self.lin_source = inputs(SOURCE_SUMS, source_single(edition), used, hidden, unseen)
        self.lin_pair = inputs(PAIR_SUMS, pair_single(edition), used, hidden, unseen)
        self.lin_hidden = nn.Linear(hidden, hidden)
        self.lin_out = nn.Linear(hidden, 1)
        self.said_of_source = SaidLayer(len(OF_SOURCE), features, used, hidden) if features else None
        self.said_of_pair = SaidLayer(len(OF_PAIR), features, used, hidden) if features else None

    def forward(self, numbers: Numbers) -> Tensor:
        """Logits (B, C)."""
        return self.judge(self.mixed(numbers))

    def mixed(self, numbers: Numbers) -> Numbers:
        """With kernel sums of the widths in use, the learned ones if there are such."""
        if self.mix is None:
            return numbers
        said = numbers.said
        return Numbers(
            _mixed(numbers.source, len(SOURCE_SUMS), self.mix),
            _mixed(numbers.pair, len(PAIR_SUMS), self.mix),
            None if said is None else Said(self.mix(said.source), self.mix(said.pair)),
        )

    def measure(self, numbers: Iterable[Numbers]) -> None:
        """Take mean and spread of what is going to be looked at from an example of it. The first edition does
        without."""
        if isinstance(self.lin_source, _Standardized) and isinstance(self.lin_pair, _Standardized):
            of_source, of_pair = _Moments(), _Moments()
            for read in map(self.mixed, numbers):
                of_source.add(read.source)
                of_pair.add(read.pair)
            self.lin_source.standardize(of_source)
            self.lin_pair.standardize(of_pair)

    def look_at_features(self, features: npt.NDArray[np.float32]) -> None:
        """Take from training events (n, d) what features usually are."""
        for layer in (self.said_of_source, self.said_of_pair):
            if layer is not None:
                layer.look_at(features)

    def judge(self, numbers: Numbers) -> Tensor:
        """Logits (B, C) of `mixed` numbers."""
        hidden = self.lin_pair(numbers.pair) + self.lin_source(numbers.source)[:, None]
        if self.said_of_source is not None and self.said_of_pair is not None:
            assert numbers.said is not None  # a model that reads features is given them
            of_source = self.said_of_source(numbers.said.source)[:, None]
            hidden = hidden + self.said_of_pair(numbers.said.pair) + of_source
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


class _Moments:
    """Mean and spread of log(1 + x), column by column."""

    def __init__(self) -> None:
        self.rows, self.total, self.squares = 0, torch.zeros(()), torch.zeros(())

    def add(self, numbers: Tensor) -> None:
        logs = torch.log1p(numbers.detach()).flatten(0, -2).double()
        self.rows += len(logs)
        self.total = self.total + logs.sum(dim=0)
        self.squares = self.squares + (logs**2).sum(dim=0)

    def mean_and_spread(self) -> tuple[Tensor, Tensor]:
        mean = self.total / self.rows
        return mean, (self.squares / self.rows - mean**2).clamp_min(0.0).sqrt()


class _Standardized(_LogLinear):
    """A linear layer on (log(1 + x) - mean) / spread; as that of the first edition until they are measured.
    What was always the same while measuring is not looked at: nothing can be learned of it."""

    mean: Tensor

    def __init__(
        self,
        sums: dict[str, Scale],
        single: dict[str, Scale],
        kernels: int,
        hidden: int,
        unseen: Collection[str],
    ) -> None:
        super().__init__(sums, single, kernels, hidden, unseen)
        self.register_buffer("gain", self.gain, persistent=True)
        self.register_buffer("mean", torch.zeros_like(self.gain))

    def standardize(self, moments: _Moments) -> None:
        if moments.rows == 0:
            return
        mean, spread = moments.mean_and_spread()
        looked_at = (spread > SMALLEST_SPREAD) & (self.gain.to(spread.device) != 0)
        self.gain.copy_(torch.where(looked_at, 1.0 / spread, 0.0))
        self.mean.copy_(mean)

    def forward(self, numbers: Tensor) -> Tensor:
        weight = self.linear.weight * self.gain
        return functional.linear(torch.log1p(numbers), weight, self.linear.bias - weight @ self.mean)


def _mixed(numbers: Tensor, kinds: int, mix: LearnedWidths) -> Tensor:
    """Numbers whose first columns are ``kinds`` of kernel sums of the grid, with those of learned widths."""
    sums, single = numbers.tensor_split([kinds * len(mix.grid)], dim=-1)
    mixed = mix(sums.reshape(*sums.shape[:-1], kinds, -1)).flatten(-2)
    return torch.cat((mixed, single), dim=-1)
