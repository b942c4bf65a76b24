"""Walks of a root into one vector: a recurrent network along each, a Transformer among them, their mean.

A drawn set of walks gives each event the weight of how often it was drawn; an expected one its probability.
Equal walks attend and are attended to alike, so a weight of an event stands for so many walks: it is added to
the logits of the attention as a logarithm, and the mean is weighted. As more walks are drawn, what the drawn
set comes to goes to what the expected one does.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from keat.models.tcl.towers import Tower


class WalkEncoder(nn.Module):
    """Along each walk a bidirectional LSTM over [x ‖ ψφ ‖ ψe ‖ I] and one over I alone, read at its end; then
    one Transformer layer among the walks of a root, and z = W Σ_i P_i x_i + b."""

    def __init__(self, known: int, position: int, heads: int, dropout: float, out: int) -> None:
        super().__init__()
        half, half_position = (known + position) // 2, position // 2
        dim = -(-half // heads) * heads  # which the heads divide
        self.walk = nn.LSTM(known + position, half, batch_first=True, bidirectional=True)
        self.position = nn.LSTM(position, half_position, batch_first=True, bidirectional=True)
        self.join = nn.Linear(2 * half + 2 * half_position, dim)
        self.among = Tower(dim, heads, dropout)
        self.output = nn.Linear(dim, out)

    def forward(self, known: Tensor, position: Tensor, weight: Tensor) -> Tensor:
        """z (n, out) of roots and their walks: what is known (n, 1 + K, ·) and the position (n, 1 + K, ·) of
        the root and of each walk's end, and the weights (n, K) of walks, all zero where there is none."""
        without = weight.sum(dim=1) == 0  # (n,) then the root alone is the one walk
        weight = torch.cat((weight[:, :1] + without[:, None], weight[:, 1:]), dim=1)
        along = torch.cat((known, position), dim=2)
        read = (at_the_end(self.walk, along, without), at_the_end(self.position, position, without))
        x = self.among(self.join(torch.cat(read, dim=2)), weight.log())  # (n, K, dim)
        z: Tensor = self.output((weight[..., None] * x).sum(dim=1))
        return z


def at_the_end(lstm: nn.LSTM, steps: Tensor, without: Tensor) -> Tensor:
    """What a bidirectional LSTM gives at the end of walks [root, end], (n, K, 2h), of steps (n, 1 + K, d);
    for rows ``without`` walks at the end of the walk [root], in the first column.

    All walks of a row share their first step, and backwards the last step is the first.
    """
    root, ends = steps[:, 0], steps[:, 1:]
    first = torch.where(without[:, None], root, ends[:, 0])
    ends = torch.cat((first[:, None], ends[:, 1:]), dim=1)
    into, again, bias = _weights(lstm, "l0")
    h, c = _cell(functional.linear(root, into, bias), None)  # (n, h)
    gates = functional.linear(ends, into) + functional.linear(h, again, bias)[:, None]
    forwards = torch.where(without[:, None, None], h[:, None], _cell(gates, c[:, None])[0])
    into, _, bias = _weights(lstm, "l0_reverse")
    backwards = _cell(functional.linear(ends, into, bias), None)[0]
    return torch.cat((forwards, backwards), dim=2)


def _weights(lstm: nn.LSTM, direction: str) -> tuple[Tensor, Tensor, Tensor]:
    """Of what comes in and of the hidden state before, and the sum of both biases."""
    known = dict(lstm.named_parameters())
    bias = known[f"bias_ih_{direction}"] + known[f"bias_hh_{direction}"]
    return known[f"weight_ih_{direction}"], known[f"weight_hh_{direction}"], bias


def _cell(gates: Tensor, before: Tensor | None) -> tuple[Tensor, Tensor]:
    """Hidden state and cell from gates (…, 4h) and the cell before, or none."""
    into, forget, new, out = gates.chunk(4, dim=-1)
    c = torch.sigmoid(into) * torch.tanh(new)
    if before is not None:
        c = c + torch.sigmoid(forget) * before
    return torch.sigmoid(out) * torch.tanh(c), c
