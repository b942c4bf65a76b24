"""A second peer of benchmarks/tgn.py: the TGN of TGM (`tgm-lib` 0.1.0b1), where it is installed.

TGM is not a dependency of keat. Its modules and hooks are put together as its documentation shows: recent
neighbours by a hook, deduplicated, then memory, attention and decoder. Seeds are not deduplicated before
sampling, and the aggregator compares every message with every node; otherwise the model is the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import torch
from torch import nn

from benchmarks.tgn_reference import DIM, NEIGHBORS
from keat.events import EventStream


def why_not() -> str | None:
    """Why TGM cannot take part, or None where it can."""
    try:
        import_module("tgm.nn")
    except ImportError as error:
        return f"TGM is not installed ({error})"
    return None


class TGMReference:
    """One epoch of training over ``stream``, a batch a step."""

    def __init__(self, stream: EventStream, batch_size: int) -> None:
        core, tgn = import_module("tgm"), import_module("tgm.nn.encoder.tgn")
        data, hooks, nets = (import_module(f"tgm.{name}") for name in ("data", "hooks", "nn"))
        ends = torch.stack([torch.from_numpy(ids.copy()) for ids in (stream.src, stream.dst)], dim=1)
        edges = data.DGData.from_raw(
            torch.from_numpy(stream.t.copy()), ends, torch.from_numpy(stream.features.copy()), time_delta="s"
        )
        manager = hooks.HookManager(keys=["train"])
        low, high = int(stream.dst.min()), int(stream.dst.max())
        manager.register("train", hooks.NegativeEdgeSamplerHook(low=low, high=high + 1))
        manager.register(
            "train",
            hooks.RecencyNeighborHook(
                num_nodes=stream.num_nodes,
                num_nbrs=[NEIGHBORS],
                seed_nodes_keys=["edge_src", "edge_dst", "neg"],
                seed_times_keys=["edge_time", "edge_time", "neg_time"],
            ),
        )
        manager.register("train", hooks.DeduplicationHook())
        manager.set_active_hooks("train")
        features = stream.feature_dim
        self.memory = tgn.TGNMemory(
            stream.num_nodes,
            features,
            DIM,
            DIM,
            message_module=tgn.IdentityMessage(features, DIM, DIM),
            aggregator_module=tgn.LastAggregator(),
        )
        self.attention = tgn.GraphAttentionEmbedding(DIM, DIM, features, self.memory.time_enc)
        self.decoder = nets.LinkPredictor(DIM, hidden_dim=DIM)
        modules = nn.ModuleList((self.memory, self.attention, self.decoder)).train()
        self.optimizer = torch.optim.Adam(modules.parameters(), lr=1e-4)
        self.batches: Iterator[Any] = iter(
            data.DGDataLoader(core.DGraph(edges), batch_size=batch_size, hook_manager=manager)
        )

    def train_step(self) -> float:
        """Load the next batch and learn from it."""
        batch = next(self.batches)
        self.optimizer.zero_grad()
        neighbors = batch.nbr_nids[0].flatten()
        present = neighbors >= 0
        seeds = torch.cat((batch.edge_src, batch.edge_dst, batch.neg)).repeat_interleave(NEIGHBORS)
        edges = torch.stack(
            (batch.global_to_local(neighbors[present]), batch.global_to_local(seeds[present]))
        ).long()
        z, last_update = self.memory(batch.unique_nids)
        happened, features = batch.nbr_edge_time[0].flatten(), batch.nbr_edge_x[0].flatten(0, 1)
        z = self.attention(z, last_update, edges, happened[present], features[present])
        src, dst, other = (
            z[batch.global_to_local(ids)] for ids in (batch.edge_src, batch.edge_dst, batch.neg)
        )
        true, false = self.decoder(src, dst), self.decoder(src, other)
        loss = nn.functional.binary_cross_entropy_with_logits(true, torch.ones_like(true))
        loss += nn.functional.binary_cross_entropy_with_logits(false, torch.zeros_like(false))
        self.memory.update_state(batch.edge_src, batch.edge_dst, batch.edge_time, batch.edge_x)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        self.memory.detach()
        return loss.item()
