"""CRAFT, CRAFT-R and KEAT-CRAFT: learned identities; each candidate attends to the source's last partners."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from keat.clock import PLAIN, Clock
from keat.events import EventStream
from keat.kernels import Identity, create_kernel
from keat.models.contract import KeepsEvents, Queries, ReadsByTime
from keat.models.settings import Help, check_divides, check_model, setting
from keat.state import EventHistory, PastSlots, as_tensor

PAIRS_AT_ONCE = 1 << 14  # in evaluation: the widest layer then has some 16 MiB
NEVER = -100_000.0  # the time since the last event of a node that has had none
LADDER = (1 / 64, 1 / 16, 1 / 4, 1.0, 4.0, 16.0)  # widths of ψ on that time, in widths of the kernel


@dataclass(frozen=True, slots=True)
class CRAFTConfig:
    """Sizes are those of the authors' code for wikipedia and uci. CRAFT-R is CRAFT with ``repeats``."""

    kernel: str = setting("identity", Help.KERNEL)
    width: float = setting(1.0, Help.WIDTH)
    clock: str = setting("s", Help.CLOCK)
    repeats: bool = setting(
        False, "Whether to count how often the candidate is among the last partners of the source."
    )
    neighbors: int = setting(30, "Last partners of the source that a candidate attends to.")
    dim: int = setting(64, "Size of what is learned of a node.")
    layers: int = setting(2, "Layers: how often a candidate attends to the same partners.")
    heads: int = setting(2, Help.HEADS)
    dropout: float = setting(0.1, Help.DROPOUT)

    def __post_init__(self) -> None:
        check_model(self, "neighbors", "dim", "layers", "heads")
        check_divides(self.heads, self.dim, "a size")


