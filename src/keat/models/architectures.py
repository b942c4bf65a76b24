"""Models of streams that are trained, by name: class, default configuration, a few words.

A model that is added here can be trained, resumed, evaluated and explained by its name, and joins the
registry-wide tests.
"""

from __future__ import annotations

from dataclasses import dataclass

from keat.cooccurrence.pair_columns import EDITIONS
from keat.models.contract import LearnedLinkModel
from keat.models.dygformer import DyGFormer, DyGFormerConfig
from keat.models.graphmixer import GraphMixer, GraphMixerConfig
from keat.models.rank import KeatRank, RankConfig
from keat.models.snapshots import (
    GCLSTM,
    GCN,
    HTGN,
    EvolveGCN,
    EvolveGCNConfig,
    GCLSTMConfig,
    GCNConfig,
    HTGNConfig,
)
from keat.models.snapshots.config import HISTORY
from keat.models.tgat import TGAT, TGATConfig
from keat.models.tgn import TGN, TGNConfig

SnapshotConfigs = GCNConfig | GCLSTMConfig | EvolveGCNConfig | HTGNConfig
StreamConfig = TGNConfig | DyGFormerConfig | TGATConfig | GraphMixerConfig | RankConfig | SnapshotConfigs


@dataclass(frozen=True, slots=True)
class Architecture:
    """A model of streams that is trained: its class, its default configuration, and what to say of it."""

    kind: type[LearnedLinkModel]
    config: StreamConfig
    about: str


ARCHITECTURES: dict[str, Architecture] = {
    "tgn": Architecture(TGN, TGNConfig(), "node memory and attention over recent events"),
    "keat-tgn": Architecture(TGN, TGNConfig(kernel="laplacian"), "TGN whose edge evidence fades with age"),
    "dygformer": Architecture(
        DyGFormer, DyGFormerConfig(), "a Transformer over the past events of both ends of a pair"
    ),
    "keat-dygformer": Architecture(
        DyGFormer, DyGFormerConfig(kernel="laplacian"), "DyGFormer whose edge evidence fades with age"
    ),
    "tgat": Architecture(TGAT, TGATConfig(), "attention over past events and over theirs"),
    "keat-tgat": Architecture(
        TGAT, TGATConfig(kernel="laplacian"), "TGAT whose edge evidence fades with age"
    ),
    "graphmixer": Architecture(GraphMixer, GraphMixerConfig(), "an MLP-Mixer over a node's last events"),
    "keat-graphmixer": Architecture(
        GraphMixer, GraphMixerConfig(kernel="laplacian"), "GraphMixer whose evidence fades with age"
    ),
    "keat-rank": Architecture(
        KeatRank, RankConfig(edition=EDITIONS), "fading sums of who met whom, into a small network"
    ),
    "utg-gcn": Architecture(GCN, GCNConfig(), "graph convolution over the latest snapshot"),
    "keat-utg-gcn": Architecture(
        GCN,
        GCNConfig(kernel="laplacian", history=HISTORY, repeats=True),
        "the same over past events that fade with age",
    ),
    "utg-gclstm": Architecture(GCLSTM, GCLSTMConfig(), "an LSTM of every node over graphs of snapshots"),
    "keat-utg-gclstm": Architecture(
        GCLSTM,
        GCLSTMConfig(kernel="laplacian", history=HISTORY, repeats=True),
        "the same over past events that fade with age",
    ),
    "utg-evolvegcn": Architecture(
        EvolveGCN, EvolveGCNConfig(), "graph convolution whose weight changes with every snapshot"
    ),
    "keat-utg-evolvegcn": Architecture(
        EvolveGCN,
        EvolveGCNConfig(kernel="laplacian", history=HISTORY, repeats=True),
        "the same over past events that fade with age",
    ),
    "utg-htgn": Architecture(HTGN, HTGNConfig(), "hyperbolic graph convolution over snapshots"),
    "keat-utg-htgn": Architecture(
        HTGN,
        HTGNConfig(kernel="laplacian", history=HISTORY, repeats=True),
        "the same over past events that fade with age",
    ),
}
