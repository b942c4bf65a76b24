"""TPNet: time-decayed counts of temporal walks between all nodes, kept as short vectors or exactly."""

from keat.models.tpnet.tpnet_config import TPNetConfig
from keat.models.tpnet.tpnet_model import TPNet
from keat.models.tpnet.walk_matrices import WalkMatrices

__all__ = ["TPNet", "TPNetConfig", "WalkMatrices"]
