"""CAWN and KEAT-CAWN: backward walks from both ends of a pair, whose nodes are known by where they occur."""

from keat.models.cawn.config import WALKS, CAWNConfig, WalksOf
from keat.models.cawn.model import CAWN

__all__ = ["CAWN", "WALKS", "CAWNConfig", "WalksOf"]
