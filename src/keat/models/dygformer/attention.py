"""Attention among the tokens of a pair, and the four ways a kernel ψ can enter it.

A token x has four channels, [n ‖ e ‖ τ ‖ c]: node, edge and time encoding of its events, co-occurrence. Its
age is the mean of the ages of its events; ψ is the kernel of that age and a = -log ψ. Attention of layer l is

    S_pq = Q_p · K_q / √d_head,   output_p = Σ_q softmax_q(S_pq) V_q,
    Q = W_Q z,  K = W_K z,  V = W_V z,  z = LN(xˡ⁻¹)                         (plain)

``release``, the authors' code. Scaling a LayerNorm's input changes nothing, so the query's e and τ times
exp(+a), which overflows, are n and c times exp(-a):

    Q = W_Q LN[ψn ‖ e ‖ τ ‖ ψc],  K = W_K LN[n ‖ ψe ‖ ψτ ‖ c],  both of the *first* layer's x in every layer

``paper_patch``, the paper's appendix D to the letter, all of a patch:  S_pq ← S_pq exp(a_p - a_q)

``paper_edge``, the same, edge and time channels only:

    Q = W_Q [z_n ‖ e^a z_e ‖ e^a z_τ ‖ z_c],  K = W_K [z_n ‖ e^-a z_e ‖ e^-a z_τ ‖ z_c]

``key_value``, the rule of KEAT-TGN:  K = W_K z′,  V = W_V z′,  z′ = [z_n ‖ ψz_e ‖ ψz_τ ‖ z_c]

A kernel with one shape per head is taken head by head. Only the paper's two readings have a factor above 1;
its exponent is held within ±30.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from keat.models.dygformer.config import Reading
from keat.ops import attend_dropping, dropout

STEEPEST = 30.0  # of the exponents of the paper's readings
FAINTEST = 1e-35  # ψ below this counts as this: its logarithm must exist


class PairAttention(nn.Module):
    """The projections of one layer, and attention. Named and initialized as `nn.MultiheadAttention`."""

    def __init__(self, dim: int, heads: int, dropout: float, reading: Reading) -> None:
        super().__init__()
        self.heads, self.dropout, self.reading = heads, dropout, reading
        self.norm = nn.LayerNorm(dim)
        self.in_proj = nn.Linear(dim, 3 * dim)
        self.out_proj = nn.Linear(dim, dim)
        nn.init.xavier_uniform_(self.in_proj.weight)
        nn.init.zeros_(self.in_proj.bias)
        nn.init.zeros_(self.out_proj.bias)

    # -- queries, keys and values --------------------------------------------------------------------

    def project(self, x: Tensor, psi: Tensor | None) -> list[Tensor]:
        """[Q ‖ K ‖ V] of tokens (n, d), in one or more pieces. Not for ``release`` with a kernel, whose Q and
        K do not come from x."""
        z = self.norm(x)
        if psi is None or self.reading == "paper_patch":
            return [self.in_proj(z)]
        if self.reading == "key_value":
            return [self._linear([z], 0, 1), self._linear(scale_edges(z, psi), 1, 3)]
        a = exponent(psi)
        grown, faded = torch.exp(a.clamp(max=STEEPEST)), torch.exp(-a)
        q, k = scale_edges(z, grown), scale_edges(z, faded)
        return [self._linear(q, 0, 1), self._linear(k, 1, 2), self._linear([z], 2, 3)]

    def queries_keys(self, queries: list[Tensor], keys: list[Tensor]) -> list[Tensor]:
        """Q and K of ``release`` from the first layer's scaled tokens (n, d), normalized, for all heads or
        for each. This layer's scale and shift of a normalized token are taken into the weights."""
        return [self._linear(queries, 0, 1, normalized=True), self._linear(keys, 1, 2, normalized=True)]

    def values(self, x: Tensor) -> Tensor:
        return self._linear([self.norm(x)], 2, 3)

    def _linear(self, tokens: list[Tensor], first: int, last: int, normalized: bool = False) -> Tensor:
        """Some of Q, K and V (n, parts · d), from tokens (n, d) for all heads or for each head."""
        count, dim = tokens[0].shape
        weight, bias = (p[first * dim : last * dim] for p in (self.in_proj.weight, self.in_proj.bias))
        if normalized:
            weight, bias = weight * self.norm.weight, bias + weight @ self.norm.bias
        if len(tokens) == 1:
            return functional.linear(tokens[0], weight, bias)
        parts = last - first
        weight, bias = weight.view(parts, self.heads, -1, dim), bias.view(parts, self.heads, -1)
        of_heads = [
            functional.linear(token, weight[:, head].flatten(0, 1), bias[:, head].flatten())
            for head, token in enumerate(tokens)
        ]
        return torch.stack([part.view(count, parts, -1) for part in of_heads], dim=2).view(count, -1)

    # -- attention -----------------------------------------------------------------------------------

    def attend(self, pieces: list[Tensor], mask: Tensor | None, psi: Tensor | None) -> Tensor:
        """Attention (g, n, d) of [Q ‖ K ‖ V], pieces of (g, n, ·), among the n tokens of each pair.

        ``mask`` (g, 1, 1, n) tells tokens from padding; ``psi`` (g, n, heads or 1) is for ``paper_patch``.
        """
        dropping = self.dropout > 0 and self.training
        if dropping and psi is None:
            return attend_dropping(pieces, mask, self.heads, self.dropout)
        pairs, n = pieces[0].shape[:2]
        head_dim = self.out_proj.in_features // self.heads
        parts = [part.view(pairs, n, -1, self.heads, head_dim).transpose(1, 3) for part in pieces]
        q, k, v = (part for piece in parts for part in piece.unbind(2))  # (g, H, n, d_head) each
        # For the gradient fused attention computes the logits again and subtracts their logarithmic sum. In
        # this reading they may be so large that two roundings of one differ by more than exp can take.
        steep = self.training and self.reading == "paper_edge"
        if psi is None and not dropping and not steep:
            mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        else:
            logits = (q / math.sqrt(head_dim)) @ k.transpose(2, 3)  # (g, H, n, n)
            if psi is not None:
                a = exponent(psi).transpose(1, 2)  # (g, H or 1, n)
                difference = a[..., :, None] - a[..., None, :]
                logits = logits * torch.exp(difference.clamp(-STEEPEST, STEEPEST))
            if mask is not None:
                logits = logits.masked_fill(~mask, -math.inf)
            mixed = dropout(logits.softmax(dim=3), self.dropout, self.training) @ v
        return mixed.transpose(1, 2).reshape(pairs, n, -1)


def exponent(psi: Tensor) -> Tensor:
    """a = -log ψ."""
    return -torch.log(psi.clamp(min=FAINTEST))


def channels(x: Tensor) -> tuple[Tensor, ...]:
    """Views of node, edge and time, and co-occurrence channels of tokens (n, d)."""
    return torch.split(x, [x.shape[1] // 4, x.shape[1] // 2, x.shape[1] // 4], dim=1)


def scale_edges(x: Tensor, factor: Tensor) -> list[Tensor]:
    """Tokens (n, d) with edge and time channels times a factor (n, heads or 1), one tensor for each."""
    n, edge, c = channels(x)
    return [torch.cat((n, edge * by, c), dim=1) for by in torch.split(factor, 1, dim=1)]


def scale_nodes(x: Tensor, factor: Tensor) -> list[Tensor]:
    """The same of node and co-occurrence channels."""
    n, edge, c = channels(x)
    return [torch.cat((n * by, edge, c * by), dim=1) for by in torch.split(factor, 1, dim=1)]
