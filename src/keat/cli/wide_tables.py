"""Tables for terminals of any width: words are broken where they must be, numbers never.

A table that is too wide first loses its frame; where that is not enough, it goes on below, with its words
repeated and the columns of numbers that had no room.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

WORD, PART = 20, 12  # letters of a word that are kept together; that many where all then fits side by side
NUMBER = 32  # letters that a number has at most, with its interval; what is longer is words, wherever it is
NARROWEST = 4  # a column of words


@dataclass(frozen=True, slots=True)
class _Frame:
    """How a table is drawn, and the letters that takes: ``around`` all of it and ``between`` two columns."""

    box: box.Box
    edge: bool
    around: int
    between: int

    def room(self, width: int, columns: int) -> int:
        """What is left for the columns themselves."""
        return width - self.around - self.between * (columns - 1)


LINED = _Frame(box.HEAVY_HEAD, True, around=4, between=3)
PLAIN = _Frame(box.SIMPLE_HEAD, False, around=0, between=2)


def tables_within(
    width: int, columns: Sequence[str], rows: Sequence[Sequence[str]], text_columns: int
) -> list[Table]:
    """One table, or several that together are it, none wider than ``width``. The first ``text_columns``
    columns are words and stand in each of them."""
    cells = [[row[place] for row in rows] for place in range(len(columns))]
    ideal = [max(map(cell_len, _lines([name, *cells[place]]))) for place, name in enumerate(columns)]
    everything = list(range(len(columns)))
    words, numbers = everything[:text_columns], everything[text_columns:]
    for frame, letters in ((LINED, WORD), (PLAIN, WORD), (PLAIN, PART)):
        least = [_least(name, cells[place], place in words, letters) for place, name in enumerate(columns)]
        if sum(least) <= frame.room(width, len(columns)):
            groups = [everything]
            break
    else:
        widest = max((least[place] for place in numbers), default=0)
        spare = PLAIN.room(width, len(words) + bool(numbers)) - widest
        for place in words:
            least[place] = min(least[place], max(NARROWEST, spare // len(words)))
        groups = _groups(width, words, numbers, least)
    widths = [
        _widened(frame.room(width, len(group)), {place: least[place] for place in group}, ideal)
        for group in groups
    ]
    return [_drawn(frame, columns, rows, each, text_columns) for each in widths]


def _groups(width: int, words: list[int], numbers: list[int], least: list[int]) -> list[list[int]]:
    """Columns that fit beside each other: the words, and as many numbers as there is room for."""
    groups = [list(words)]
    for place in numbers:
        tried = [*groups[-1], place]
        if len(groups[-1]) == len(words) or sum(least[p] for p in tried) <= PLAIN.room(width, len(tried)):
            groups[-1] = tried
        else:
            groups.append([*words, place])
    return groups


def _widened(room: int, widths: dict[int, int], ideal: list[int]) -> dict[int, int]:
    """What is left over goes to those that would like more, the first first."""
    spare = room - sum(widths.values())
    for place in widths:
        more = max(0, min(spare, ideal[place] - widths[place]))
        widths[place] += more
        spare -= more
    return widths


def _drawn(
    frame: _Frame,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    widths: dict[int, int],
    text_columns: int,
) -> Table:
    table = Table(box=frame.box, show_edge=frame.edge, pad_edge=frame.edge, collapse_padding=not frame.edge)
    for place, width in widths.items():
        justify = "left" if place < text_columns else "right"
        table.add_column(Text(columns[place]), justify=justify, width=width, overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*(Text(row[place]) for place in widths))  # a node may be called "[bold]" or ":dog:"
    return table


def _least(name: str, cells: Sequence[str], of_words: bool, letters: int) -> int:
    """Letters that a column needs: a number whole, of words the longest; of the name above them the same."""
    in_name = max(map(cell_len, name.split()), default=1)
    lines = _lines(cells)
    numbers = [] if of_words else [line for line in lines if cell_len(line) <= NUMBER]
    words = lines if of_words else [line for line in lines if cell_len(line) > NUMBER]
    longest = max((cell_len(word) for line in words for word in line.split()), default=1)
    return max([min(max(in_name, longest), letters), *map(cell_len, numbers)])


def _lines(cells: Sequence[str]) -> list[str]:
    return [line for cell in cells for line in (cell.splitlines() or [""])]
