"""GEARSage and KEAT-GEARSage: fraud among the nodes of a whole graph (DGraphFin)."""

from keat.models.gearsage.features import FEATURES, build_features
from keat.models.gearsage.gearsage_model import GEARSAGE_CONFIGS, GEARSage, GEARSageConfig
from keat.models.gearsage.graph import ContactGraph, Delta, build_graph
from keat.models.gearsage.subgraph import Neighborhood, SubgraphSampler

__all__ = [
    "FEATURES",
    "GEARSAGE_CONFIGS",
    "ContactGraph",
    "Delta",
    "GEARSage",
    "GEARSageConfig",
    "Neighborhood",
    "SubgraphSampler",
    "build_features",
    "build_graph",
]
