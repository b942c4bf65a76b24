"""The other side of benchmarks/tgn.py: PyG's TGN modules in the loop of TGB's example.

Written after the loop that TGB's example for tgbl-wiki runs: `TGNMemory`, `LastNeighborLoader`,
`TransformerConv`, a link predictor; in evaluation every positive embeds its 1,000 candidates again.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from tgb.linkproppred.evaluate import Evaluator
from torch import Tensor, nn
from torch_geometric.nn import TransformerConv
from torch_geometric.nn.models.tgn import IdentityMessage, LastAggregator, LastNeighborLoader, TGNMemory

from keat.events import EventStream
from keat.models.decoders import LinkPredictor
from keat.models.tgn import TGN

DIM, NEIGHBORS, HEADS, DROPOUT = 100, 10, 2, 0.1


class PyGReference(nn.Module):
    """TGN out of PyG's parts, over one stream whose events are taken in order from the first."""

    def __init__(self, stream: EventStream) -> None:
        super().__init__()
        features = stream.feature_dim
        self.memory = TGNMemory(
            stream.num_nodes,
            features,
            DIM,
            DIM,
            message_module=IdentityMessage(features, DIM, DIM),
            aggregator_module=LastAggregator(),
        )
        self.conv = TransformerConv(DIM, DIM // HEADS, heads=HEADS, dropout=DROPOUT, edge_dim=DIM + features)
        self.predictor = LinkPredictor(DIM)
        self.loader = LastNeighborLoader(stream.num_nodes, NEIGHBORS)
        self.place = torch.empty(stream.num_nodes, dtype=torch.int64)
        self.t = torch.from_numpy(stream.t.copy())
        self.features = torch.from_numpy(stream.features.copy())
        self.evaluator = Evaluator(name="tgbl-wiki")
        self.optimizer = torch.optim.Adam(self.parameters(), lr=1e-4)

    def take_weights(self, model: TGN) -> None:
        """Become the same function as ``model``, a plain TGN with precision="legacy"."""
        self.memory.gru.load_state_dict(model.memory.gru.state_dict())
        self.memory.time_enc.load_state_dict(model.time_encoder.state_dict())
        self.conv.load_state_dict(model.attention.state_dict())
        self.predictor.load_state_dict(model.predictor.state_dict())

    def reset(self) -> None:
        self.memory.reset_state()
        self.loader.reset_state()

    def embed(self, nodes: Tensor) -> Tensor:
        """Embeddings of the distinct ``nodes`` and their neighbours; rows are found through ``place``."""
        nodes, edges, events = self.loader(nodes)
        self.place[nodes] = torch.arange(len(nodes))
        memory, last_update = self.memory(nodes)
        age = last_update[edges[0]] - self.t[events]
        encoded = self.memory.time_enc(age.to(memory.dtype))
        z: Tensor = self.conv(memory, edges, torch.cat((encoded, self.features[events]), dim=-1))
        return z

    def logits(self, z: Tensor, src: Tensor, dst: Tensor) -> Tensor:
        p = self.predictor
        hidden = p.lin_src(z[self.place[src]]) + p.lin_dst(z[self.place[dst]])
        logit: Tensor = p.lin_final(hidden.relu())
        return logit

    def train_step(self, block: EventStream, negative: npt.NDArray[np.int32]) -> float:
        src, dst = _ids(block.src), _ids(block.dst)
        other = _ids(negative)
        self.optimizer.zero_grad()
        z = self.embed(torch.unique(torch.cat((src, dst, other))))
        true, false = self.logits(z, src, dst), self.logits(z, src, other)
        loss = nn.functional.binary_cross_entropy_with_logits(true, torch.ones_like(true))
        loss += nn.functional.binary_cross_entropy_with_logits(false, torch.zeros_like(false))
        self.observe(block)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        self.memory.detach()
        return loss.item()

    def observe(self, block: EventStream) -> None:
        src, dst = _ids(block.src), _ids(block.dst)
        rows = slice(block.offset, block.offset + len(block))
        self.memory.update_state(src, dst, self.t[rows], self.features[rows])
        self.loader.insert(src, dst)

    @torch.no_grad()
    def evaluate_one(self, src: int, dst: int, negatives: npt.NDArray[np.int32]) -> tuple[float, Tensor]:
        """The reciprocal rank of one positive, as TGB's example finds it, and the scores behind it."""
        candidates = torch.tensor(np.concatenate(([dst], negatives)), dtype=torch.int64)
        source = torch.full_like(candidates, src)
        z = self.embed(torch.unique(torch.cat((source, candidates))))
        scores = self.logits(z, source, candidates)
        asked = {
            "y_pred_pos": scores[0].numpy(),
            "y_pred_neg": scores[1:, 0].numpy(),
            "eval_metric": ["mrr"],
        }
        return float(self.evaluator.eval(asked)["mrr"]), scores[:, 0]


def _ids(column: npt.NDArray[np.int32]) -> Tensor:
    return torch.from_numpy(column.astype(np.int64))
