"""Dropout: how many entries, which scale, whose seed, and the gradient of what was kept."""

from __future__ import annotations

import pytest
import torch

from keat.models.dropout import Dropout


@pytest.mark.parametrize("p", [0.1, 0.5, 0.83])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_share_and_the_scale(p: float, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    out = Dropout(p)(torch.ones(333, 301, dtype=dtype))  # a number of entries that is no multiple of 4
    kept = out[out != 0]
    assert abs(len(kept) / out.numel() - (1 - p)) < 0.005
    torch.testing.assert_close(kept, torch.full_like(kept, 1 / (1 - p)), rtol=1e-4, atol=0)


def test_the_gradient_is_that_of_what_was_kept() -> None:
    x = torch.randn(50, 40).T.requires_grad_()  # not contiguous
    out = Dropout(0.4)(x)
    out.sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad * x.detach(), out.detach())


def test_torchs_seed_decides() -> None:
    layer, x = Dropout(0.5), torch.ones(1000)
    torch.manual_seed(7)
    first, second = layer(x), layer(x)
    torch.manual_seed(7)
    assert torch.equal(layer(x), first)
    assert not torch.equal(first, second)


def test_nothing_happens_outside_training_or_without_dropout() -> None:
    x = torch.randn(100)
    assert torch.equal(Dropout(0.5).eval()(x), x)
    assert torch.equal(Dropout(0.0)(x), x)
    assert not Dropout(1.0)(x).any()
