"""Small files of the true raw formats, with everything awkward in them, for the reader tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

# Names that readers like to take for missing values, an empty one, a comma, spaces, accents, look-alikes.
AWKWARD = ["0x27", "NA", "null", "", "a b", "Côte d'Ivoire", "x,y", "7", "07", "nan"]


def write_csv(path: Path, header: str, rows: list[tuple[Any, ...]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [header, *(",".join(_quote(str(cell)) for cell in row) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _quote(text: str) -> str:
    return f'"{text}"' if "," in text else text


def pairs(rng: np.random.Generator, count: int) -> list[tuple[int, str, str]]:
    """(time, source, destination) with ties, repeated pairs, self-loops and awkward names."""
    times = np.sort(rng.integers(1_600_000_000, 1_600_000_000 + count // 2, count))
    names = AWKWARD + [f"n{i}" for i in range(20)]
    ends = rng.integers(0, len(names), (count, 2))
    ends[3] = ends[3, 0]  # a self-loop
    return [(int(t), names[a], names[b]) for t, (a, b) in zip(times, ends, strict=True)]


def interactions(rng: np.random.Generator, count: int, features: int) -> list[tuple[Any, ...]]:
    """JODIE rows: user, item, time with a fraction, state label, features."""
    times = np.sort(rng.uniform(0, count / 3, count)).round(3)
    times[1] = times[0]
    users, items, labels = rng.integers(0, [[9], [5], [2]], (3, count)).tolist()
    values = rng.normal(size=(count, features)).round(6).tolist()
    return [
        (user, item, time, label, *row)
        for user, item, time, label, row in zip(users, items, times.tolist(), labels, values, strict=True)
    ]


JODIE_HEADER = "user_id,item_id,timestamp,state_label,comma_separated_list_of_features"
