"""All candidates at all query times of a batch, exactly, without encoding every pair.

With Δ measured from the query, an embedding depends on (node, time), so B queries against C candidates
with K past events each would need B·C·K time encodings of T numbers. But the query time enters only as a
common delay δ, and cosines split by angle addition,

    cos(w(Δ + δ) + b) = cos(wΔ + b) cos(wδ) - sin(wΔ + b) sin(wδ),

so what depends on the candidate and what depends on the query meet in matrix products:

    time logit  = [g·cos(wΔ + b) ‖ -g·sin(wΔ + b)] · [cos wδ ‖ sin wδ]         (C·K × 2T) × (2T × B)
    time value  = cos wδ ⊙ Σ_k β_k cos(wΔ_k + b) - sin wδ ⊙ Σ_k β_k sin(wΔ_k + b)    (2T × K) × (K × B)

and a linear layer that the embeddings are for (the decoder's) is multiplied into the value matrices once
instead of applied to B·C embeddings.
A sum of exponentials as kernel splits the same way, exp(-r(Δ + δ)) = exp(-rΔ) exp(-rδ); any other ψ is
computed as it is, one number for each (query, candidate, event).

The last axis of everything large is the query, the first the candidate: products need no copies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from keat.attention.layer import KernelizedAttention, LastEvents, modulated
from keat.clock import Clock
from keat.kernels import Identity, Kernel
from keat.ops import attend_at_all_times, turn_to_all_times
from keat.time_encoding import Cosine

NUMBERS_AT_ONCE = 1 << 21  # of the (c, H·T, B) sums: bounds memory, and keeps a piece in cache


@dataclass(frozen=True, slots=True, eq=False)
class TimedAttention:
    """Attention with all that turns the age of an event into ψ and φ."""

    attention: KernelizedAttention
    kernel: Kernel
    encoder: Cosine
    clock: Clock

    def project(
        self, linear: nn.Linear, t: Tensor, seeds: Tensor, past: LastEvents
    ) -> Iterator[tuple[slice, Tensor, Tensor]]:
        """``linear`` of the embeddings of C candidates, with features ``seeds`` (C, d), at all times ``t``
        (B,), in pieces: which candidates, a part that no time changes (c, d), and the rest (c, d, B), which
        has to be read before the next piece is made.

        Ages of ``past`` are as of the earliest of the times, not yet measured by the clock.
        """
        candidates, slots = past.mask.shape
        numbers = self.attention.heads * len(t) * self.encoder.dim  # of each candidate
        at_once = max(1, min(candidates, NUMBERS_AT_ONCE // numbers))
        pieces = _Pieces(self, linear, t, at_once, slots)
        for part in (slice(first, first + at_once) for first in range(0, candidates, at_once)):
            yield part, *pieces.projected(seeds[part], past[part])


class _Pieces:
    """What all candidates share: the times, and weights with the linear layer multiplied into them."""

    def __init__(
        self, layers: TimedAttention, linear: nn.Linear, t: Tensor, at_once: int, slots: int
    ) -> None:
        attention, encoder = layers.attention, layers.encoder
        self.layers, self.attention = layers, attention
        self.late = t - t.min()  # (B,) ticks after the earliest time
        self.delay = layers.clock.ages(self.late)  # (B,) δ
        self.turn = torch.cat(encoder.rotation(self.delay), dim=1).T.contiguous()  # (2T, B)
        heads, time_dim, dst = attention.heads, encoder.dim, linear.weight  # (d, d)
        by_head = dst.view(len(dst), heads, -1).permute(1, 0, 2)  # (H, d, C): columns are heads in turn
        value, edge_value = attention.lin_value, attention.lin_edge_value or attention.lin_edge
        edge = torch.bmm(by_head, edge_value.weight.view(heads, -1, edge_value.in_features))  # (H, d, T + R)
        time_value = edge[..., :time_dim].permute(1, 2, 0).flatten(1)  # (d, T·H)
        self.message_value = edge[..., time_dim:].flatten(0, 1)  # (H·d, R)
        self.node_value = torch.bmm(by_head, value.weight.view(heads, -1, value.in_features)).flatten(0, 1)
        self.node_bias = torch.bmm(by_head, value.bias.view(heads, -1, 1)).flatten()  # (H·d,)
        self.skip = dst @ attention.lin_skip.weight
        self.skip_bias = dst @ attention.lin_skip.bias + linear.bias
        # Values and their weights, one row each: of nodes and messages for every (event, head), which do not
        # depend on the time, then of the time encodings, summed over the events; the values of these are the
        # same for all. All are written again and again: fresh memory costs as much as the work in it.
        of_events = 2 * slots * heads
        self.values = dst.new_empty(at_once, of_events + time_dim * heads, len(dst))
        self.values[:, of_events:] = time_value.T
        self.weights = dst.new_empty(at_once, of_events + time_dim * heads, len(t))
        self.edge_weights = dst.new_empty(at_once, slots * heads, len(t))
        self.hidden = dst.new_empty(at_once, len(dst), len(t))

    def projected(self, seeds: Tensor, past: LastEvents) -> tuple[Tensor, Tensor]:
        """(c, d), which no time changes, and (c, d, B)."""
        (c, slots), heads = past.mask.shape, self.attention.heads
        absent = ~past.mask[..., None]
        x = past.x[past.row].masked_fill(absent, 0)  # (c, K, d)
        message = past.message[past.event].masked_fill(absent, 0)  # (c, K, R)
        age = self.layers.clock.ages(past.age)
        waves = (part.masked_fill(absent, 0) for part in self.layers.encoder.quadrature(age))
        cosine, sine = waves  # (c, K, T)
        weights, values, hidden = self.weights[:c], self.values[:c], self.hidden[:c]
        of_events = 2 * slots * heads
        self._attend(seeds, past, x, message, cosine, sine)
        turn_to_all_times(self.edge_weights[:c], cosine, sine, self.turn, weights)
        node = torch.addmm(self.node_bias, x.flatten(0, 1), self.node_value.T).view(c, slots, -1)
        values[:, : of_events // 2] = node.masked_fill_(absent, 0).view(c, slots * heads, -1)
        edge = message.flatten(0, 1) @ self.message_value.T
        values[:, of_events // 2 : of_events] = edge.view(c, slots * heads, -1)
        torch.bmm(values.transpose(1, 2), weights, out=hidden)  # (c, d, B)
        return torch.addmm(self.skip_bias, seeds, self.skip.T), hidden

    def _attend(
        self, seeds: Tensor, past: LastEvents, x: Tensor, message: Tensor, cosine: Tensor, sine: Tensor
    ) -> None:
        """What node and edge values are weighted with, ψ included, into the first rows of the weights."""
        probe = self.attention.probe(seeds)
        of_time, of_message = torch.tensor_split(probe.edge, [cosine.shape[2]], dim=2)  # (c, H, ·)
        node_logit = torch.baddbmm(probe.constant[:, None], x, probe.node.transpose(1, 2))  # (c, K, H)
        message_logit = torch.bmm(message, of_message.transpose(1, 2))
        asked = of_time[:, None]  # (c, 1, H, T)
        waves = torch.cat((asked * cosine[:, :, None], asked * -sine[:, :, None]), dim=3)  # (c, K, H, 2T)
        time_logit = waves @ self.turn  # (c, K, H, B)
        psi_node, psi_edge = modulated(self.attention.modulate, self._psi(past), None)
        out, edge_out = self.weights[: len(x)], self.edge_weights[: len(x)]
        attend_at_all_times(
            time_logit, node_logit, message_logit, past.mask, psi_node, psi_edge, out, edge_out
        )

    def _psi(self, past: LastEvents) -> Tensor | None:
        """ψ (c, K, H or 1, B) of each event at all times; None is 1."""
        kernel, clock = self.layers.kernel, self.layers.clock
        if isinstance(kernel, Identity):
            return None
        terms, age = kernel.exponentials(), clock.ages(past.age)
        if terms is None or int(age.min()) < 0:  # the age of an event after the query counts as 0
            later = torch.where(past.mask[..., None], past.age[..., None] + self.late, 0)  # (c, K, B)
            psi: Tensor = kernel(clock.ages(later))
            return psi.transpose(2, 3)
        fallen = torch.exp(-terms.rate * age[..., None, None]) * terms.weight  # (c, K, H or 1, M)
        falls = torch.exp(-terms.rate[..., None] * self.delay)  # (H or 1, M, B)
        product = fallen.to(self.turn.dtype)[..., None] * falls.to(self.turn.dtype)  # (c, K, H or 1, M, B)
        return product.sum(3).add_(terms.constant.to(product.dtype)[:, None])
