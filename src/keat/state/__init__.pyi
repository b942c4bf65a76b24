# What models remember, listed here and nowhere else, as operations are in `keat/ops/__init__.pyi`.
# ruff: noqa: I001, by what they are for, not by the alphabet

# What all states have in common.
from keat.state.protocol import EventState as EventState
from keat.state.protocol import State as State

# Of TGN: the last K events of every node, and its memory.
from keat.state.memory import Kept as Kept
from keat.state.memory import Remembered as Remembered
from keat.state.node_state import NodeState as NodeState

# Of TNCN: which neighbours two nodes have in common, and of which kind.
from keat.state.neighbor_graph import AROUND_BOTH as AROUND_BOTH
from keat.state.neighbor_graph import BOTH as BOTH
from keat.state.neighbor_graph import Common as Common
from keat.state.neighbor_graph import NeighborGraph as NeighborGraph

# Of models that ask for what happened before a time: all events of every node, features of nodes.
from keat.state.history import EventHistory as EventHistory
from keat.state.walk_draws import walk_weights as walk_weights
from keat.state.node_features import NodeFeatures as NodeFeatures

# Of NAT: a few slots for the neighbours of every node, and of theirs.
from keat.state.neighbor_slots import HeldSlots as HeldSlots
from keat.state.neighbor_slots import NeighborSlots as NeighborSlots
from keat.state.neighbor_slots import SlotSizes as SlotSizes
from keat.state.neighbor_slots import hash_slot as hash_slot

# Of models of snapshots: the events of the last bins of time.
from keat.state.snapshots import SnapshotEdges as SnapshotEdges
from keat.state.snapshots import SnapshotEvents as SnapshotEvents

# The last events of some nodes, as either is read.
from keat.state.past_events import PastEvents as PastEvents
from keat.state.past_events import PastNodes as PastNodes
from keat.state.past_events import PastSlots as PastSlots

# Of heuristics and heads: counts, tables of pairs, a number for every node.
from keat.state.event_counts import EventCounts as EventCounts
from keat.state.fading_counts import CountTables as CountTables
from keat.state.fading_counts import FadingCounts as FadingCounts
from keat.state.fading_counts import count_event as count_event
from keat.state.fading_counts import left_over as left_over
from keat.state.fading_counts import pair_row as pair_row
from keat.state.node_array import NodeArray as NodeArray
from keat.state.pair_table import PairTable as PairTable
from keat.state.pair_table import slot_of as slot_of

# Arrays that grow without being copied.
from keat.state.growing import lengthened as lengthened
from keat.state.growing import zeros as zeros

# What a state that comes from a file must look like.
from keat.state.checking import Expected as Expected
from keat.state.checking import check_state as check_state
from keat.state.checking import check_that as check_that
from keat.state.checking import like as like
from keat.state.checking import parts_of as parts_of
from keat.state.checking import whole as whole

# Columns of a stream as tensors.
from keat.state.tensors import as_tensor as as_tensor
