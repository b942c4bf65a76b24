"""A preparation that is interrupted, wherever it is, continues and gives the same bytes."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_pieces import TINY, contents, prepare_in_pieces

from keat.disk import lock_folder
from keat.errors import InputError
from keat.events.preparing.sizes import Sizes
from keat.events.preparing.workplace import Workplace

pytestmark = pytest.mark.filterwarnings("ignore:.*not in time order:keat.errors.Notice")
OPTIONS: dict[str, Any] = {"features": "x", "categorical": "kind", "scale": True}


class KilledError(BaseException):
    """Nobody catches it, and nothing is tidied up that a killed process would leave."""


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    rng = np.random.default_rng(0)
    made = []
    for number in range(3):
        table = {
            "src": rng.integers(0, 9, 60),
            "dst": rng.integers(0, 9, 60),
            "t": rng.integers(0, 40, 60),
            "x": rng.random(60),
            "kind": rng.choice(["a", "b", "c"], 60),
        }
        made.append(tmp_path / f"part-{number}.parquet")
        pq.write_table(pa.table(table), made[-1])
    return made


def steps_of(paths: list[Path], out: Path) -> int:
    """How many marks and files a preparation writes whole."""
    with mock.patch.object(Path, "replace", autospec=True, side_effect=Path.replace) as replaced:
        prepare_in_pieces(paths, out, **OPTIONS)
    return int(replaced.call_count)


def test_killed_before_any_mark_and_continued(paths: list[Path], tmp_path: Path) -> None:
    steps = steps_of(paths, tmp_path / "wanted")
    assert steps > 20
    for step in range(steps):
        out = tmp_path / f"out-{step}"
        _killed(paths, out, step)
        assert not out.exists()
        continued = prepare_in_pieces(paths, out, **OPTIONS)
        assert continued.continued == (step >= steps_before_begun(steps, paths))
        assert contents(out) == contents(tmp_path / "wanted")
        assert not [*tmp_path.glob(".*")]


def steps_before_begun(steps: int, paths: list[Path]) -> int:
    """Ids, kinds of one column, the survey, and what it was begun with; then files and buckets."""
    assert steps > 4 + len(paths)
    return 4


def _killed(paths: list[Path], out: Path, step: int) -> None:
    replace, count = Path.replace, 0

    def dying(self: Path, target: Path) -> Path:
        nonlocal count
        count += 1
        if count > step:
            raise KilledError
        return replace(self, target)

    with mock.patch.object(Path, "replace", dying), pytest.raises(KilledError):
        prepare_in_pieces(paths, out, **OPTIONS)


def test_killed_again_and_again_at_random_writes(paths: list[Path], tmp_path: Path) -> None:
    """In the middle of a part, a column or a header, too: whatever a file was written of is written anew."""
    prepare_in_pieces(paths, tmp_path / "wanted", **OPTIONS)
    chance = random.Random(4)
    place = "keat.events.preparing.{}"
    for attempt in range(30):
        out = tmp_path / f"out-{attempt}"
        for what in ("column_files.ColumnFiles.write", "row_reader.RowReader._id"):
            left = chance.randrange(1, 40)
            original = _attribute(place.format(what))

            def dying(*arguments: Any, original: Any = original, left: list[int] = [left]) -> Any:  # noqa: B006
                left[0] -= 1
                if left[0] == 0:
                    raise KilledError
                return original(*arguments)

            with mock.patch(place.format(what), dying):
                try:
                    prepare_in_pieces(paths, out, **OPTIONS)
                    break
                except KilledError:
                    assert not out.exists()
        else:
            assert prepare_in_pieces(paths, out, **OPTIONS).continued
        assert contents(out) == contents(tmp_path / "wanted")


def _attribute(path: str) -> Any:
    module, kind, name = path.rsplit(".", 2)
    return getattr(getattr(__import__(module, fromlist=[kind]), kind), name)


def _change(path: Path) -> None:
    pq.write_table(pq.read_table(path).slice(0, 30), path)


CHANGES: dict[str, tuple[Callable[[list[Path]], object], dict[str, Any], str]] = {
    "a file": (
        lambda paths: _change(paths[1]),
        {},
        "part-1.parquet has changed since its preparation was begun",
    ),
    "the order of files": (
        lambda paths: paths.reverse(),
        {},
        "is of other files; give the same in the same order",
    ),
    "fewer files": (lambda paths: paths.pop(), {}, "is of other files"),
    "an option": (len, {"bipartite": True}, "is with another 'bipartite'"),
    "the memory": (len, {"sizes": Sizes(10**8, 1, 300, 64)}, "needs its 1 GB of memory"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_something_else_is_refused_and_can_be_begun_anew(
    change: str, paths: list[Path], tmp_path: Path
) -> None:
    _killed(paths, tmp_path / "out", 6)
    changed, more, told = CHANGES[change]
    changed(paths)
    with pytest.raises(InputError, match=told) as refused:
        prepare_in_pieces(paths, tmp_path / "out", **OPTIONS | more)
    assert str(refused.value).endswith("begin anew (restart).")
    prepare_in_pieces(paths, tmp_path / "wanted", **OPTIONS | more)
    assert not prepare_in_pieces(paths, tmp_path / "out", restart=True, **OPTIONS | more).continued
    assert contents(tmp_path / "out") == contents(tmp_path / "wanted")


def test_one_process_at_a_time(paths: list[Path], tmp_path: Path) -> None:
    _killed(paths, tmp_path / "out", 6)
    lock = lock_folder(Workplace(tmp_path / "out").folder, "busy")
    try:
        with pytest.raises(InputError, match="is being prepared by another process"):
            prepare_in_pieces(paths, tmp_path / "out", **OPTIONS)
    finally:
        lock.release()
    assert prepare_in_pieces(paths, tmp_path / "out", **OPTIONS).continued


@pytest.mark.parametrize("name", ["begun.json", "survey.json", "ids-0.parquet"])
def test_damage_is_said(name: str, paths: list[Path], tmp_path: Path) -> None:
    _killed(paths, tmp_path / "out", 6)
    (Workplace(tmp_path / "out").folder / name).write_text("{")
    with pytest.raises(InputError, match=r"is damaged .* begin anew \(restart\)"):
        prepare_in_pieces(paths, tmp_path / "out", **OPTIONS)


def test_sizes_do_not_matter(paths: list[Path], tmp_path: Path) -> None:
    prepare_in_pieces(paths, tmp_path / "wanted", **OPTIONS)
    for bucket, batch in ((60, 1), (4000, 13), (10**6, 1000)):
        out = tmp_path / f"out-{bucket}"
        prepare_in_pieces(paths, out, Sizes(TINY.memory, 1, bucket, 4), batch, **OPTIONS)
        assert contents(out) == contents(tmp_path / "wanted")
