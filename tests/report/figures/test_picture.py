"""Pictures: drawn, closed, and honest about what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from keat.errors import KeatError
from keat.report.figures.picture import save_picture, with_short_words


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


def test_an_id_that_is_too_long_is_shortened(tmp_path: Path) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    name = f"https://shop.example/{'x' * 300}/item-25"
    assert with_short_words("corner café") == "corner café"
    assert with_short_words(f"{name} was met") == "https://shop.ex…/item-25 was met"
    figure = plt.figure()
    title = figure.suptitle(name)
    save_picture(figure, tmp_path / "x.png")
    assert title.get_text() == "https://shop.ex…/item-25"


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
