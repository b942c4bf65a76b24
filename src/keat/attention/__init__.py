"""Kernelized attention over the K neighbours of each seed."""

from keat.attention.layer import Attention, KernelizedAttention, LastEvents, Modulate
from keat.ops import NeighborFeatures

__all__ = ["Attention", "KernelizedAttention", "LastEvents", "Modulate", "NeighborFeatures"]
