"""Models of streams that are trained, by name: class, default configuration, a few words.

A model that is added here can be trained, resumed, evaluated and explained by its name, and joins the
registry-wide tests.
"""

from __future__ import annotations

from dataclasses import dataclass

from keat.cooccurrence.pair_columns import USUAL_EDITION
from keat.models.cawn import CAWN, CAWNConfig
from keat.models.contract import LearnedLinkModel
from keat.models.craft import CRAFT, CRAFTConfig
from keat.models.ctan import CTAN, CTANConfig
from keat.models.dygformer import DyGFormer, DyGFormerConfig
from keat.models.dyrep import DyRep, DyRepConfig
from keat.models.graphmixer import GraphMixer, GraphMixerConfig
from keat.models.jodie_model import JODIE, JODIEConfig
from keat.models.nat import NAT, NATConfig
from keat.models.rank import KeatRank, RankConfig
from keat.models.slm import SLM, SLMConfig
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
from keat.models.snapshots.snapshot_config import HISTORY
from keat.models.tcl import TCL, TCLConfig
from keat.models.tgat import TGAT, TGATConfig
from keat.models.tgn import TGN, TGNConfig
from keat.models.tncn import TNCN, TNCNConfig
from keat.models.tpnet import TPNet, TPNetConfig

SnapshotConfigs = GCNConfig | GCLSTMConfig | EvolveGCNConfig | HTGNConfig
StreamConfig = (
    TGNConfig
    | DyGFormerConfig
    | TGATConfig
    | GraphMixerConfig
    | RankConfig
    | TCLConfig
    | NATConfig
    | CAWNConfig
    | JODIEConfig
    | CTANConfig
    | DyRepConfig
    | TNCNConfig
    | SLMConfig
    | TPNetConfig
    | CRAFTConfig
    | SnapshotConfigs
)


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
    "tcl": Architecture(TCL, TCLConfig(), "two Transformers over last events, which look at each other"),
    "keat-tcl": Architecture(TCL, TCLConfig(kernel="laplacian"), "TCL whose edge evidence fades with age"),
    "nat": Architecture(NAT, NATConfig(), "slots for the neighbours of a node, and what two have in common"),
    "keat-nat": Architecture(NAT, NATConfig(kernel="laplacian"), "NAT whose slots fade with age"),
    "cawn": Architecture(CAWN, CAWNConfig(), "walks back from both ends, and where nodes occur in them"),
    "keat-cawn": Architecture(
        CAWN, CAWNConfig(kernel="laplacian", alpha=0.0), "CAWN whose edge evidence fades with age"
    ),
    "keat-rank": Architecture(
        KeatRank, RankConfig(edition=USUAL_EDITION), "fading sums of who met whom, into a small network"
    ),
    "jodie": Architecture(JODIE, JODIEConfig(), "a recurrent memory of every node that drifts with time"),
    "ctan": Architecture(CTAN, CTANConfig(), "embeddings that flow between nodes without loss"),
    "keat-ctan": Architecture(
        CTAN, CTANConfig(kernel="laplacian"), "CTAN whose edge evidence fades with age"
    ),
    "dyrep": Architecture(DyRep, DyRepConfig(), "a recurrent memory told of the other's neighbourhood"),
    "keat-dyrep": Architecture(
        DyRep, DyRepConfig(kernel="laplacian"), "DyRep whose edge evidence fades with age"
    ),
    "tncn": Architecture(TNCN, TNCNConfig(), "TGN that also sees which neighbours two nodes have in common"),
    "keat-tncn": Architecture(
        TNCN, TNCNConfig(kernel="laplacian"), "TNCN whose edge evidence and common neighbours fade with age"
    ),
    "slm": Architecture(SLM, SLMConfig(), "smoothed counts of what follows what, and 13 weights"),
    "tpnet": Architecture(TPNet, TPNetConfig(), "walks between two nodes that fade, in projections"),
    "keat-tpnet": Architecture(
        TPNet, TPNetConfig(decay="0.05,0.75,12", kernel="laplacian"), "TPNet whose walks fade at three widths"
    ),
    "craft": Architecture(CRAFT, CRAFTConfig(), "learned identities that attend to a source's last partners"),
    "craft-r": Architecture(CRAFT, CRAFTConfig(repeats=True), "CRAFT that counts repeats, too"),
    "keat-craft": Architecture(
        CRAFT, CRAFTConfig(kernel="laplacian"), "CRAFT that reads elapsed time at six widths"
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
