"""Kernelized co-occurrence: how much have a source and a candidate met, lately, at several time scales?"""

from keat.cooccurrence.pair_columns import Columns
from keat.cooccurrence.pair_term import Numbers, PairTerm
from keat.cooccurrence.past import KernelCooccurrence
from keat.cooccurrence.widths import geometric_widths

__all__ = ["Columns", "KernelCooccurrence", "Numbers", "PairTerm", "geometric_widths"]
