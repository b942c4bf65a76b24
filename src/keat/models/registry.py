"""All models by name. What is registered here joins the registry-wide tests by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import torch

from keat.bandwidth import estimate_sigma
from keat.clock import Clock
from keat.cooccurrence.pair_columns import USUAL_EDITION
from keat.errors import InputError, unknown_name
from keat.events import EventStream
from keat.events.units import clock_of
from keat.models.architectures import ARCHITECTURES, Architecture, StreamConfig
from keat.models.attribute_means import EVERY, BoostedTrees, LastAttribute, MeanAttribute
from keat.models.base3 import Base3
from keat.models.contract import (
    EmbedsNodes,
    EmbedsPairs,
    LearnedLinkModel,
    LearnedModel,
    LinkModel,
    NodeModel,
)
from keat.models.counts import CountsAndRecencies
from keat.models.explainable import ExplainsPairs
from keat.models.forecasts import MovingAverage, PersistentForecast
from keat.models.gearsage import GEARSAGE_CONFIGS, GEARSage, GEARSageConfig, build_graph
from keat.models.graph_baselines import Degree, GraphBaseline, LogisticOfFeatures
from keat.models.heuristics import (
    EdgeBank,
    EdgeBankWindow,
    GlobalRecency,
    LocalGlobalRecency,
    LocalRecencyPopularity,
    PopTrack,
    WindowedPopularity,
)
from keat.models.node_head import AttributeHead, NodeHead
from keat.models.rank import KeatRank, RankConfig
from keat.models.settings import PAIR_TERMS
from keat.models.with_pair_term import WithPairTerm

M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class ModelEntry(Generic[M]):
    """How to build a model from the training split, and what to say of it. A node model may use the number of
    classes, never the labels."""

    build: Callable[[EventStream], M]
    about: str
    heuristic: bool


LinkEntry = ModelEntry[LinkModel]
NodeEntry = ModelEntry[NodeModel]


def _forecast(kind: type[PersistentForecast]) -> Callable[[EventStream], NodeModel]:
    def build(train: EventStream) -> NodeModel:
        if train.node_labels is None:
            raise InputError(f"{kind.name} needs node labels over time, and {train.name} has none.")
        return kind(train.node_labels, train.num_nodes)

    return build


ModelConfig = StreamConfig | GEARSageConfig


@dataclass(frozen=True, slots=True)
class GraphArchitecture:
    """The same of a model of whole graphs."""

    kind: type[GEARSage]
    config: GEARSageConfig
    about: str


GRAPH_ARCHITECTURES: dict[str, GraphArchitecture] = {
    "gearsage": GraphArchitecture(
        GEARSage, GEARSAGE_CONFIGS["gearsage"], "sums over the contacts of everybody in a whole graph"
    ),
    "keat-gearsage": GraphArchitecture(
        GEARSage, GEARSAGE_CONFIGS["keat-gearsage"], "GEARSage whose edge evidence fades with age"
    ),
}
TRAINED: dict[str, Architecture | GraphArchitecture] = {**ARCHITECTURES, **GRAPH_ARCHITECTURES}


def build_model(train: EventStream, config: Any, seed: int = 0, sigma: float | None = None) -> Any:
    """The model of a configuration with fresh parameters, ready to score; σ is the training split's, in the
    unit of the configuration's clock."""
    clock = clock_of(train.unit, config.clock)
    if sigma is None:
        sigma = estimate_sigma(train.src, train.dst, train.t, clock=clock)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = assemble(config, train.num_nodes, train.feature_dim, sigma, clock)
    model.look_at(train)
    return model.eval()


def build_graph_model(
    stream: EventStream, y: npt.NDArray[np.int64], config: GEARSageConfig, seed: int = 42
) -> GEARSage:
    """A model of a whole graph with fresh parameters, which has read it. σ is that of all edges: the split is
    of labels, and every edge is input."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = GEARSage(estimate_sigma(stream.src, stream.dst, stream.t), config)
    model.read(build_graph(stream, y, config.delta))
    return model


def assemble(config: Any, num_nodes: int, feature_dim: int, sigma: float, clock: Clock) -> Any:
    """The model of a configuration, with the pair term beside it that the configuration may ask for."""
    model = kind_of(config)(num_nodes, feature_dim, sigma, config, clock)
    if not has_pair_term(config):
        return model
    edition = USUAL_EDITION if config.pair_term == "rank" else 1
    known = RankConfig(widths=config.pair_widths, edition=edition)
    pair = KeatRank(num_nodes, feature_dim, sigma, known, clock)
    return WithPairTerm(model, pair)


def has_pair_term(config: Any) -> bool:
    """Whether the model of a configuration is to have one."""
    term = getattr(config, "pair_term", "none")
    if term not in PAIR_TERMS:
        raise unknown_name("pair term", term, PAIR_TERMS)
    return bool(term != "none")


def trains_in_turn(config: Any) -> bool:
    """Whether the model of a configuration is trained, and so best asked, in turn."""
    return has_pair_term(config) or bool(kind_of(config).trains_in_turn)


def build_node_model(train: EventStream, config: Any, seed: int = 0) -> NodeHead:
    """A model of node properties: the configuration's model embeds, a head with fresh parameters reads."""
    if train.node_labels is None:
        raise InputError(f"A node model needs node labels over time, and {train.name} has none.")
    return add_head(build_model(train, config, seed), NodeHead, train.node_labels.num_classes, seed=seed)


