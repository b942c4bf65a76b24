"""How each architecture is trained where nobody says otherwise."""

from __future__ import annotations

from keat.models.rank import RankConfig
from keat.models.registry import ARCHITECTURES
from keat.training.fit import FitConfig

# The loss, negatives and rate of our tables (docs/results/rank.md), chosen on the validation split of
# wikipedia; there it has 4 epochs, and a small log wants a few more.
RANKING = FitConfig(epochs=8, patience=2, lr=1.5e-3, loss="listwise", negatives=50)
NODES = FitConfig(lr=1e-3)


def usual_fit(model: str, kind: str = "link-ranking") -> FitConfig:
    """TGB's settings for models of its examples' kind, at ten times the rate for node tasks; those of our
    tables for keat-rank."""
    if kind.startswith("node-"):
        return NODES
    return RANKING if isinstance(ARCHITECTURES[model].config, RankConfig) else FitConfig()
