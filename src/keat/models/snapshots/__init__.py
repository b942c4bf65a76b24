"""Models of snapshots: time is cut into bins, and a network of whole graphs reads one after the other."""

from keat.models.snapshots.evolvegcn import EvolveGCN, EvolveGCNConfig
from keat.models.snapshots.gclstm import GCLSTM, GCLSTMConfig
from keat.models.snapshots.gcn import GCN, GCNConfig
from keat.models.snapshots.htgn import HTGN, HTGNConfig

__all__ = [
    "GCLSTM",
    "GCN",
    "HTGN",
    "EvolveGCN",
    "EvolveGCNConfig",
    "GCLSTMConfig",
    "GCNConfig",
    "HTGNConfig",
]
