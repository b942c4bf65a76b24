"""Help of the settings that several models have and that mean the same in each."""

from __future__ import annotations

from typing import get_args

from keat.attention import Modulate
from keat.events.units import TICK, UNITS
from keat.kernels import KERNELS
from keat.time_encoding import TIME_ENCODERS

KERNEL = f"ψ, by which evidence fades with age: {', '.join(KERNELS)}."
WIDTH = "Width of the kernel, in multiples of σ; inf for one that never fades."
CLOCK = f"Unit in which ages are read: {', '.join(UNITS)}, or {TICK} for the numbers of the stream."
TIME_ENCODER = f"φ, the encoding of an age: {', '.join(TIME_ENCODERS)}."
PRECISION = "Angles of φ: exact, or legacy in float32 as in the reference code."
MODULATE = f"What ψ scales: {', '.join(get_args(Modulate))}."
HEADS = "Heads of the attention."
DROPOUT = "Share of numbers dropped in training."
TIME_DIM = "Size of the time encoding."
NODE_DIM = "Features of a node that are used; 0 for none, or for as many as the data has."
OUT_DIM = "Size of an embedding."
PAIR_TERM = (
    "rank: add what source and destination have been to each other to the score, as keat-rank knows it; "
    "kernel: the same of keat-rank's first edition; none: do not."
)
PAIR_WIDTHS = "Widths of the kernels of the pair term: geometric, learned, or numbers separated by commas."
