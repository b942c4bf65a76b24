"""How models are trained where nobody says: usually, as in the paper, and as in TGB's examples."""

from __future__ import annotations

from typing import Any

import pytest

from keat.errors import InputError, KeatError
from keat.models.architectures import ARCHITECTURES
from keat.models.registry import TRAINED
from keat.runs import presets
from keat.runs.presets import PRESETS, Preset, usual_fit
from keat.runs.spec import RunSpec
from keat.training.fit import FitConfig

UTG = [name for name in ARCHITECTURES if "utg-" in name]
PUBLISHED = [
    name
    for name, entry in ARCHITECTURES.items()
    if type(entry.config) in presets.PUBLISHED and name not in UTG
]


@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.parametrize("preset", ["paper", "tgb"])
def test_published_settings_are_one_negative_at_a_low_rate(name: str, preset: str) -> None:
    fit = usual_fit(name, "link-ranking", preset, "tgbl-review")  # type: ignore[arg-type]
    assert (fit.epochs, fit.patience, fit.batch_size) == (30, 5, 200)
    assert (fit.lr, fit.loss, fit.negatives, fit.historical) == (1e-4, "pairwise", 1, 0.0)
    assert fit.recipe == ("tgb-parity" if name.endswith(("tgn", "dyrep")) else "sound")


@pytest.mark.parametrize("name", UTG)
def test_models_of_snapshots_have_the_published_setting_of_utg(name: str) -> None:
    for preset in ("paper", "tgb"):
        fit = usual_fit(name, "link-ranking", preset, "tgbl-wiki")
        published = (500, 200, 1e-3) if name.endswith("htgn") else (500, 50, 2e-4)
        assert (fit.epochs, fit.patience, fit.lr) == published
        assert (fit.loss, fit.negatives, fit.recipe) == ("pairwise", 1, "sound")


def test_on_wiki_the_paper_trains_longer() -> None:
    assert usual_fit("keat-tgn", preset="paper", data="tgbl-wiki").epochs == 200
    assert usual_fit("keat-tgn", preset="paper", data="tgbl-wiki").patience == 25
    assert usual_fit("keat-tgn", preset="tgb", data="tgbl-wiki").epochs == 30


def test_other_tasks_have_fifty_epochs_and_no_early_stopping() -> None:
    for kind in ("node-property", "link-classification"):
        fit = usual_fit("tgn", kind, "paper")
        assert (fit.epochs, fit.patience, fit.lr, fit.recipe) == (50, 50, 1e-4, "sound")


def test_a_model_of_no_published_table_has_no_published_setting() -> None:
    with pytest.raises(InputError, match="keat-rank is in no table of the paper or of TGB"):
        usual_fit("keat-rank", preset="paper")
    with pytest.raises(KeatError, match="Unknown preset 'papre'; did you mean 'paper'"):
        usual_fit("tgn", preset="papre")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", TRAINED)
def test_every_model_says_how_it_is_trained(name: str) -> None:
    """None is left with the plain defaults, which are TGB's and serve a log of ordinary size badly."""
    assert usual_fit(name) != FitConfig()
    twin = name.removeprefix("keat-")
    if twin in TRAINED:
        assert usual_fit(name) == usual_fit(twin)
    assert PRESETS[0] == "usual"


def test_the_paper_has_the_released_widths_of_keat_dygformer() -> None:
    def width(model: str, preset: Preset, data: str, **settings: float) -> float:
        config: Any = RunSpec.of(model, preset=preset, data=data, settings=settings).config
        return float(config.width)

    for data, released in (("tgbl-review", 10.0), ("tgbl-coin", 100.0), ("tgbl-comment", 100.0)):
        assert width("keat-dygformer", "paper", data) == released
        assert width("keat-dygformer", "paper", data, width=2.0) == 2.0
        assert width("keat-dygformer", "tgb", data) == 1.0
        assert width("dygformer", "paper", data) == 1.0
        assert width("keat-tgn", "paper", data) == 1.0
    assert width("keat-dygformer", "paper", "tgbl-wiki") == 1.0