def add_head(
    encoder: LearnedLinkModel, kind: type[NodeHead], size: int, *, frozen: bool = False, seed: int = 0
) -> NodeHead:
    """A head with fresh parameters on a model's embeddings; ``size`` is that of the head."""
    of_pairs = issubclass(kind, AttributeHead) and isinstance(encoder, EmbedsPairs)
    if not isinstance(encoder, EmbedsNodes) and not of_pairs:
        raise InputError(f"{encoder.name} scores pairs and embeds no single node, so it has no node tasks.")
    if isinstance(encoder, ExplainsPairs):
        raise InputError("A pair term scores pairs of nodes; leave it out (pair_term none) for node tasks.")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        head = kind(encoder, size, frozen=frozen)  # type: ignore[arg-type]  # as was looked at
    return head.eval()


def kind_of(config: Any) -> type[Any]:
    """The class a configuration belongs to."""
    return next(entry.kind for entry in ARCHITECTURES.values() if type(entry.config) is type(config))


def embeds_nodes(entry: Architecture) -> bool:
    """Whether a model has embeddings of single nodes, which a head for node tasks can read."""
    return issubclass(entry.kind, EmbedsNodes)


def embeds_events(entry: Architecture) -> bool:
    """Whether a head for attributes of events can read both ends of one, each by itself or together."""
    return issubclass(entry.kind, EmbedsNodes | EmbedsPairs)


LINK_MODELS: dict[str, LinkEntry] = {
    "edgebank": ModelEntry(EdgeBank, "1 if the pair was ever seen (EdgeBank∞)", heuristic=True),
    "edgebank-tw": ModelEntry(
        EdgeBankWindow, "1 if the pair was seen in the last 15 % of time", heuristic=True
    ),
    "poptrack": ModelEntry(PopTrack, "recently popular destinations", heuristic=True),
    "global-recency": ModelEntry(GlobalRecency, "destinations, latest first", heuristic=True),
    "local-global": ModelEntry(
        LocalGlobalRecency, "the source's own destinations, latest first, then all", heuristic=True
    ),
    "local-recency-popularity": ModelEntry(
        LocalRecencyPopularity, "the source's own destinations, latest first, then most often", heuristic=True
    ),
    "windowed-popularity": ModelEntry(
        WindowedPopularity, "destinations most often met in a window of time", heuristic=True
    ),
    "base3": ModelEntry(
        Base3, "pair seen, destination popular, pair counted: a weighted sum", heuristic=True
    ),
    **{
        name: ModelEntry(partial(build_model, config=a.config), a.about, heuristic=False)
        for name, a in ARCHITECTURES.items()
    },
}

NODE_MODELS: dict[str, NodeEntry] = {
    "persistent-forecast": ModelEntry(
        _forecast(PersistentForecast), "the node's last label again", heuristic=True
    ),
    "moving-average": ModelEntry(
        _forecast(MovingAverage), "a running mean of the node's labels", heuristic=True
    ),
    **{
        name: ModelEntry(
            partial(build_node_model, config=entry.config),
            f"{entry.about}; a head on its embeddings",
            heuristic=False,
        )
        for name, entry in ARCHITECTURES.items()
        if embeds_nodes(entry)
    },
}


LABEL_MODELS: dict[str, NodeEntry] = {
    "counts": ModelEntry(
        CountsAndRecencies, "logistic regression on plain counts and recencies", heuristic=True
    ),
}


ATTRIBUTE_MODELS: dict[str, NodeEntry] = {
    **{
        f"{what}-{of}": ModelEntry(partial(build, of=of), f"{about} of the {of}", heuristic=True)
        for what, build, about in (
            ("last", LastAttribute, "the last value"),
            ("mean", MeanAttribute, "the mean"),
            ("faded-mean", partial(MeanAttribute, fading=True), "the mean of evidence that fades"),
        )
        for of in EVERY
    },
    "boosted-trees": ModelEntry(BoostedTrees, "boosted trees on sums that fade", heuristic=True),
}


GRAPH_BASELINES: dict[str, type[GraphBaseline]] = {"degree": Degree, "logistic": LogisticOfFeatures}


def create_link_model(name: str, train: EventStream) -> LinkModel:
    """Build a link model by name. It sees the training split and nothing else. One that is to be trained has
    parameters drawn at random; `keat.train` trains it."""
    return _create("link model", name, LINK_MODELS, train)


def create_node_model(name: str, train: EventStream) -> NodeModel:
    """Build a node-property model by name, as `create_link_model` does."""
    return _create("node model", name, NODE_MODELS, train)


def create_label_model(name: str, train: EventStream) -> NodeModel:
    """Build a model of event labels by name."""
    return _create("label model", name, LABEL_MODELS, train)


def _create(what: str, name: str, among: Mapping[str, ModelEntry[M]], train: EventStream) -> M:
    if name not in among:
        raise unknown_name(what, name, among)
    model = among[name].build(train)
    if isinstance(model, LearnedModel):
        model.mark_as_drawn()
    return model
