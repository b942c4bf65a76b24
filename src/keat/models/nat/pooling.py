"""What the slots of one node come to, and what two nodes have in common, as terms of one sum.

A pair (u, v) is scored by a sum over all nodes w that either of them holds. It is linear, so it splits into a
sum of u's own, a sum of v's own, and a correction for nodes that both hold, of which there are few:

    Σ_w E[b_u + 8 b_v] = Σ_{w of u} E[b_u] + Σ_{w of v} E[8 b_v]
                         + Σ_{w of both} (E[b_u + 8 b_v] - E[b_u] - E[8 b_v])

b_r(w) has a bit for each place where r holds w: 1 if w is r itself, 2 among its neighbours, 4 among theirs.

In KEAT-NAT slots fade. What a slot says of w is multiplied by ψ of its age. Of the codes, r holds w with the
weight ψ_r(w), that of the youngest slot it has w in, and else, with the weight 1 - ψ_r(w), not at all, or as
itself alone where w is r: the sum is over both cases of both ends. So a faded slot is as an empty one.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from keat.state import HeldSlots, SlotSizes

CODES = 8  # of one node


@dataclass(frozen=True, slots=True, eq=False)
class Pooled:
    """Of n moments, with M slots each."""

    node: Tensor  # (n,)
    key: Tensor  # (n, M) the node in a slot, or -1
    first: Tensor  # (n, M) whether the slot is the first that holds its node
    code: Tensor  # (n, M) b of the node in a slot
    faded: Tensor  # (n, M) b once all slots have faded: 1 for the node itself, else 0
    psi: Tensor  # (n, M) ψ_r(w)
    codes: Tensor  # (n, 8) Σ over nodes of the weights of each code


def pool(held: HeldSlots, sizes: SlotSizes, psi: Tensor, age: Tensor) -> Pooled:
    """Slots of moments, with ψ (n, M) of their ages (n, M)."""
    key, node = held.key, held.node
    near, far = sizes.places(key)  # (n, M) each
    itself = key == node[:, None]
    is_near, is_far = (key.gather(1, place) == key for place in (near, far))
    there = key >= 0
    code = (itself + 2 * is_near + 4 * is_far) * there
    faded = itself.long()
    # ψ of the youngest slot, which need not be the largest ψ.
    younger = is_near & (~is_far | (age.gather(1, near) <= age.gather(1, far)))
    youngest = torch.where(younger, psi.gather(1, near), psi.gather(1, far))
    slot = torch.arange(sizes.total, device=key.device)
    first = there & (slot == torch.where(itself, 0, torch.where(is_near, near, far)))
    codes = psi.new_zeros(len(node), CODES)
    codes = codes.scatter_add(1, code, youngest * first).scatter_add(1, faded, (1 - youngest) * first)
    held_somewhere = torch.arange(CODES, device=key.device) > 0
    return Pooled(node, key, first, code, faded, youngest, codes * held_somewhere)


def in_common(
    pooled: Pooled, sizes: SlotSizes, left: Tensor, right: Tensor, table: Tensor
) -> tuple[Tensor, Tensor]:
    """Nodes that both ends of pairs (left[i], right[i]) of moments hold: of each which pair it is (V,), and
    the correction (V, code) by the embeddings (64, code) of codes."""
    key = pooled.key[left]  # (P, M)
    near, far = sizes.places(key)
    of_other = pooled.key[right]
    itself = key == pooled.node[right][:, None]
    is_near, is_far = (of_other.gather(1, place) == key for place in (near, far))
    both = (itself | is_near | is_far) & pooled.first[left]
    pair, slot = both.nonzero().unbind(1)
    itself, is_near, place_near, place_far = (part[pair, slot] for part in (itself, is_near, near, far))
    at_left = left[pair], slot
    at_right = right[pair], torch.where(itself, 0, torch.where(is_near, place_near, place_far))
    return pair, corrections(pooled, at_left, pooled, at_right, table)


def corrections(
    left: Pooled,
    at_left: tuple[Tensor, Tensor],
    right: Pooled,
    at_right: tuple[Tensor, Tensor],
    table: Tensor,
) -> Tensor:
    """What is added (V, code) for nodes that both ends hold, each in a slot of a moment (V,)."""
    extra = _extra(table)
    total = table.new_zeros(len(at_left[0]), table.shape[1])
    for b_u, p in _cases(left, *at_left):
        for b_v, q in _cases(right, *at_right):
            total = total + (p * q)[:, None] * extra[b_u + CODES * b_v]
    return total


def _cases(pooled: Pooled, moment: Tensor, slot: Tensor) -> tuple[tuple[Tensor, Tensor], ...]:
    """The codes of a node that is held and has faded, with their weights."""
    psi = pooled.psi[moment, slot]
    return (pooled.code[moment, slot], psi), (pooled.faded[moment, slot], 1 - psi)


def _extra(table: Tensor) -> Tensor:
    """E[b_u + 8 b_v] - E[b_u] - E[8 b_v] of all codes, (64, code); zero where an end holds nothing."""
    code = torch.arange(CODES * CODES, device=table.device)
    b_u, b_v = code % CODES, code // CODES
    extra = table - table[b_u] - table[CODES * b_v]
    return extra * ((b_u > 0) & (b_v > 0))[:, None]
