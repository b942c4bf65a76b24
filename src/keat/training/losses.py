"""Losses on logits (B, 1 + n): the first column is the positive's, the others its negatives'."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor
from torch.nn import functional

from keat.errors import InputError, unknown_name

Recipe = Literal["sound", "tgb-parity"]
RECIPES: tuple[Recipe, ...] = get_args(Recipe)
LinkLoss = Literal["pairwise", "listwise", "stratified"]
LINK_LOSSES: tuple[LinkLoss, ...] = get_args(LinkLoss)


def check_loss(recipe: str, loss: str) -> None:
    """Whether there is such a loss."""
    if recipe not in RECIPES:
        raise unknown_name("recipe", recipe, RECIPES)
    if loss not in LINK_LOSSES:
        raise unknown_name("loss", loss, LINK_LOSSES)
    if recipe == "tgb-parity" and loss != "pairwise":
        raise InputError("The tgb-parity recipe is defined for the pairwise loss only.")


def link_loss(
    logits: Tensor,
    recipe: Recipe = "sound",
    loss: LinkLoss = "pairwise",
    log_weights: Tensor | None = None,  # (B, 1 + n) of a softmax; -inf for what must not count
) -> Tensor:
    """``pairwise``: mean binary cross-entropy of the positives plus that of the negatives. ``listwise``:
    cross-entropy of the softmax over a positive and its negatives, which is closer to what a rank measures.
    ``stratified``: the same with negatives that weigh as much as what they stand for.

    ``tgb-parity`` reproduces TGB's example, whose decoder ends in a sigmoid and whose loss applies
    another one: the "logit" lies in (0, 1), so the loss cannot fall below 1.006 and the gradient of a
    confident mistake vanishes. It is here to be compared with, not to be used.
    """
    check_loss(recipe, loss)
    if loss != "pairwise":
        weighted = logits if log_weights is None else logits + log_weights.to(logits.device)
        return (torch.logsumexp(weighted, dim=1) - logits[:, 0]).mean()
    scores = torch.sigmoid(logits) if recipe == "tgb-parity" else logits
    positive = functional.softplus(-scores[:, 0]).mean()
    return positive + functional.softplus(scores[:, 1:]).mean()
