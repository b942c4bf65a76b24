"""Models of streams that are trained, by name: class, default configuration, a few words.

A model that is added here can be trained, resumed, evaluated and explained by its name, and joins the
registry-wide tests.
"""

from __future__ import annotations

from dataclasses import dataclass

from keat.cooccurrence.pair_columns import EDITIONS
from keat.models.contract import LearnedLinkModel
from keat.models.craft import CRAFT, CRAFTConfig
from keat.models.dygformer import DyGFormer, DyGFormerConfig
from keat.models.graphmixer import GraphMixer, GraphMixerConfig
from keat.models.rank import KeatRank, RankConfig
from keat.models.slm import SLM, SLMConfig
from keat.models.tgat import TGAT, TGATConfig
from keat.models.tgn import TGN, TGNConfig
from keat.models.tpnet import TPNet, TPNetConfig

StreamConfig = (
    TGNConfig
    | DyGFormerConfig
    | TGATConfig
    | GraphMixerConfig
    | RankConfig
    | SLMConfig
    | TPNetConfig
    | CRAFTConfig
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
    "keat-rank": Architecture(
        KeatRank, RankConfig(edition=EDITIONS), "fading sums of who met whom, into a small network"
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
}
