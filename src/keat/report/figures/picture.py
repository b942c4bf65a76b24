"""What all pictures have in common. Colours are Okabe and Ito's: they stay apart for colour-blind eyes and in
print."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from keat.disk import new_file
from keat.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, PURPLE, VERMILION, SKY = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, VERMILION, SKY, "#F0E442", "#000000")
GREY = "0.55"
LONGEST = 24  # letters of a word
Place = Literal["best", "upper left", "lower right"]
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (5, 1.5, 1, 1.5)))  # without colours


def pyplot() -> Any:
    try:
        import matplotlib
    except ImportError as error:
        raise MissingExtraError(
            "Pictures need matplotlib; install it with: pip install 'keat[report]'"
        ) from error
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def panels(number: int, columns: int = 3) -> tuple[Figure, list[Axes]]:
    """A figure of so many panels, in rows."""
    columns = min(columns, max(number, 1))
    rows = -(-number // columns)
    figure, axes = pyplot().subplots(
        rows, columns, figsize=(4.4 * columns, 3.2 * rows), layout="constrained", squeeze=False
    )
    for spare in axes.flat[number:]:
        spare.set_axis_off()
    return figure, list(axes.flat[:number])


def tidy(axes: Axes, title: str, *, size: float = 11, legend: Place | None = None) -> None:
    """Title a panel and take the box away from around it. A legend goes to the place that is named."""
    axes.set_title(title, loc="left", fontsize=size)
    axes.spines[["top", "right"]].set_visible(False)
    if legend is not None:
        axes.legend(frameon=False, fontsize=8, loc=legend)


def save_picture(figure: Figure, path: Path, dpi: int = 150) -> None:
    """Write a figure and let go of it. Text is shown as it is: an id like ``$x_1$`` is no formula. Every
    picture of keat is written here."""
    from matplotlib import pyplot as plt

    kind, known = path.suffix[1:].lower() or "png", figure.canvas.get_supported_filetypes()
    try:
        if kind not in known:
            raise InputError(f"Pictures are written as {', '.join(sorted(known))}, so not as {path}.")
        _write_plainly(figure)
        with new_file(path) as part, warnings.catch_warnings():
            # A letter that no font has is drawn as a box, which says enough.
            warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
            figure.savefig(part, dpi=dpi, format=kind)
    finally:
        plt.close(figure)


def with_short_words(text: str) -> str:
    """Of an id that is longer than a picture has room for, the beginning and the end. Labels of ticks are
    made anew when they are drawn, so they are given like this; `save_picture` takes care of all else."""
    return re.sub(rf"\S{{{LONGEST + 1},}}", lambda word: f"{word[0][: LONGEST - 9]}…{word[0][-8:]}", text)


def _write_plainly(figure: Figure) -> None:
    """Long words are short, and there are no formulas but the powers of ten of a logarithmic axis."""
    from matplotlib.text import Text
    from matplotlib.ticker import LogFormatter

    powers: set[int] = set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if isinstance(axis.get_major_formatter(), LogFormatter):
                ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
                powers.update(id(text) for tick in ticks for text in (tick.label1, tick.label2))
    for text in figure.findobj(Text):
        if id(text) not in powers:
            text.set_parse_math(False)
            text.set_text(with_short_words(text.get_text()))
