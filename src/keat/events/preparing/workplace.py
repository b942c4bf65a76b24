"""What is done of a preparation, kept in a hidden folder beside its result until that is whole."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from keat.disk import (
    is_file,
    lock_folder,
    look_at,
    make_folder,
    new_file,
    reading,
    require_folder,
    typed,
    write_text,
    writing,
)
from keat.errors import InputError
from keat.events.preparing.survey import Facts, Survey
from keat.events.reading_options import Reading

if TYPE_CHECKING:
    from filelock import FileLock

ANEW = "begin anew (restart)"


@dataclass(frozen=True, slots=True)
class Begun:
    """What a preparation was begun with; it continues with the same."""

    files: tuple[tuple[str, int, int], ...]  # path, bytes, and when it was changed
    options: dict[str, Any]
    name: str
    memory: int

    @classmethod
    def now(cls, paths: Sequence[Path], reading: Reading, name: str, memory: int) -> Begun:
        more = [Path(each) for each in (reading.matrix, reading.node_features) if each is not None]
        stats = [(path.resolve(), path.stat()) for path in (*paths, *more) if is_file(path)]
        files = tuple((str(path), each.st_size, each.st_mtime_ns) for path, each in stats)
        return cls(files, json.loads(json.dumps(asdict(reading))), name, memory)

    def require_same(self, now: Begun, folder: Path) -> None:
        """A sentence about the first thing that is not as it was."""
        begun = f"The preparation that was begun in {folder}"
        for before, after in zip(self.files, now.files, strict=False):
            if before[0] == after[0] and before != after:
                raise InputError(f"{after[0]} has changed since its preparation was begun; {ANEW}.")
        if self.files != now.files:
            raise InputError(f"{begun} is of other files; give the same in the same order, or {ANEW}.")
        for option, value in now.options.items():
            if self.options.get(option) != value:
                raise InputError(f"{begun} is with another '{option}'; give the same, or {ANEW}.")
        if self.name != now.name:
            raise InputError(f"{begun} is of a stream called '{self.name}'; give the same name, or {ANEW}.")
        if now.memory < self.memory:
            raise InputError(
                f"{begun} needs its {self.memory / 1e9:g} GB of memory; allow as much, or {ANEW}."
            )


class Workplace:
    """Marks of what is done; each is written whole when it is."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.folder = out.parent / f".{out.name}.preparing"
        self.stream = self.folder / "stream"  # becomes the result
        self._lock: FileLock | None = None

    def require_free(self) -> None:
        """The result can be put where it is asked for, where nothing is."""
        require_folder(self.out)
        if look_at(self.out) == "folder" and any(self.out.iterdir()):
            raise InputError(f"{self.out} is not empty; delete it first, or choose another folder.")

    def lock(self) -> None:
        """Make the folder, and be alone in it."""
        make_folder(self.folder)
        busy = f"{self.out} is being prepared by another process; wait for it."
        self._lock = lock_folder(self.folder, busy, seconds=0)

    def unlock(self) -> None:
        if self._lock is not None:
            self._lock.release()

    def begun(self) -> Begun | None:
        """What the preparation was begun with that is here unfinished, if one is."""
        path = self.folder / "begun.json"
        if look_at(path) != "file":
            return None
        try:
            return typed(Begun, json.loads(path.read_bytes()))
        except ValueError as error:
            raise InputError(f"{path} is damaged ({error}); {ANEW}.") from error

    def clear(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def keep(self, begun: Begun, survey: Survey) -> None:
        """What was found, and then, when that is whole, that the preparation has begun."""
        for kind, arrays in (("ids", survey.labels), ("kinds", survey.kinds)):
            for number, array in enumerate(arrays):
                if array is not None:
                    with new_file(self.folder / f"{kind}-{number}.parquet") as part:
                        pq.write_table(pa.table({"label": array}), part)
        write_text(self.folder / "survey.json", json.dumps(asdict(survey.facts)))
        with writing(self.folder):
            (self.folder / "done").mkdir(exist_ok=True)
            self.stream.mkdir(exist_ok=True)
        write_text(self.folder / "begun.json", json.dumps(asdict(begun)))

    def survey(self) -> Survey:
        """What was found before."""
        try:
            facts = typed(Facts, json.loads((self.folder / "survey.json").read_bytes()))
            spaces = len([*self.folder.glob("ids-*.parquet")])
            labels = [self._labels(f"ids-{number}") for number in range(spaces)]
            kinds = [self._labels(f"kinds-{number}") for number in range(len(facts.widths))]
        except (ValueError, OSError, pa.ArrowException) as error:
            raise InputError(f"What is in {self.folder} is damaged ({error}); {ANEW}.") from error
        return Survey(facts, [each for each in labels if each is not None], kinds)

    def _labels(self, name: str) -> pa.Array | None:
        path = self.folder / f"{name}.parquet"
        if not is_file(path):
            return None
        with pq.ParquetFile(path) as file:
            return file.read()["label"].combine_chunks()

    def is_done(self, unit: str) -> bool:
        return is_file(self.folder / "done" / unit)

    def done(self, unit: str, told: Any = None) -> None:
        write_text(self.folder / "done" / unit, json.dumps(told))

    def told(self, unit: str) -> Any:
        """What was found when a unit was done."""
        path = self.folder / "done" / unit
        with reading(path):
            return json.loads(path.read_bytes())

    def finish(self) -> None:
        """The result to its place, and nothing else is left."""
        with writing(self.out):
            if self.out.exists():
                self.out.rmdir()  # which is empty, or it stays
            self.stream.rename(self.out)
        self.unlock()
        self.clear()
