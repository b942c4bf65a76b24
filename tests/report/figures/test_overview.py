"""The picture that the demo ends with."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import MakeStream
from keat.datasets.loading import Dataset
from keat.errors import MissingExtraError
from keat.events import EventStream
from keat.report.figures.overview import overview
from keat.report.sections.results import Result


def results(*refreshes: int) -> list[Result]:
    rows = [("edgebank", 0.2), ("local-global", 0.5)]
    return [
        Result(model, "events", "test", "link-ranking", {"mrr": mrr / r}, 45, refresh=r, candidates=12)
        for r in refreshes
        for model, mrr in rows
    ]


@pytest.mark.parametrize("refreshes", [(200, 1), (1,)])
def test_the_overview_is_a_picture(
    refreshes: tuple[int, ...], random_stream: MakeStream, tmp_path: Path
) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    overview(Dataset(random_stream(0)), results(*refreshes), tmp_path / "o.png")
    image = plt.imread(tmp_path / "o.png")
    assert image.shape[1] > 2 * image.shape[0]  # two panels side by side
    assert (image[..., :3] < 0.9).any(axis=2).mean() > 0.02  # and something on them
    assert plt.get_fignums() == []


@pytest.mark.parametrize("unit", ["ns", "year"])
def test_any_unit_can_be_drawn(unit: Any, random_stream: MakeStream, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    made = random_stream(1)
    stream = EventStream.from_arrays(made.src, made.dst, made.t, unit=unit)
    overview(Dataset(stream), results(200), tmp_path / "o.png")
    assert (tmp_path / "o.png").stat().st_size > 1000


def test_without_matplotlib_the_error_says_what_to_install(
    random_stream: MakeStream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'keat\[report\]'"):
        overview(Dataset(random_stream(0)), results(1), tmp_path / "o.png")
