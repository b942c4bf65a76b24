"""Pairs of about equal length, encoded together: few wide products, and hardly any padding.

Tokens are packed, (tokens, d), wherever each is treated by itself, which is nearly all of the work. Attention
needs the tokens of a pair side by side, (pairs, n, d). Where all pairs of a bundle have the same number of
tokens that is the same memory; else the few that are short are padded for it, masked, and packed again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from keat.models.dygformer.sequences import PairTokens
from keat.ops import Integers


@dataclass(frozen=True, slots=True, eq=False)
class Bundle:
    """g consecutive pairs with T tokens in all, at most n each."""

    row: Tensor  # (T,) row of the table of each token
    length: Tensor  # (g,) tokens of each pair
    left: Tensor  # (g,) how many of them are u's
    longest: int  # n
    place: (
        Tensor | None
    )  # (g, n) where a token of a pair is among the T, 0 for padding; None if there is none
    packed: Tensor | None  # (T,) where each token is among the g · n
    mask: Tensor | None  # (g, 1, 1, n) which are tokens

    def from_table(self, table: Tensor) -> Tensor:
        """Rows (R, d) of the table, side by side: (g, n, d)."""
        row = self.row if self.place is None else self.row[self.place.flatten()]
        return table.index_select(0, row).view(len(self.length), self.longest, -1)

    def from_tokens(self, x: Tensor) -> Tensor:
        """Packed tokens (T, d) side by side: (g, n, d)."""
        if self.place is not None:
            x = x.index_select(0, self.place.flatten())
        return x.view(len(self.length), self.longest, -1)

    def pack(self, x: Tensor) -> Tensor:
        """(g, n, d) → (T, d)"""
        x = x.reshape(-1, x.shape[-1])
        return x if self.packed is None else x.index_select(0, self.packed)

    def averages(self, x: Tensor) -> Tensor:
        """Packed tokens (T, d) → their means over u's and over v's tokens, (g, 2, d)."""
        place = torch.arange(self.longest, device=x.device)
        in_left = place < self.left[:, None]  # (g, n)
        in_right = ~in_left & (place < self.length[:, None])
        side = torch.stack((in_left, in_right), dim=1).to(x.dtype)  # (g, 2, n)
        return torch.bmm(side / side.sum(dim=2, keepdim=True), self.from_tokens(x))


def by_length(patches: Integers, left: Integers, right: Integers) -> Integers:
    """The order of pairs in which `bundles` cuts them best."""
    return np.argsort(patches[left] + patches[right], kind="stable")


def bundles(tokens: PairTokens, at_once: int, device: torch.device) -> Iterator[Bundle]:
    """Cut pairs, sorted by length, into bundles of about ``at_once`` tokens.

    Where pairs grow longer a bundle ends early if it is half full, or if padding would exceed a quarter.
    """
    length = np.diff(tokens.first)
    start = 0
    while start < len(length):
        stop = start + 1
        while stop < len(length):
            size = int(tokens.first[stop] - tokens.first[start])
            grows = length[stop] > length[stop - 1]
            if size + length[stop] > at_once or (
                grows and (2 * size > at_once or 4 * length[stop] > 5 * length[start])
            ):
                break
            stop += 1
        yield _bundle(tokens, start, stop, device)
        start = stop


def _bundle(tokens: PairTokens, start: int, stop: int, device: torch.device) -> Bundle:
    first, last = int(tokens.first[start]), int(tokens.first[stop])
    length = np.diff(tokens.first[start : stop + 1])
    longest = int(length[-1])
    place = packed = mask = None
    if length[0] < longest:
        column = np.arange(longest)
        real = column < length[:, None]  # (g, n)
        offset = tokens.first[start:stop, None] - first
        place, packed, mask = np.where(real, offset + column, 0), np.flatnonzero(real), real[:, None, None]
    row, sizes, left, *rest = (
        None if part is None else torch.from_numpy(part).to(device)
        for part in (tokens.row[first:last], length, tokens.left[start:stop], place, packed, mask)
    )
    assert row is not None
    assert sizes is not None
    assert left is not None
    return Bundle(row, sizes, left, longest, *rest)
