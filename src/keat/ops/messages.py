"""Messages to the memory of nodes from their pending events: all messages in one matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from keat.ops.compiling import Floats, Integers, arrays, compiled, is_compilable
from keat.ops.team import over_rows


class Messages(NamedTuple):
    """To n nodes; one without a pending event has a row of zeros."""

    message: Tensor  # (n, x) [s ‖ other ‖ features ‖ room for what is encoded]
    has_event: Tensor  # (n, 1) 1 where there is an event, else 0
    age: Tensor  # (n,) of s at the event
    latest: Tensor  # (n,) time of the last update once it is applied


def write_messages(
    nodes: Tensor,  # (n,)
    memory: Tensor,  # (N, M)
    last_update: Tensor,  # (N,)
    pending: Tensor,  # (N,) number of an event, or -1
    events: tuple[Tensor, Tensor, Tensor, Tensor],  # src, dst, t (E,) and features (E, R) by number
    width: int,  # x
) -> Messages | None:
    """Messages of the pending events of nodes. None where rows of zeros would not do, because a node without
    an event has a memory: its state is not 0."""
    if not is_compilable(memory):
        return write_messages_plainly(nodes, memory, last_update, pending, events, width)
    written = Messages(
        memory.new_empty(len(nodes), width), memory.new_empty(len(nodes), 1), *nodes.new_empty(2, len(nodes))
    )
    whole = np.ones(1, np.bool_)
    known = arrays(nodes, memory, last_update, pending, *events)
    over_rows(_write_messages, len(nodes), 4 * written.message.numel(), *known, *arrays(*written), whole)
    return written if whole[0] else None


def write_messages_plainly(
    nodes: Tensor,
    memory: Tensor,
    last_update: Tensor,
    pending: Tensor,
    events: tuple[Tensor, Tensor, Tensor, Tensor],
    width: int,
) -> Messages | None:
    src, dst, t, features = events
    event, own = pending[nodes], memory[nodes]
    known = event >= 0
    if own[~known].any():
        return None
    event = event.clamp(min=0)
    other = memory[torch.where(known, src[event] + dst[event] - nodes, nodes)]
    has_event = known.to(memory.dtype).unsqueeze(1)
    parts = torch.cat((own, other, features[event]), dim=1) * has_event
    message = torch.nn.functional.pad(parts, (0, width - parts.shape[1]))
    age = torch.where(known, t[event] - last_update[nodes], 0)
    return Messages(message, has_event, age, torch.where(known, t[event], last_update[nodes]))


@compiled
def _write_messages(
    begin: int,
    end: int,
    nodes: Integers,
    memory: Floats,
    last_update: Integers,
    pending: Integers,
    src: Integers,
    dst: Integers,
    t: Integers,
    features: Floats,
    message: Floats,
    has_event: Floats,
    age: Integers,
    latest: Integers,
    whole: npt.NDArray[np.bool_],
) -> None:
    """[s ‖ other ‖ features] of each node's pending event, the age of s then, and the time of its update;
    ``whole`` becomes False where a node without one has a memory."""
    dim, width = memory.shape[1], features.shape[1]
    for i in range(begin, end):
        node, row = nodes[i], message[i]
        event, s = pending[node], memory[node]
        if event < 0:
            if s.any():
                whole[0] = False
            row[:] = 0
            has_event[i, 0], age[i], latest[i] = 0, 0, last_update[node]
        else:
            other, own_features = memory[src[event] + dst[event] - node], features[event]
            for k in range(dim):
                row[k] = s[k]
                row[dim + k] = other[k]
            for k in range(width):
                row[2 * dim + k] = own_features[k]
            has_event[i, 0], age[i], latest[i] = 1, t[event] - last_update[node], t[event]
