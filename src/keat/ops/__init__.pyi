# The operations that models are made of, listed here and nowhere else: type checkers read this file, and so
# does `keat/ops/__init__.py`, which imports a name when it is first used. Outside of `keat.ops` operations
# are called by these names, never by the file they are in.
# ruff: noqa: I001, by what they are for, not by the alphabet

# The angle of a time encoding and its cosine, exact for any age.
from keat.ops.phase import Precision as Precision
from keat.ops.phase import angle as angle
from keat.ops.phase import cosine as cosine
from keat.ops.phase import cosine_and_sine as cosine_and_sine

# Attention's weighted sums over the past events of each seed: the events one after the other, or in K slots.
from keat.ops.edge_mixing import Edges as Edges
from keat.ops.edge_mixing import mix_edges as mix_edges
from keat.ops.slot_mixing import Mixed as Mixed
from keat.ops.slot_mixing import NeighborFeatures as NeighborFeatures
from keat.ops.slot_mixing import Probe as Probe
from keat.ops.slot_mixing import mix_slots as mix_slots

# The same for all candidates at all query times of a batch.
from keat.ops.all_times import attend_at_all_times as attend_at_all_times
from keat.ops.all_times import turn_to_all_times as turn_to_all_times

# The decoder's logits of many pairs.
from keat.ops.scoring import relu_dot as relu_dot
from keat.ops.scoring import relu_dot_both as relu_dot_both
from keat.ops.scoring import relu_dot_sloped as relu_dot_sloped
from keat.ops.scoring import score_pairs as score_pairs

# Messages to the memory of nodes, and how it changes by them.
from keat.ops.gru import update_with_message as update_with_message
from keat.ops.gru import update_with_messages as update_with_messages
from keat.ops.gru import update_without_message as update_without_message
from keat.ops.messages import write_messages as write_messages

# The Transformer of DyGFormer in training.
from keat.ops.dropping import add_dropped as add_dropped
from keat.ops.dropping import dropout as dropout
from keat.ops.mlp import feed_forward as feed_forward
from keat.ops.mlp import hidden_units as hidden_units
from keat.ops.token_attention import attend_dropping as attend_dropping

# How often, or how much, the nodes of two sequences occur in each other.
from keat.ops.sequence_counts import PackedSequences as PackedSequences
from keat.ops.sequence_counts import count_cross as count_cross
from keat.ops.sequence_counts import count_own as count_own
from keat.ops.sequence_counts import sum_cross as sum_cross
from keat.ops.sequence_counts import sum_own as sum_own

# Distinct nodes, and the last event of each.
from keat.ops.numbering import Numbering as Numbering

# For loops that are kept where they are used: how to compile one, and what it takes.
from keat.ops.compiling import Floats as Floats
from keat.ops.compiling import Integers as Integers
from keat.ops.compiling import compiled as compiled
from keat.ops.compiling import compiled_into as compiled_into
from keat.ops.compiling import compiled_sums as compiled_sums
from keat.ops.compiling import frozen as frozen
from keat.ops.prefetching import prefetch as prefetch
