"""The blur meter: one number for how far a model's attention responds to time.

Give each event of a neighbourhood the age of another one. If attention stays where it was, the model cannot
tell old from new: its attention is blurred. What moves is a share of attention between 0 and 1,

    response = mean over neighbourhoods, heads and cyclic shifts of ½ Σ_j |α_j(ages) - α_j(shifted ages)|.

All shifts are taken, so nothing is left to chance. But attention that moves is not yet attention that knows
the time: fast cosines turn any change of age into another phase. So the same is measured for a change that
should mean nothing, every event 1 % older, and the meter is what is left,

    meter = max(0, response - jitter).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from keat.analysis.what_if import Past, attend, past_of
from keat.errors import InputError
from keat.models.tgn import TGN

JITTER = 0.01  # a change of age by 1 %, which should mean nothing


@dataclass(frozen=True, slots=True)
class Blur:
    """Shares of attention that move, 0 … 1, and where logits differ from neighbour to neighbour."""

    response: float  # ages exchanged, for ψ and φ alike
    jitter: float  # every age 1 % older: how much of the response is noise of fast cosines
    kernel_response: float  # exchanged for ψ only, φ frozen as in the paper's figure
    edge_share: float  # of the logits' variance within a neighbourhood, the part that comes from ψ·edge
    neighborhoods: int

    @property
    def meter(self) -> float:
        """The one number: 0 is blurred."""
        return max(0.0, self.response - self.jitter)


def blur_meter(model: TGN, nodes: Tensor, t: Tensor, *, kernel: bool = True) -> Blur:
    """The meter of a model over what it would see of ``nodes`` at times ``t``; nodes with fewer than two
    past events do not count. ``kernel=False`` asks the same weights with ψ = 1."""
    past = past_of(model, nodes, t)
    enough = past.mask.sum(dim=1) >= 2
    if not bool(enough.any()):
        raise InputError("No node has two past events here, so there is no attention to measure.")
    past = past_of(model, nodes[enough], t[enough])
    _, as_it_is = attend(model, past, kernel=kernel)

    def moved(other: Past) -> Tensor:
        """The share of attention that moves, (n,): the total variation, averaged over the heads."""
        alpha = attend(model, other, kernel=kernel)[1].alpha
        return (alpha - as_it_is.alpha).abs().sum(dim=1).mean(dim=1) / 2

    def response(recompute_phi: bool) -> float:
        present = past.mask.sum(dim=1)
        total = torch.zeros(len(past))
        for shift in range(1, past.mask.shape[1]):
            shifted = past.at_ages(_exchanged(past, shift), recompute_phi=recompute_phi)
            total += torch.where(present > shift, moved(shifted), 0)
        return float((total / (present - 1)).mean())

    older = past.at_ages((past.psi_age * (1 + JITTER)).round().long(), recompute_phi=True)
    return Blur(
        response=response(recompute_phi=True),
        kernel_response=response(recompute_phi=False),
        jitter=float(moved(older).mean()),
        edge_share=_edge_share(
            as_it_is.node_logit,
            as_it_is.psi * as_it_is.edge_logit,
            past.mask[..., None].expand_as(as_it_is.psi),
        ),
        neighborhoods=len(past),
    )


def _exchanged(past: Past, shift: int) -> Tensor:
    """Every event with the age of the one ``shift`` places on in its own neighbourhood. Present events come
    first in a row."""
    place = torch.arange(past.mask.shape[1]).expand_as(past.mask)
    source = (place + shift) % past.mask.sum(dim=1, keepdim=True)
    return past.psi_age.gather(1, source)


def _edge_share(node: Tensor, edge: Tensor, mask: Tensor) -> float:
    """Cov(edge, node + edge)/Var(node + edge) within neighbourhoods; with the node's share it makes 1."""

    def centred(values: Tensor) -> Tensor:
        mean = (values * mask).sum(dim=1, keepdim=True) / mask.sum(dim=1, keepdim=True)
        return (values - mean) * mask

    node, edge = centred(node.double()), centred(edge.double())
    total = (node + edge).square().sum()
    return float((edge * (node + edge)).sum() / total) if total > 0 else 0.0
