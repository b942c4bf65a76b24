"""One snapshot as an operator on tables of nodes: the products with its adjacency, row by row."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from keat.kernels import Kernel
from keat.state import SnapshotEdges


@dataclass(frozen=True, slots=True, eq=False)
class SnapshotGraph:
    """The symmetric adjacency A of m nodes, A_ij = Σ ψ(Δ) over the edges of i and j.

    ``with_loops`` is the product of GCN, D^-½ (A + I) D^-½ with D_i = 1 + Σ_j |A_ij|: what fades does so
    against the node itself. ``without_loops`` is D^-½ A D^-½ with D_i = max(1, Σ_j |A_ij|). Of edges that
    weigh 1 that is the usual degree; and where all edges of a node have faded, no division brings them back.

    A sum over edges is an `embedding_bag`: rows are read where they are, and E × d numbers are never written.
    What is summed is not bfloat16, also where products are.
    """

    first: Tensor  # (m + 1,) where the edges of each node begin
    node: Tensor  # (E,)
    other: Tensor  # (E,)
    weight: Tensor  # (E,) ψ(Δ)

    @classmethod
    def of(cls, edges: SnapshotEdges, kernel: Kernel, strangers: int = 0) -> SnapshotGraph:
        """``strangers`` are nodes at the end that have no edges."""
        first = torch.cat((edges.first, edges.first[-1:].expand(strangers)))
        return cls(first, edges.node, edges.other, kernel(edges.age)[:, 0])

    def with_loops(self, x: Tensor, asked: Tensor | None = None) -> Tensor:
        """Rows ``asked`` (n,), or all, of D^-½ (A + I) D^-½ x, for x (m, d)."""
        x, scale = x.to(self.weight.dtype), (1 + self._degree()).rsqrt()  # (m, d), (m,)
        own, own_scale = (x, scale) if asked is None else (x[asked], scale[asked])
        return self._sums(x, scale, asked) + own * own_scale.square()[:, None]

    def without_loops(self, x: Tensor, asked: Tensor | None = None) -> Tensor:
        """The same of D^-½ A D^-½ x."""
        return self._sums(x.to(self.weight.dtype), self._degree().clamp(min=1).rsqrt(), asked)

    def _degree(self) -> Tensor:
        """Σ_j |A_ij|, (m,); a kernel without bounds may be negative."""
        return self.weight.new_zeros(len(self.first) - 1).index_add(0, self.node, self.weight.abs())

    def _sums(self, x: Tensor, scale: Tensor, asked: Tensor | None) -> Tensor:
        """Σ_j s_i A_ij s_j x_j, (n, d)."""
        weight = self.weight * scale[self.node] * scale[self.other]  # (E,)
        begin, other = self.first[:-1], self.other
        if asked is not None:
            count = self.first.diff()[asked]  # (n,)
            begin = count.cumsum(0) - count
            shift = self.first[asked] - begin
            edge = torch.arange(int(count.sum()), device=x.device) + shift.repeat_interleave(count)
            weight, other = weight[edge], other[edge]
        if len(other) == 0:
            return x.new_zeros(len(begin), x.shape[1])
        return functional.embedding_bag(other, x, begin, mode="sum", per_sample_weights=weight)
