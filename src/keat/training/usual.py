"""How each architecture is trained where nobody says otherwise."""

from __future__ import annotations

from keat.models.rank import RankConfig
from keat.models.registry import ARCHITECTURES
from keat.training.fit import FitConfig

# The settings of our tables (docs/results/rank.md), chosen on the validation split of wikipedia.
RANKING = FitConfig(epochs=4, patience=4, lr=1.5e-3, loss="listwise", negatives=50)


def usual_fit(model: str) -> FitConfig:
    """TGB's settings for models of its examples' kind; those of our tables for keat-rank."""
    return RANKING if isinstance(ARCHITECTURES[model].config, RankConfig) else FitConfig()
