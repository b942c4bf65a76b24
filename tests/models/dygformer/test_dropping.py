"""Dropout by hash, and the products written for it, beside torch's with the same numbers dropped."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from keat.models.dygformer.dropping import add_dropped, draw_seed, drop_, dropout
from keat.models.dygformer.feed_forward import FeedForward
from keat.models.dygformer.mixing import mix

SEED = 1234567890123456789


def mask_of(shape: tuple[int, ...], share: float, seed: int) -> Tensor:
    return drop_(torch.ones(shape, dtype=torch.float64), share, seed)


def test_the_share_is_dropped_everywhere_and_what_is_left_is_scaled() -> None:
    torch.manual_seed(0)
    x = dropout(torch.ones(1000, 1000), 0.1, training=True)
    zero = x == 0
    assert torch.equal(torch.unique(x[~zero]), torch.tensor([1 / 0.9]))
    deviation = math.sqrt(0.1 * 0.9 / 1000)
    for axis in (0, 1):  # no row or column is favoured
        share = zero.float().mean(axis)
        assert abs(share.mean() - 0.1) < 5 * deviation / math.sqrt(1000)
        assert 0.8 * deviation < share.std() < 1.2 * deviation
    centred = zero.flatten().double() - 0.1
    for lag in (1, 2, 3, 64, 200, 800, 1000):  # nor do neighbours agree
        assert abs((centred[:-lag] * centred[lag:]).mean()) / 0.09 < 5e-3


def test_masks_of_different_seeds_are_unrelated() -> None:
    torch.manual_seed(0)
    masks = torch.stack([mask_of((20_000,), 0.5, draw_seed()) for _ in range(8)])
    assert (torch.corrcoef(masks) - torch.eye(8)).abs().max() < 0.03


def test_nothing_is_dropped_outside_training() -> None:
    x = torch.randn(5, 6)
    assert dropout(x, 0.5, training=False) is x
    assert dropout(x, 0.0, training=True) is x


def test_dropout_and_its_sum_have_the_gradient_of_their_mask() -> None:
    x, y = (torch.randn(7, 9, dtype=torch.float64, requires_grad=True) for _ in range(2))

    def dropped(value: Tensor) -> Tensor:
        torch.manual_seed(5)
        return dropout(value, 0.3, training=True)

    def added(first: Tensor, second: Tensor) -> Tensor:
        torch.manual_seed(5)
        return add_dropped(first, second, 0.3, training=True)

    assert torch.equal(added(x, y), x + dropped(y))
    assert torch.autograd.gradcheck(dropped, (x,))
    assert torch.autograd.gradcheck(added, (x, y))


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_feed_forward_is_its_formula_with_its_mask(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keat.models.dygformer.feed_forward.ROWS", 4)
    monkeypatch.setattr("keat.models.dygformer.feed_forward.draw_seed", lambda: SEED)
    torch.manual_seed(0)
    layer = FeedForward(6, share).double()
    x = torch.randn(11, 6, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(11, 6, dtype=torch.float64)
    mask = mask_of((11, 24), share, SEED) if share else torch.ones(11, 24, dtype=torch.float64)
    plain = layer.linear2(functional.gelu(layer.linear1(x)) * mask)
    torch.testing.assert_close(layer(x), plain)
    inputs = (x, *layer.parameters())
    ours = torch.autograd.grad((layer(x) * weight).sum(), inputs)
    torch.testing.assert_close(ours, torch.autograd.grad((plain * weight).sum(), inputs))


@pytest.mark.parametrize("cut", [[12, 12, 12], [12, 24], [36]])
@pytest.mark.parametrize("masked", [False, True])
def test_mixing_is_attention_with_its_mask(cut: list[int], masked: bool) -> None:
    torch.manual_seed(0)
    pairs, n, heads, share = 5, 7, 3, 0.2
    whole = torch.randn(pairs, n, 36, dtype=torch.float64, requires_grad=True)
    length = torch.tensor([7, 3, 1, 6, 7])
    mask = (torch.arange(n) < length[:, None])[:, None, None] if masked else None
    q, k, v = (part.view(pairs, n, heads, 4).transpose(1, 2) for part in torch.split(whole, 12, dim=2))
    logits = q @ k.transpose(2, 3) / 2
    if mask is not None:
        logits = logits.masked_fill(~mask, -math.inf)
    keep = mask_of((heads, pairs, n, n), share, SEED).transpose(0, 1)
    plain = ((logits.softmax(3) * keep) @ v).transpose(1, 2).reshape(pairs, n, 12)
    ours = mix(list(torch.split(whole, cut, dim=2)), mask, heads, share, SEED)
    torch.testing.assert_close(ours, plain)
    weight = torch.randn_like(plain)
    (expected,) = torch.autograd.grad((plain * weight).sum(), whole, retain_graph=True)
    (found,) = torch.autograd.grad((ours * weight).sum(), whole)
    torch.testing.assert_close(found, expected)
