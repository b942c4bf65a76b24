"""NAT and KEAT-NAT: a few slots for the neighbours of every node, and what two nodes have in theirs."""

from keat.models.nat.nat_config import NATConfig
from keat.models.nat.nat_model import NAT

__all__ = ["NAT", "NATConfig"]