class CRAFT(KeepsEvents, ReadsByTime):
    """E_i is learned of node i. Of the last L partners w_i of source u before t, oldest first, and of v:

        k_i  = LN(E_{w_i} + ψ(t - t_i) p_i)                           p_i learned positions; ψ is KEAT
        q    = LN(E_v)
        q    ← q + LN(W attention(q; k, k)),  q ← q + LN(FFN(q))      in each layer; a sum of nothing is 0
        c    = LN(w s + b),  s = t - last event of v                  in KEAT, W [ψ₁(s) … ψ₆(s)] + b
        r    = LN(w' · (how often v is among the w_i) + b')           in CRAFT-R
        logit(u, v, t) = w · PReLU(W [q ‖ c ‖ r] + b) + b

    Every vector is dropped out after its norm. A node that had no event in training has no E of its own that
    means anything: it is given the mean of those that had one.

    Shapes below: B questions with C candidates each, L partners, d numbers.
    """

    name = "craft"
    state: EventHistory
    known: Tensor  # (nodes,) whether it had an event in training

    def __init__(
        self, num_nodes: int, feature_dim: int, sigma: float, config: CRAFTConfig, clock: Clock = PLAIN
    ) -> None:
        super().__init__()
        self.config, self.sigma, self.clock = config, sigma, clock
        self.state = EventHistory(num_nodes, feature_dim)
        dim, self.dropout = config.dim, nn.Dropout(config.dropout)
        self.nodes = nn.Embedding(num_nodes + 1, dim)  # the first row stands where there is no node
        self.positions = nn.Embedding(config.neighbors, dim)
        self.norm = nn.LayerNorm(dim)
        self.layers = nn.ModuleList(CrossAttention(config) for _ in range(config.layers))
        self.kernel = create_kernel(config.kernel, sigma, config.width)
        self.plain = isinstance(self.kernel, Identity) or math.isinf(config.width)
        self.elapsed_kernels = nn.ModuleList()
        if not self.plain:
            widths = [step * config.width for step in LADDER]
            self.elapsed_kernels.extend(create_kernel(config.kernel, sigma, width) for width in widths)
        self.elapsed = nn.Linear(max(len(self.elapsed_kernels), 1), dim)
        self.elapsed_norm = nn.LayerNorm(dim) if self.plain else nn.Identity()
        self.repeats = nn.Sequential(nn.Linear(1, dim), nn.LayerNorm(dim)) if config.repeats else None
        whole = (3 if config.repeats else 2) * dim
        self.decoder = nn.Sequential(nn.Linear(whole, whole), nn.PReLU(init=0.15), nn.Linear(whole, 1))
        for part in (self.nodes, self.positions, self.layers, self.elapsed, self.repeats, self.decoder):
            if part is not None:
                part.apply(_draw)
        self.register_buffer("known", torch.zeros(num_nodes, dtype=torch.bool))
        self._mean: tuple[object, Tensor, Tensor] | None = None  # see `_of_strangers`

    def observe(self, events: EventStream) -> None:
        if self.training:
            seen = np.concatenate((events.src, events.dst))
            self.known[as_tensor(seen[seen < len(self.known)], self.device).long()] = True
        super().observe(events)

    # -- scores --------------------------------------------------------------------------------------

    def score(self, queries: Queries) -> Tensor:
        if self.training:
            return self._score(queries)
        rows = max(1, PAIRS_AT_ONCE // max(1, queries.shape[1]))
        with torch.no_grad():
            starts = range(0, max(1, len(queries.src)), rows)
            return torch.cat([self._score(queries.rows(start, start + rows)) for start in starts])

    def _score(self, queries: Queries) -> Tensor:
        candidates = as_tensor(queries.candidates, self.device).long()  # (C,) or (B, C)
        candidates = candidates[None] if queries.shared else candidates
        past, tokens = self._partners(queries)
        q = self.dropout(self.norm(self._identities(candidates)))  # (1, C, d) or (B, C, d)
        for layer in self.layers:
            q = layer(q, tokens, past.mask)  # (B, C, d)
        parts = [q, self.dropout(self._since_last(queries))]
        if self.repeats is not None:
            same = candidates[..., None] == torch.where(past.mask, past.other, -1)[:, None]  # (B, C, L)
            parts.append(self.dropout(self.repeats(same.sum(dim=2, keepdim=True).to(q.dtype))))
        logits: Tensor = self.decoder(torch.cat(parts, dim=2))
        return logits.squeeze(-1)

    def _partners(self, queries: Queries) -> tuple[PastSlots, Tensor]:
        """The last partners of sources, and k (B, L, d) of each."""
        entries = self.state.before(queries.src, queries.t, self.config.neighbors)
        past = self.state.slots(entries)  # (B, L), the newest in the last column
        missing = (~past.mask).sum(dim=1, keepdim=True)  # (B, 1), in the first ones
        columns = torch.arange(self.config.neighbors, device=self.device)
        position = self.positions((columns - missing).clamp(min=0))  # (B, L, d): the oldest has the first
        if not self.plain:
            now = as_tensor(queries.t, self.device)[:, None]
            age = self.clock.ages(torch.where(past.mask, now - past.happened, 0))
            position = self.kernel(age) * position  # this multiplication is KEAT
        own = self._identities(torch.where(past.mask, past.other, -1))
        return past, self.dropout(self.norm(own + position))

    def _since_last(self, queries: Queries) -> Tensor:
        """c (B, C, d) of the time since the last event of each candidate, whoever it was with."""
        nodes = np.broadcast_to(queries.candidates, queries.shape)
        last = self.state.before(nodes.ravel(), queries.t.repeat(queries.shape[1]), 1).reshape(queries.shape)
        never = last < 0
        happened = self.state.time_of(np.where(never, 0, last))
        since = np.where(never, 0, queries.t[:, None] - happened)
        age = self.clock.ages(as_tensor(since, self.device))
        unknown = as_tensor(never, self.device)[..., None]
        if self.plain:
            raw = torch.where(unknown, NEVER, age[..., None].to(self.elapsed.weight.dtype))
            normed: Tensor = self.elapsed_norm(self.elapsed(raw))
            return normed
        psi = torch.cat([kernel(age) for kernel in self.elapsed_kernels], dim=2)  # (B, C, widths)
        faded: Tensor = self.elapsed(psi.masked_fill(unknown, 0.0))
        return faded

    # -- identities ----------------------------------------------------------------------------------

    def _identities(self, ids: Tensor) -> Tensor:
        """E (…, d) of nodes; the mean of those that are known for strangers. -1 is nobody."""
        room = len(self.known)
        inside = (ids < room) & (ids >= 0)
        own: Tensor = self.nodes(torch.where(inside, ids + 1, 0))
        if self.training:
            return own
        known, mean = self._of_strangers()
        strange = (ids >= 0) & ~(inside & known[ids.clamp(min=0, max=room - 1)])
        return torch.where(strange[..., None], mean, own)

    def _of_strangers(self) -> tuple[Tensor, Tensor]:
        """Who is known (of a model that was never trained, all are), and their mean E; computed once for as
        long as nothing is learned."""
        weight = self.nodes.weight
        state = (weight._version, self.known._version, weight.device, weight.data_ptr())
        if self._mean is None or self._mean[0] != state:
            known = self.known | ~self.known.any()
            share = known.to(weight.dtype) / known.sum()
            self._mean = (state, known, share @ weight[1:].detach())
        return self._mean[1], self._mean[2]


class CrossAttention(nn.Module):
    """q + LN(W attention(q; k, k)), then the same with a network of one hidden layer: norms stand before the
    sums. Keys and values are the partners, the same in every layer."""

    def __init__(self, config: CRAFTConfig) -> None:
        super().__init__()
        dim, self.heads, self.dropout = config.dim, config.heads, nn.Dropout(config.dropout)
        self.query, self.key, self.value, self.out = (nn.Linear(dim, dim) for _ in range(4))
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.linear1, self.linear2 = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, q: Tensor, tokens: Tensor, mask: Tensor) -> Tensor:
        """Candidates (B, C, d), or (1, C, d) that all share, with tokens (B, L, d) under a mask (B, L) →
        (B, C, d). Partners are projected once for all candidates, shared candidates once for all."""
        query, key, value = (
            layer(x).unflatten(2, (self.heads, -1)).transpose(1, 2)  # (B, H, C, c), (B, H, L, c)
            for layer, x in ((self.query, q), (self.key, tokens), (self.value, tokens))
        )
        seen = mask[:, None, None]  # (B, 1, 1, L)
        logits = (query / math.sqrt(query.shape[3])) @ key.transpose(2, 3)  # (B, H, C, L)
        weights = logits.masked_fill(~seen, torch.finfo(logits.dtype).min).softmax(dim=3) * seen
        mixed = (weights @ value).transpose(1, 2).flatten(2)  # (B, C, d); 0 without a past
        q = q + self.norm1(self.dropout(self.out(mixed)))
        hidden = self.linear2(functional.gelu(self.linear1(q)))
        summed: Tensor = q + self.norm2(self.dropout(hidden))
        return summed


def _draw(module: nn.Module) -> None:
    """Weights are N(0, 0.02²) and biases 0."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)
