"""How each architecture is trained where nobody says otherwise, and the settings of others by name."""

from __future__ import annotations

from typing import Literal, get_args

from keat.errors import unknown_name
from keat.models.gearsage import GEARSageConfig
from keat.models.rank import RankConfig
from keat.models.registry import TRAINED
from keat.training.fit import FitConfig

Preset = Literal["usual", "paper", "tgb"]
PRESETS: tuple[Preset, ...] = get_args(Preset)

# The loss, negatives and rate of our tables (docs/results/rank.md), chosen on the validation split of
# wikipedia; there it has 4 epochs, and a small log wants a few more.
RANKING = FitConfig(epochs=8, patience=2, lr=1.5e-3, loss="listwise", negatives=50)
NODES = FitConfig(lr=1e-3)
WHOLE_GRAPH = FitConfig(epochs=500, patience=500, lr=1e-2, clip=2.0, tolerance=0.0)  # GEARSage's own


def usual_fit(model: str, kind: str | None = "link-ranking", preset: Preset = "usual") -> FitConfig:
    """TGB's settings for models of its examples' kind, at ten times the rate for node tasks; those of our
    tables for keat-rank."""
    if preset not in PRESETS:
        raise unknown_name("preset", preset, PRESETS)
    config = TRAINED[model].config
    if isinstance(config, GEARSageConfig):
        return WHOLE_GRAPH
    if kind is not None and kind.startswith("node-"):
        return NODES
    return RANKING if isinstance(config, RankConfig) else FitConfig()
