"""DyGFormer and KEAT-DyGFormer as link models."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from keat.clock import PLAIN, Clock
from keat.cooccurrence.widths import geometric_widths
from keat.errors import InputError, unknown_name
from keat.kernels import Identity, create_kernel
from keat.models.contract import EmbedsPairs, KeepsEvents, Queries, ReadsByTime
from keat.models.decoders import MergeLayer
from keat.models.dygformer.bundles import bundles, by_length
from keat.models.dygformer.config import COOCCURRENCES, READINGS, DyGFormerConfig
from keat.models.dygformer.encoder import Encoder
from keat.models.dygformer.fading import FadingSums, sum_up
from keat.models.dygformer.sequences import PairTokens, Sequences, mean_ages, pair_up, sample, stand_ins
from keat.models.dygformer.tokens import Channels
from keat.ops import Integers
from keat.state import EventHistory, as_tensor
from keat.time_encoding import create_time_encoder

PAIRS_AT_ONCE = 1 << 10  # in evaluation: of 64 tokens each, some 200 MiB
TOKENS_LEARNING, TOKENS_SCORING = 4096, 1024  # encoded together


class DyGFormer(KeepsEvents, EmbedsPairs, ReadsByTime):
    """The tokens of a pair (u, v) at time t are the patches p of u's last events before t, then those of v's:

        x_p = [node ‖ message ‖ φ(Δ) ‖ co-occurrence], each through a linear layer of its own
        x  ← x + drop(W_O attention(x)),  x ← x + drop(FFN(LN x))      in each layer, among all tokens
        z_u = W mean_{p of u} x_p + b,  z_v the same of v's
        logit(u, v, t) = merge(z_u, z_v)

    KEAT is ψ(Δ) in the attention: `keat.models.dygformer.attention` has its formulas, one for each reading.
    """

    name = "dygformer"
    state: EventHistory

    def __init__(
        self, num_nodes: int, feature_dim: int, sigma: float, config: DyGFormerConfig, clock: Clock = PLAIN
    ) -> None:
        super().__init__()
        if config.reading not in READINGS:
            raise unknown_name("reading", config.reading, READINGS)
        if config.cooccurrence not in COOCCURRENCES:
            raise unknown_name("co-occurrence", config.cooccurrence, COOCCURRENCES)
        if config.length % config.patch:
            raise InputError(
                f"The length of sequences must be a multiple of the patch, and {config.length} is none of "
                f"{config.patch}."
            )
        self.config, self.sigma, self.clock = config, sigma, clock
        self.state = EventHistory(num_nodes, feature_dim, config.node_dim)
        self.kernel = create_kernel(config.kernel, sigma, config.width, config.heads)
        self.plain = isinstance(self.kernel, Identity) or math.isinf(config.width)
        self.widths = geometric_widths(sigma)
        self.channels = Channels(
            config.patch,
            config.channel,
            feature_dim,
            self.state.node_features,
            create_time_encoder(config.time_encoder, config.time_dim, config.precision),
            config.cooccurrence,
            len(self.widths),
        )
        dim = 4 * config.channel
        self.encoder = Encoder(dim, config.layers, config.heads, config.dropout, config.reading)
        self.embedding_dim = config.out_dim
        self.output = nn.Linear(dim, config.out_dim)
        self.decoder = MergeLayer(config.out_dim, config.out_dim, config.out_dim, 1)

    # -- scores --------------------------------------------------------------------------------------

    def score(self, queries: Queries) -> Tensor:
        nodes = np.broadcast_to(queries.candidates, queries.shape).ravel()
        row = np.arange(len(queries.src)).repeat(queries.shape[1])
        if self.training:
            return self._logits(queries.src, queries.t, row, nodes).view(queries.shape)
        at_once = max(1, len(row)) if self.config.legacy_padding else PAIRS_AT_ONCE
        logits = [self.output.weight.new_empty(0)]
        with torch.no_grad():
            for start in range(0, len(row), at_once):
                part = slice(start, start + at_once)
                sources = slice(int(row[part][0]), int(row[part][-1]) + 1)
                logits.append(
                    self._logits(
                        queries.src[sources], queries.t[sources], row[part] - sources.start, nodes[part]
                    )
                )
        return torch.cat(logits).view(queries.shape)

    def pair_embeddings(
        self, src: npt.NDArray[np.int32], dst: npt.NDArray[np.int32], t: npt.NDArray[np.int64]
    ) -> Tensor:
        parts = [self.output.weight.new_empty((0, 2 * self.embedding_dim))]
        at_once = len(src) if self.training else PAIRS_AT_ONCE
        for start in range(0, len(src), max(1, at_once)):
            part = slice(start, start + at_once)
            z_u, z_v, place = self._ends(src[part], t[part], np.arange(len(src[part])), dst[part])
            parts.append(torch.cat((z_u, z_v), dim=1).index_select(0, place))
        return torch.cat(parts)

    def _logits(
        self, src: npt.NDArray[np.int32], t: Integers, row: Integers, nodes: npt.NDArray[np.int32]
    ) -> Tensor:
        """Logits (N,) of pairs (src[row[i]], nodes[i]) at t[row[i]]."""
        z_u, z_v, place = self._ends(src, t, row, nodes)
        logits: Tensor = self.decoder(z_u, z_v)[:, 0]
        return logits.index_select(0, place)

    def _ends(
        self, src: npt.NDArray[np.int32], t: Integers, row: Integers, nodes: npt.NDArray[np.int32]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Both ends (M, d) of distinct pairs, and which of them each pair (src[row[i]], nodes[i]) is (N,)."""
        length, patch, alike = self.config.length, self.config.patch, self.config.legacy_padding
        mine = sample(self.state, src, t, length, patch, alike)
        others = sample(self.state, nodes, t[row], length, patch, alike)
        pairs = same = np.arange(len(row))
        if not self.training and not self.state.node_features.used:
            pairs, same = np.unique(stand_ins(mine, others, row, patch), return_inverse=True)
        sequences = mine.followed_by(others).measured_by(self.clock)
        order = by_length(sequences.patches, row[pairs], len(src) + pairs)
        pairs = pairs[order]
        left, right = row[pairs], len(src) + pairs
        tokens = pair_up(sequences, left, right, patch)
        sums = None
        if self.config.cooccurrence != "counts":
            sums = sum_up(sequences, tokens, left, right, patch, self.widths)
        x, psi = self._tokens(sequences, tokens, sums, np.concatenate((t, t[row])))
        encode = self._encode if self.training else self._encode_projected
        z_u, z_v = self.output(encode(tokens, x, psi)).unbind(1)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        return z_u, z_v, torch.from_numpy(place[same]).to(self.device)

    def _tokens(
        self, sequences: Sequences, tokens: PairTokens, sums: FadingSums | None, t: Integers
    ) -> tuple[Tensor, Tensor | None]:
        """Distinct tokens (R, d), and ψ of their ages (R, heads or 1); none for the plain model."""
        x = self.channels(sequences, tokens, sums, self.state.messages)
        if self.plain:
            return x, None
        age = mean_ages(sequences, self.config.patch)
        if self.config.legacy_padding:  # of patches of padding, as if it had happened at time 0
            padding = sequences.node.reshape(-1, self.config.patch)[:, 0] < 0
            age[padding] = self.clock.measure(t).repeat(sequences.patches)[padding]
        return x, self.kernel(torch.from_numpy(age[tokens.patch]).to(self.device))

    def _encode(self, tokens: PairTokens, x: Tensor, psi: Tensor | None) -> Tensor:
        """Means (pairs, 2, d) over u's and v's tokens. For training: rows are fetched once for all bundles,
        so that their gradient is summed up once."""
        row = as_tensor(tokens.row, self.device)
        parts = list(bundles(tokens, TOKENS_LEARNING, self.device))
        sizes = [len(part.row) for part in parts]
        xs = torch.split(x.index_select(0, row), sizes)
        psis = [None] * len(parts) if psi is None else torch.split(psi.index_select(0, row), sizes)
        return torch.cat([self.encoder(*one) for one in zip(parts, xs, psis, strict=True)])

    def _encode_projected(self, tokens: PairTokens, x: Tensor, psi: Tensor | None) -> Tensor:
        """The same for evaluation: rows, which many pairs may share, are projected first, then fetched."""
        table = self.encoder.project(x, psi)
        means = []
        for part in bundles(tokens, TOKENS_SCORING, self.device):
            own_psi = None if psi is None else psi.index_select(0, part.row)
            means.append(self.encoder(part, x.index_select(0, part.row), own_psi, table))
        return torch.cat(means)
