"""What `keat train` lets one choose."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import ORDERS, keat, write_orders

from keat.cli.training import MODELS
from keat.errors import InputError, UnknownNameError
from keat.models.registry import ARCHITECTURES
from keat.training import bfloat16
from keat.training.runs import configuration, settings_of


def test_the_help_names_every_model() -> None:
    for name in ARCHITECTURES:
        assert name in MODELS or name.removeprefix("keat-") in MODELS


def test_settings_have_the_type_of_their_default() -> None:
    assert settings_of("tgn", ["neighbors=20", "dropout=0.5", "shared_edge_weights=false"]) == {
        "neighbors": 20,
        "dropout": 0.5,
        "shared_edge_weights": False,
    }


@pytest.mark.parametrize(
    ("item", "message"),
    [("neighbors", "NAME=VALUE"), ("neighbors=many", "is not one"), ("shared_edge_weights=2", "is not one")],
)
def test_settings_that_are_not(item: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        settings_of("tgn", [item])


def test_settings_a_model_does_not_have() -> None:
    with pytest.raises(UnknownNameError, match="neighbors"):
        settings_of("tgn", ["neighbours=3"])
    with pytest.raises(InputError, match="graphmixer has no --delta"):
        configuration("graphmixer", delta="query")


def test_bfloat16_is_tried_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bfloat16, "TRIAL", "import os, signal; os.kill(os.getpid(), signal.SIGILL)")
    bfloat16.bfloat16_trouble.cache_clear()
    try:
        options = (*ORDERS, "--epochs", "1", "--out", tmp_path / "run")
        ran = keat("train", "tgn", write_orders(tmp_path), *options, "--bf16")
    finally:
        bfloat16.bfloat16_trouble.cache_clear()
    sentence = ran.err.splitlines()[-1]
    assert (ran.code, ran.out) == (1, "")
    assert sentence.startswith("error: This processor cannot train in bfloat16 (a trial died: illegal instr")
    assert sentence.endswith("leave --bf16 out.")
    assert not (tmp_path / "run").exists()
