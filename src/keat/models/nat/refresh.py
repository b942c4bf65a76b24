"""How what is remembered takes in events: when it is read, and not before."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from keat.clock import Clock
from keat.models.nat.one_list import TimedGRU
from keat.ops import Numbering
from keat.state import HeldSlots
from keat.time_encoding import TimeEncoder


class SlotRefresh(nn.Module):
    """Read at time t, with e the message of the event and Δ its age then, w the node in a slot, o the other
    end of the last event of u:

        φ_Δ = φ(log(1 + Δ))                                       with ``absolute``: φ of the event's time
        rep'(slot) = GRU(W_n [s_w ‖ e ‖ φ_Δ], rep(slot))          where the slot has an event; else 0
        s'_u       = GRU(W_s [s_o ‖ e ‖ φ_Δ], s_u)                if u has had an event; else s_u
    """

    def __init__(
        self,
        feature_dim: int,
        memory_dim: int,
        slot_dim: int,
        encoder: TimeEncoder,
        clock: Clock,
        absolute: bool,
    ) -> None:
        super().__init__()
        self.time_encoder, self.clock, self.absolute = encoder, clock, absolute
        self.sizes = [memory_dim, feature_dim, encoder.dim]
        self.lin_slot = nn.Linear(sum(self.sizes), slot_dim, bias=False)
        self.lin_memory = nn.Linear(sum(self.sizes), memory_dim, bias=False)
        self.slot_cell = nn.GRUCell(slot_dim, slot_dim)
        self.memory_cell = nn.GRUCell(memory_dim, memory_dim)
        self._nodes, self._events = Numbering(), Numbering()

    def refreshed(self, held: HeldSlots, t: Tensor) -> tuple[Tensor, Tensor]:
        """Memories (n, S) of nodes and representations (n, M, d) of their slots at times (n,)."""
        time = self._encoded(held, t)
        return self._memories(held, time[:, 0]), self._slots(held, time)

    def _encoded(self, held: HeldSlots, t: Tensor) -> Tensor:
        """φ (n, M, T)"""
        return self.encoded(torch.where(held.mask, held.happened, t[:, None]), t[:, None])

    def encoded(self, happened: Tensor, t: Tensor | int) -> Tensor:
        """φ (…, T) of events that happened at (…), asked about at t."""
        if self.absolute:
            at: Tensor = self.clock.ages(happened)
        else:
            at = torch.log1p(self.clock.ages(t - happened).double().clamp(min=0))
        encoded: Tensor = self.time_encoder(at)
        return encoded

    def timed(self, held: HeldSlots) -> tuple[TimedGRU, TimedGRU]:
        """The same for any time: of the slots that have an event, and of the nodes that have had one."""
        mask, seen = held.mask, held.mask[:, 0]
        *_, of_time = torch.split(self.lin_slot.weight, self.sizes, dim=1)
        slots = TimedGRU(self.slot_cell, self._known(held), of_time, held.rep[mask])
        of_memory, of_message, of_time = torch.split(self.lin_memory.weight, self.sizes, dim=1)
        known = functional.linear(held.memory[held.opposite[seen]], of_memory)
        known = known + functional.linear(held.messages[held.event[:, 0][seen]], of_message)
        return slots, TimedGRU(self.memory_cell, known, of_time, held.memory[held.node[seen]])

    def _memories(self, held: HeldSlots, time: Tensor) -> Tensor:
        own, event = held.memory[held.node], held.event[:, 0]
        known = (held.memory[held.opposite], held.messages[event.clamp(min=0)], time)
        new = self.memory_cell(self.lin_memory(torch.cat(known, dim=1)), own)
        return torch.where((event >= 0)[:, None], new, own)

    def _slots(self, held: HeldSlots, time: Tensor) -> Tensor:
        """Only slots that have an event; each node and each message is projected once."""
        *_, of_time = torch.split(self.lin_slot.weight, self.sizes, dim=1)
        mask = held.mask
        known = self._known(held) + functional.linear(time[mask], of_time)
        new = self.slot_cell(known, held.rep[mask])
        rep: Tensor = new.new_zeros(held.rep.shape)
        rep[mask] = new
        return rep

    def _known(self, held: HeldSlots) -> Tensor:
        """W_n [s_w ‖ e] (V, d) of slots that have an event."""
        of_memory, of_message, _ = torch.split(self.lin_slot.weight, self.sizes, dim=1)
        nodes, node = self._nodes.distinct(held.key[held.mask])
        events, event = self._events.distinct(held.event[held.mask])
        known = functional.linear(held.memory[nodes], of_memory)[node]
        return known + functional.linear(held.messages[events], of_message)[event]
