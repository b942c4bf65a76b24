"""TPNet: time-decayed counts of temporal walks between all nodes, kept as short vectors or exactly."""

from keat.models.tpnet.config import TPNetConfig
from keat.models.tpnet.model import TPNet
from keat.models.tpnet.walks import WalkMatrices

__all__ = ["TPNet", "TPNetConfig", "WalkMatrices"]
