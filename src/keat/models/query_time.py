"""All candidates at all query times of a batch, exactly, without encoding every pair.

With Δ measured from the query, an embedding depends on (node, time), so B queries against C candidates
with K past events each would need B·C·K time encodings of T numbers. But the query time enters only as a
common delay δ, and cosines split by angle addition,

    cos(w(Δ + δ) + b) = cos(wΔ + b) cos(wδ) - sin(wΔ + b) sin(wδ),

so what depends on the candidate and what depends on the query meet in matrix products:

    time logit  = [g·cos(wΔ + b) ‖ -g·sin(wΔ + b)] · [cos wδ ‖ sin wδ]         (C·K × 2T) × (2T × B)
    time value  = cos wδ ⊙ Σ_k β_k cos(wΔ_k + b) - sin wδ ⊙ Σ_k β_k sin(wΔ_k + b)    (2T × K) × (K × B)

and the decoder's lin_dst is multiplied into the value matrices once instead of applied to B·C embeddings.
A sum of exponentials as kernel splits the same way, exp(-r(Δ + δ)) = exp(-rΔ) exp(-rδ); any other ψ is
computed as it is, one number for each (query, candidate, event).

The last axis of everything large is the query, the first the candidate: products need no copies.
"""

from __future__ import annotations

import torch
from torch import Tensor

from keat.attention.layer import KernelizedAttention, modulated
from keat.clock import Clock
from keat.kernels import Identity, Kernel
from keat.models.predictor import LinkPredictor
from keat.ops import attend_at_all_times, relu_dot_both, turn_to_all_times
from keat.state.node_state import PastSlots
from keat.time_encoding import Cosine

NUMBERS_AT_ONCE = 1 << 21  # of the (c, H·T, B) sums: bounds memory, and keeps a piece in cache


