"""Losses on logits (B, 1 + n): the first column is the positive's, the others its negatives'."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor
from torch.nn import functional

from keat.errors import unknown_name

Recipe = Literal["sound", "tgb-parity"]
RECIPES: tuple[Recipe, ...] = get_args(Recipe)


def link_loss(logits: Tensor, recipe: Recipe = "sound") -> Tensor:
    """Mean binary cross-entropy of the positives plus that of the negatives.

    ``tgb-parity`` reproduces TGB's example, whose decoder ends in a sigmoid and whose loss applies
    another one: the "logit" lies in (0, 1), so the loss cannot fall below 1.006 and the gradient of a
    confident mistake vanishes. It is here to be compared with, not to be used.
    """
    if recipe not in RECIPES:
        raise unknown_name("recipe", recipe, RECIPES)
    scores = torch.sigmoid(logits) if recipe == "tgb-parity" else logits
    positive = functional.softplus(-scores[:, 0]).mean()
    return positive + functional.softplus(scores[:, 1:]).mean()
