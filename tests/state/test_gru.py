"""The memory's GRU against torch's own, values and gradients."""

from __future__ import annotations

import torch
from torch import nn

from keat.state.gru import update_with_message, update_without_message


def test_with_a_message() -> None:
    torch.manual_seed(0)
    gru = nn.GRUCell(4 + 4 + 3 + 5, 4).double()
    before, other = torch.randn(2, 7, 4, dtype=torch.float64)
    features = torch.randn(7, 3, dtype=torch.float64)
    encoded = torch.randn(7, 5, dtype=torch.float64, requires_grad=True)
    leaves = [encoded, *gru.parameters()]
    ours = update_with_message(gru, before, other, features, encoded)
    theirs = gru(torch.cat((before, other, features, encoded), dim=1), before)
    torch.testing.assert_close(ours, theirs)
    weight = torch.randn_like(ours)
    for mine, other_grad in zip(
        torch.autograd.grad((ours * weight).sum(), leaves),
        torch.autograd.grad((theirs * weight).sum(), leaves),
        strict=True,
    ):
        torch.testing.assert_close(mine, other_grad)


def test_without_a_message() -> None:
    gru = nn.GRUCell(9, 4)
    before = torch.randn(6, 4)
    torch.testing.assert_close(update_without_message(gru, before), gru(torch.zeros(6, 9), before))
