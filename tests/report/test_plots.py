"""Pictures: drawn, closed, and honest about what is missing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import MakeStream
from keat.datasets.loading import Dataset
from keat.errors import KeatError, MissingExtraError
from keat.events import EventStream
from keat.report.drift import gap_shares
from keat.report.plots import overview, save_picture
from keat.report.results import Result


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


def test_every_gap_is_in_the_picture_or_told_apart(random_stream: MakeStream) -> None:
    found = gap_shares(Dataset(random_stream(2, events=300)))
    for name, shares in found.shares.items():
        assert shares.sum() + found.none[name] + found.beyond[name] == pytest.approx(1)


def test_names_are_no_formulas_and_powers_are(tmp_path: Path) -> None:
    """Text with dollars is drawn letter by letter, wherever it stands; 10⁻³ of an axis stays a power."""
    plt = pytest.importorskip("matplotlib.pyplot")
    from matplotlib.text import Text

    name = r"$\frac{a_{$"
    figure, (left, right) = plt.subplots(1, 2, figsize=(6, 2), layout="constrained")
    left.plot([1, 2], label=name)
    left.set_title(name)
    left.set_xticks([0, 1], [name, "b"])
    left.annotate(name, (0, 1))
    left.legend()
    figure.suptitle(name)
    figure.text(0, 0, name)
    right.plot([1e-3, 1.0])
    right.set_yscale("log")
    save_picture(figure, tmp_path / "new" / "$x$.png")
    assert (tmp_path / "new" / "$x$.png").stat().st_size > 1000
    shown = {
        text.get_text(): text.get_parse_math() for text in figure.findobj(Text) if "$" in text.get_text()
    }
    assert shown.pop(name) is False
    assert len(shown) > 1
    assert all(shown.values())
    assert plt.get_fignums() == []


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("x.foo", "Pictures are written as"),
        ("folder", "is a folder; name"),
        ("file/x.png", "Cannot write"),
    ],
)
def test_where_no_picture_can_be(place: str, message: str, tmp_path: Path) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    with pytest.raises(KeatError, match=message):
        save_picture(plt.figure(), tmp_path / place)
    assert plt.get_fignums() == []
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder"]


def test_without_matplotlib_the_error_says_what_to_install(
    random_stream: MakeStream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'keat\[report\]'"):
        overview(Dataset(random_stream(0)), results(1), tmp_path / "o.png")
