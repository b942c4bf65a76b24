"""What a picture must be, wherever it was drawn."""

from __future__ import annotations

from pathlib import Path

import pytest


def assert_drawn(path: Path) -> None:
    """A picture with something on it, and no figure left open."""
    plt = pytest.importorskip("matplotlib.pyplot")
    image = plt.imread(path)
    assert (image[..., :3] < 0.9).any(axis=2).mean() > 0.01
    assert plt.get_fignums() == []