def score_at_all_times(
    attention: KernelizedAttention,
    predictor: LinkPredictor,
    kernel: Kernel,
    encoder: Cosine,
    clock: Clock,
    sources: Tensor,  # (B, d) projected by lin_src
    t: Tensor,  # (B,)
    hood: PastSlots,  # of the C candidates
    messages: Tensor,  # (E, R)
) -> Tensor:
    """Logits (B, C), the same as embedding every (candidate, time) by itself."""
    candidates = len(hood.seeds)
    at_once = max(1, min(candidates, NUMBERS_AT_ONCE // (attention.heads * len(t) * encoder.dim)))
    slots = hood.mask.shape[1]
    scorer = _Scorer(attention, predictor, kernel, encoder, clock, sources, t, messages, at_once, slots)
    out = sources.new_empty(candidates, len(t))
    for part in (slice(first, first + at_once) for first in range(0, candidates, at_once)):
        out[part] = scorer.logits(hood[part])
    return out.T + predictor.lin_final.bias


class _Scorer:
    """What all candidates share: the queries, and weights with lin_dst multiplied into them."""

    def __init__(
        self,
        attention: KernelizedAttention,
        predictor: LinkPredictor,
        kernel: Kernel,
        encoder: Cosine,
        clock: Clock,
        sources: Tensor,
        t: Tensor,
        messages: Tensor,
        at_once: int,
        slots: int,
    ) -> None:
        self.attention, self.kernel, self.encoder, self.messages = attention, kernel, encoder, messages
        self.t, self.start, self.clock = t, t.min(), clock
        self.delay = clock.ages(t - self.start)  # (B,)
        self.sources = sources.T.contiguous()  # (d, B)
        self.turn = torch.cat(encoder.rotation(self.delay), dim=1).T.contiguous()  # (2T, B)
        heads, time_dim = attention.heads, encoder.dim
        dst = predictor.lin_dst.weight  # (d, d), its columns are the heads' outputs in turn
        by_head = dst.view(len(dst), heads, -1).permute(1, 0, 2)  # (H, d, C)
        value, edge_value = attention.lin_value, attention.lin_edge_value or attention.lin_edge
        edge = torch.bmm(by_head, edge_value.weight.view(heads, -1, edge_value.in_features))  # (H, d, T + R)
        self.time_value = edge[..., :time_dim].permute(1, 2, 0).flatten(1)  # (d, T·H)
        self.message_value = edge[..., time_dim:].flatten(0, 1)  # (H·d, R)
        self.node_value = torch.bmm(by_head, value.weight.view(heads, -1, value.in_features)).flatten(0, 1)
        self.node_bias = torch.bmm(by_head, value.bias.view(heads, -1, 1)).flatten()  # (H·d,)
        self.skip = dst @ attention.lin_skip.weight
        self.skip_bias = dst @ attention.lin_skip.bias + predictor.lin_dst.bias
        self.final = predictor.lin_final.weight[0]
        # Values and their weights, one row each: of nodes and messages for every (event, head), which do not
        # depend on the time, then of the time encodings, summed over the events; the values of these are the
        # same for all. All are written again and again: fresh memory costs as much as the work in it.
        of_events = 2 * slots * heads
        self.values = sources.new_empty(at_once, of_events + time_dim * heads, len(dst))
        self.values[:, of_events:] = self.time_value.T
        self.weights = sources.new_empty(at_once, of_events + time_dim * heads, len(t))
        self.edge_weights = sources.new_empty(at_once, slots * heads, len(t))
        self.hidden = sources.new_empty(at_once, len(dst), len(t))

    def logits(self, hood: PastSlots) -> Tensor:
        """(c, B), without the last bias."""
        (c, slots), heads = hood.mask.shape, self.attention.heads
        absent = ~hood.mask[..., None]
        x = hood.x[hood.index].masked_fill(absent, 0)  # (c, K, d)
        message = self.messages[hood.event].masked_fill(absent, 0)  # (c, K, R)
        age = self.clock.ages(torch.where(hood.mask, self.start - hood.happened, 0))
        cosine, sine = (part.masked_fill(absent, 0) for part in self.encoder.quadrature(age))  # (c, K, T)
        weights, values, hidden = self.weights[:c], self.values[:c], self.hidden[:c]
        of_events = 2 * slots * heads
        self._attend(hood, x, message, cosine, sine, age, weights)
        turn_to_all_times(self.edge_weights[:c], cosine, sine, self.turn, weights)
        node = torch.addmm(self.node_bias, x.flatten(0, 1), self.node_value.T).view(c, slots, -1)
        values[:, : of_events // 2] = node.masked_fill_(absent, 0).view(c, slots * heads, -1)
        edge = message.flatten(0, 1) @ self.message_value.T
        values[:, of_events // 2 : of_events] = edge.view(c, slots * heads, -1)
        torch.bmm(values.transpose(1, 2), weights, out=hidden)  # (c, d, B)
        skip = torch.addmm(self.skip_bias, hood.seeds, self.skip.T)
        return relu_dot_both(skip, self.sources, hidden, self.final)

    def _attend(
        self,
        hood: PastSlots,
        x: Tensor,
        message: Tensor,
        cosine: Tensor,
        sine: Tensor,
        age: Tensor,
        out: Tensor,
    ) -> None:
        """What node and edge values are weighted with, ψ included, into the first rows of ``out``."""
        probe = self.attention.probe(hood.seeds)
        of_time, of_message = torch.tensor_split(probe.edge, [self.encoder.dim], dim=2)  # (c, H, ·)
        node_logit = torch.baddbmm(probe.constant[:, None], x, probe.node.transpose(1, 2))  # (c, K, H)
        message_logit = torch.bmm(message, of_message.transpose(1, 2))
        asked = of_time[:, None]  # (c, 1, H, T)
        waves = torch.cat((asked * cosine[:, :, None], asked * -sine[:, :, None]), dim=3)  # (c, K, H, 2T)
        time_logit = waves @ self.turn  # (c, K, H, B)

        psi = self._psi(hood, age)  # (c, K, H or 1, B)
        psi_node, psi_edge = modulated(self.attention.modulate, psi, None)
        edge_out = self.edge_weights[: len(x)]
        attend_at_all_times(
            time_logit, node_logit, message_logit, hood.mask, psi_node, psi_edge, out, edge_out
        )

    def _psi(self, hood: PastSlots, age: Tensor) -> Tensor | None:
        if isinstance(self.kernel, Identity):
            return None
        terms = self.kernel.exponentials()
        if terms is None or int(age.min()) < 0:  # the age of an event after the query counts as 0
            later = torch.where(hood.mask[..., None], self.t - hood.happened[..., None], 0)  # (c, K, B)
            psi: Tensor = self.kernel(self.clock.ages(later))
            return psi.transpose(2, 3)
        fallen = torch.exp(-terms.rate * age[..., None, None]) * terms.weight  # (c, K, H or 1, M)
        falls = torch.exp(-terms.rate[..., None] * self.delay)  # (H or 1, M, B)
        product = fallen.to(self.turn.dtype)[..., None] * falls.to(self.turn.dtype)  # (c, K, H or 1, M, B)
        return product.sum(3).add_(terms.constant.to(product.dtype)[:, None])
