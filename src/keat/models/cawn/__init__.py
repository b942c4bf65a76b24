"""CAWN and KEAT-CAWN: backward walks from both ends of a pair, whose nodes are known by where they occur."""

from keat.models.cawn.cawn_config import WALKS, CAWNConfig, WalksOf
from keat.models.cawn.cawn_model import CAWN

__all__ = ["CAWN", "WALKS", "CAWNConfig", "WalksOf"]
