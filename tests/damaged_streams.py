"""Ways to damage a saved stream: another column, another value in one, another description."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Damage = Callable[[Path], Any]  # of the folder of a stream


def array(column: str, change: Callable[[Any], Any]) -> Damage:
    """Another array in place of a column."""

    def damage(folder: Path) -> None:
        path = folder / f"{column}.npy"
        np.save(path, change(np.load(path)), allow_pickle=True)

    return damage


def value(column: str, place: Any, new: Any) -> Damage:
    def change(values: Any) -> Any:
        values[place] = new
        return values

    return array(column, change)


def meta(**new: Any) -> Damage:
    def damage(folder: Path) -> None:
        about = json.loads((folder / "stream.json").read_text()) | new
        (folder / "stream.json").write_text(json.dumps(about))

    return damage
