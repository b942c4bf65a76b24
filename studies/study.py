"""What studies share: a ledger of typed lines, a command, and numbers as text.

A study asks each of its cells once. Every answer is a line of its ledger as soon as it is there, so a study
that was interrupted goes on where it stopped, and its tables are made of the ledger alone.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import msgspec
import torch

from keat.errors import InputError
from keat.experiments import statistics
from keat.experiments.code_fingerprint import OF_MODELS, OF_TASKS, PIECES, ROOTS, closure, digest
from keat.experiments.ledger import LedgerOf
from keat.experiments.line import Settings
from keat.experiments.provenance import provenance

RESULTS = Path(__file__).parents[1] / "docs" / "results"


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked. Its fields, of which a seed is one, say which line of the ledger is the answer."""


class Found(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What came of a cell, and where it was measured. Older lines do not say all of it."""

    code: str | None = None  # a digest of all sources of keat and of the study that decide numbers
    commit: str | None = None
    torch: str | None = None
    machine: str | None = None


AnyCell = TypeVar("AnyCell", bound=Cell)
AnyFound = TypeVar("AnyFound", bound=Found)


@dataclass(frozen=True, slots=True)
class Result(Generic[AnyCell, AnyFound]):
    """A line of a study's ledger, in which the fields of both stand side by side."""

    cell: AnyCell
    found: AnyFound

    @property
    def key(self) -> str:
        return _key(self.cell)

    def to_json(self) -> dict[str, object]:
        return {**msgspec.to_builtins(self.cell), **msgspec.to_builtins(self.found)}


class StudyLedger(LedgerOf[Result[AnyCell, AnyFound]]):
    """The results of one study."""

    def __init__(self, path: Path, cell: type[AnyCell], found: type[AnyFound]) -> None:
        asked = {field.encode_name for field in msgspec.structs.fields(cell)}

        def line_of(content: Settings) -> Result[AnyCell, AnyFound]:
            rest = {name: value for name, value in content.items() if name not in asked}
            # A ValidationError of msgspec is a ValueError.
            return Result(msgspec.convert(content, cell), msgspec.convert(rest, found))

        super().__init__(path, line_of)

    def complete(
        self, cells: Iterable[AnyCell], ask: Callable[[AnyCell], AnyFound], also: Sequence[str] = ()
    ) -> None:
        """Ask the cells that have no line yet, one after the other on one thread. ``also`` are modules that
        decide what is found beside those of every study."""
        torch.set_num_threads(1)
        asked = {_key(cell): cell for cell in cells}
        lines, code = self.lines(), study_code(ask, also)
        done, others = {line.key for line in lines}, {line.found.code for line in lines} - {None, code}
        missing = [cell for key, cell in asked.items() if key not in done]
        if missing and others:
            raise InputError(
                f"{self.path} has answers of another code than today's {code}, and {len(missing)} are "
                "missing, which could not be compared with them; name another ledger."
            )
        for cell in missing:
            line = Result(cell, msgspec.structs.replace(ask(cell), code=code, **provenance()))
            self.append(line)
            print(json.dumps(line.to_json(), ensure_ascii=False), flush=True)


def study_code(ask: Callable[..., object], also: Sequence[str] = ()) -> str:
    """Of the file that asks and of everything in keat that could decide what it finds. Which models it asks
    is in its cells, so all of them count: a study is short enough to be asked again."""
    asker = getattr(ask, "func", ask)  # of a partial function
    file = inspect.getfile(asker if inspect.isfunction(asker) else type(asker))
    roots = ["keat.models.architectures", "keat.models.heuristics", *ROOTS["node"], *also]
    decides = [*closure(roots, OF_MODELS | OF_TASKS), *PIECES]
    summed = hashlib.blake2b(digest(decides).encode() + Path(file).read_bytes(), digest_size=6)
    return summed.hexdigest()


def _key(cell: Cell) -> str:
    return json.dumps(msgspec.to_builtins(cell), sort_keys=True)


def study_parser(name: str, text: str | None) -> argparse.ArgumentParser:
    """The options every study has; ``name`` is that of its module, its ledger and its page."""
    parser = argparse.ArgumentParser(
        prog=f"python -m studies.{name}",
        description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--report", action="store_true", help="only print the tables of the ledger")
    parser.add_argument(
        "--ledger",
        type=Path,
        default=RESULTS / f"{name}.jsonl",
        help=f"the results; docs/results/{name}.jsonl unless another is named",
    )
    parser.add_argument("--scratch", type=Path, default=Path("runs") / name, help="folder of trained runs")
    return parser


def config_hash(*decided: object) -> str:
    """Of what a model is and how it is trained."""
    text = json.dumps(decided, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


def spread(numbers: Sequence[float]) -> str:
    """Mean ± standard deviation."""
    return str(statistics.spread(numbers))


def gain(ours: Mapping[int, float], theirs: Mapping[int, float]) -> str:
    """Mean of the differences paired by seed with its 95 % interval; nothing where no seed has both."""
    return str(statistics.paired_difference(ours, theirs) or "")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table."""
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]
