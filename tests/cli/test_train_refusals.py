"""Options of `keat train` that cannot be: one sentence, and nothing is left behind."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import assert_fails, keat

TRAIN = ("train", "keat-rank", "payments:400", "--epochs", "1")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--loss", "listwize"), "did you mean 'listwise'?"),
        (("--recipe", "x"), "Unknown recipe 'x'"),
        (("--recipe", "tgb-parity", "--loss", "listwise"), "pairwise loss only"),
        (("--lr", "nan"), "lr must be a number"),
        (("--lr", "inf"), "lr must be at least 0 and finite"),
        (("--lr", "-1"), "lr must be at least 0"),
        (("--clip", "0"), "clip must be above 0"),
        (("--historical", "2"), "historical must be at least 0 and at most 1"),
        (("--historical", "nan"), "historical must be a number"),
        (("--set", "hidden=0"), "hidden must be at least 1"),
        (("--set", "ring=-3"), "ring must be at least 1"),
        (("--set", "hidden=99999999999999"), "hidden must be at least 1 and at most 65,536"),
    ],
)
def test_it_is_refused_before_anything_is_written(
    options: tuple[str, ...], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert sentence in assert_fails(keat(*TRAIN, *options, "--out", "runs/r"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("model", "setting", "sentence"),
    [
        ("keat-tgn", "neighbors=0", "neighbors must be at least 1"),
        ("keat-tgn", "dropout=2", "dropout must be at least 0 and below 1"),
        ("keat-tgn", "dropout=nan", "dropout must be a number"),
        ("keat-tgn", "heads=3", "3 heads cannot share a dim of 100"),
        ("keat-tgn", "dim=0", "dim must be at least 1"),
        ("keat-tgn", "dim=65536", "not enough memory"),
        ("tgat", "layers=0", "layers must be at least 1"),
        ("tgat", "node_dim=-1", "node_dim must be at least 0"),
        ("graphmixer", "token_expansion=0.001", "leaves nothing of 30"),
        ("graphmixer", "channel_expansion=inf", "channel_expansion must be above 0"),
        ("dygformer", "patch=0", "patch must be at least 1"),
        ("dygformer", "heads=7", "7 heads cannot share four channels of 200"),
    ],
)
def test_settings_out_of_range_are_named(
    model: str, setting: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = keat("train", model, "payments:400", "--set", setting, "--out", "r")
    assert sentence in ran.err.splitlines()[-1]
    assert ran.code == 1
    assert "inside keat" not in ran.err
    assert list(tmp_path.iterdir()) == []
