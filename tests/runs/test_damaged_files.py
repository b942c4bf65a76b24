"""Whatever is wrong with the files of a run, it is named, and nothing but an error comes of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from small_runs import DAMAGED, small_run

import keat
from damaged_runs import DAMAGES, setting, without
from keat.errors import InputError, UnknownNameError


@pytest.mark.parametrize("what", DAMAGES)
def test_damage_is_named(what: str, tmp_path: Path) -> None:
    run = shutil.copytree(small_run("keat-tgn"), tmp_path / "run")
    DAMAGES[what](run)
    with pytest.raises(InputError, match=DAMAGED) as told:
        keat.open(run)
    assert len(str(told.value).splitlines()) == 1


def test_another_format_is_of_another_version(tmp_path: Path) -> None:
    run = shutil.copytree(small_run("keat-tgn"), tmp_path / "run")
    for damage in (
        without("format"),
        *(setting(value, "format") for value in (99, 0, -1, "2", True, None, 2.0)),
    ):
        damage(run)
        with pytest.raises(InputError, match="written by another version of keat"):
            keat.open(run)
        setting(2, "format")(run)
    keat.open(run)


def test_an_unknown_model_is_named(tmp_path: Path) -> None:
    run = shutil.copytree(small_run("keat-tgn"), tmp_path / "run")
    setting("keat-tng", "spec", "model")(run)
    with pytest.raises(
        UnknownNameError, match="Unknown model of the run 'keat-tng'; did you mean 'keat-tgn'"
    ):
        keat.open(run)
    setting("gearsage", "spec", "model")(run)
    with pytest.raises(InputError, match=DAMAGED):
        keat.open(run)
