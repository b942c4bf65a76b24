"""CAWN and KEAT-CAWN as link models."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from keat.clock import PLAIN, Clock
from keat.kernels import create_kernel
from keat.models.cawn.cawn_config import CAWNConfig
from keat.models.cawn.expected_walks import Walks, occurrences, walks_by
from keat.models.cawn.walk_encoder import WalkEncoder
from keat.models.contract import KeepsEvents, Queries, ReadsByTime
from keat.models.decoders import MergeLayer
from keat.models.node_time import Nodes, distinct_moments
from keat.ops import Integers
from keat.state import EventHistory, as_tensor
from keat.time_encoding import create_time_encoder

PAIRS_AT_ONCE = 1 << 10  # in evaluation
COMPARED_AT_ONCE = 1 << 20  # ends of walks with ends of walks, some 10 MiB
WALKS_AT_ONCE = 1 << 11  # encoded together: the gates of the LSTM then have some 20 MiB


class CAWN(KeepsEvents, ReadsByTime):
    """Of a root r at time t walks lead to the other ends w_i of its last K events, with probabilities
    P_r(i) ∝ exp(-α Δ_i). A node is known by where it occurs in the walks of both ends of the pair:

        g(w; r) = (1[w is r], Σ_i P_r(i) 1[w_i is w]),   I(w) = f(g(w; u)) + f(g(w; v)),   f an MLP
        step    = [x_w ‖ ψ(Δ) φ(Δ) ‖ ψ(Δ) e ‖ I(w)]                   of the root: Δ = 0, ψ = 1, e = 0
        z_u, z_v = walks of u, and of v, through `WalkEncoder`;       logit(u, v, t) = merge(z_u, z_v)

    ψ is KEAT; in CAWN it is 1. Where no node occurs in the walks of both ends, f(0) stands for the other end:
    z_u then is of u alone, and is made once for all such candidates.
    """

    name = "cawn"
    state: EventHistory

    def __init__(
        self, num_nodes: int, feature_dim: int, sigma: float, config: CAWNConfig, clock: Clock = PLAIN
    ) -> None:
        super().__init__()
        self.config, self.sigma, self.clock = config, sigma, clock
        self.state = EventHistory(num_nodes, feature_dim, config.node_dim)
        self.time_encoder = create_time_encoder(config.time_encoder, config.time_dim, config.precision)
        self.kernel = create_kernel(config.kernel, sigma, config.width)
        known = self.state.node_features.width + config.time_dim + feature_dim
        self.position = nn.Sequential(
            nn.Linear(2, config.position_dim), nn.ReLU(), nn.Linear(config.position_dim, config.position_dim)
        )
        self.encoder = WalkEncoder(known, config.position_dim, config.heads, config.dropout, config.out_dim)
        self.decoder = MergeLayer(config.out_dim, config.out_dim, config.out_dim, 1)

    # -- scores --------------------------------------------------------------------------------------

    def score(self, queries: Queries) -> Tensor:
        src, t = queries.src.repeat(queries.shape[1]), queries.t.repeat(queries.shape[1])
        dst = np.broadcast_to(queries.candidates, queries.shape).ravel()
        if self.training:
            seed = int(torch.randint(1 << 62, ())) if self.config.drawn else 0  # other walks every time
            return self._logits(src, dst, t, seed).view(queries.shape)
        logits = [self.decoder.fc2.weight.new_empty(0)]
        with torch.no_grad():
            for start in range(0, len(t), PAIRS_AT_ONCE):
                part = slice(start, start + PAIRS_AT_ONCE)
                logits.append(self._logits(src[part], dst[part], t[part], 0))
        return torch.cat(logits).view(queries.shape)

    def _logits(self, src: Nodes, dst: Nodes, t: Integers, seed: int) -> Tensor:
        """Logits (N,) of pairs (src[i], dst[i]) at t[i]; each distinct pair is made once."""
        nodes, times = np.concatenate((src, dst)), np.concatenate((t, t))
        first, place = distinct_moments(nodes, times)
        walks = self.walks(nodes[first], times[first], seed)
        pairs, which = np.unique(place[: len(t)] * len(first) + place[len(t) :], return_inverse=True)
        left, right = (as_tensor(part, self.device) for part in np.divmod(pairs, max(len(first), 1)))
        z_u, z_v = self._embed_pairs(walks, left, right)
        logits: Tensor = self.decoder(z_u, z_v)[:, 0]
        return logits.index_select(0, as_tensor(which, self.device))

    def walks(self, nodes: Nodes, t: Integers, seed: int = 0) -> Walks:
        """Of nodes at times: their last events, or, if they are drawn, any of their events."""
        config = self.config
        if not config.drawn:
            entries = self.state.before(nodes, t, config.neighbors)
            return walks_by(self.state, nodes, t, entries, self.clock, config.alpha)
        rate = config.alpha / self.clock.ticks(1.0)
        entries = self.state.draw_before(nodes, t, config.neighbors, rate, config.parity, seed)
        return walks_by(self.state, nodes, t, entries, self.clock, None)

    def _embed_pairs(self, walks: Walks, left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
        """z of both ends, (P, out) each, of pairs of moments: once for a moment where the ends have nothing
        in common, and for either end of a pair where they do."""
        cross = [self._cross(walks, *ends) for ends in ((left, right), (right, left))]  # (P, 1 + K, 2) each
        meets = (cross[0] + cross[1]).flatten(1).any(dim=1)  # (P,)
        pair = meets.nonzero()[:, 0]
        alone, place = torch.unique(torch.cat((left[~meets], right[~meets])), return_inverse=True)
        moment = torch.cat((alone, left[pair], right[pair]))
        nothing = cross[0].new_zeros(len(alone), *cross[0].shape[1:])
        z = self._embed(walks, moment, torch.cat((nothing, cross[0][pair], cross[1][pair])))
        row = torch.empty(2, len(left), dtype=torch.int64, device=left.device)
        row[:, ~meets] = place.view(2, -1)
        row[:, pair] = len(alone) + torch.arange(2 * len(pair), device=left.device).view(2, -1)
        return z.index_select(0, row[0]), z.index_select(0, row[1])

    def _cross(self, walks: Walks, own: Tensor, other: Tensor) -> Tensor:
        """g of the nodes of moments ``own`` in the walks of moments ``other``, (P, 1 + K, 2)."""
        nodes, at_once = walks.nodes, max(1, COMPARED_AT_ONCE // self.config.neighbors**2)
        return torch.cat(
            [
                occurrences(nodes[one], walks.root[two], walks.other[two], walks.weight[two])
                for one, two in zip(torch.split(own, at_once), torch.split(other, at_once), strict=True)
            ]
        )

    # -- embeddings ----------------------------------------------------------------------------------

    def _embed(self, walks: Walks, moment: Tensor, cross: Tensor) -> Tensor:
        """z (R, out) of moments (R,), given g of their nodes in the walks of the other end (R, 1 + K, 2).
        Those with about as many walks go together, so that hardly any place is empty."""
        order = torch.argsort(walks.count[moment], stable=True)
        step = max(1, WALKS_AT_ONCE // self.config.neighbors)
        last = [min(start + step, len(order)) - 1 for start in range(0, len(order), step)]
        most = walks.count[moment[order[last]]].clamp(min=1).tolist()  # one wait for the device
        parts = zip(torch.split(order, step), most, strict=False)
        z = [self._embed_alike(walks, moment[part], cross[part], width) for part, width in parts]
        place = torch.empty_like(order)
        place[order] = torch.arange(len(order), device=order.device)
        return torch.cat([*z, self.encoder.output.weight.new_empty(0, self.config.out_dim)])[place]

    def _embed_alike(self, walks: Walks, moment: Tensor, cross: Tensor, width: int) -> Tensor:
        """The same of moments that have at most ``width`` walks."""
        nodes = walks.nodes[moment, : 1 + width]  # (g, 1 + width)
        other, weight = walks.other[moment, :width], walks.weight[moment, :width]
        own = occurrences(nodes, walks.root[moment], other, weight)
        position = self.position(own) + self.position(cross[:, : 1 + width])
        z: Tensor = self.encoder(self._known(walks, moment, nodes), position, weight)
        return z

    def _known(self, walks: Walks, moment: Tensor, nodes: Tensor) -> Tensor:
        """[x ‖ ψφ ‖ ψe] of roots and of where walks lead, (g, 1 + width, ·)."""
        width = nodes.shape[1] - 1
        event, age = walks.event[moment, :width], walks.age[moment, :width]
        age = torch.cat((torch.zeros_like(age[:, :1]), age), dim=1)
        psi: Tensor = self.kernel(age)
        psi = torch.cat((torch.ones_like(psi[:, :1]), psi[:, 1:]), dim=1)  # a root is no event
        message = self.state.messages.index_select(0, event.flatten()).view(*event.shape, -1)
        message = torch.cat((torch.zeros_like(message[:, :1]), message), dim=1)
        features = self.state.node_features
        x = features.of(torch.where(nodes < 0, len(features.table), nodes).flatten()).view(*nodes.shape, -1)
        return torch.cat((x, psi * self.time_encoder(age), psi * message), dim=2)
