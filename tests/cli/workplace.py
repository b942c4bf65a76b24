"""A folder with one of everything a command can be given, made once in a test session and copied for every
bad input; and what a bad input is: a command, and what is done to the folder before it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from command import ORDERS, Ran, keat, write_orders

from keat.datasets.dgraphfin_generator import ContactsConfig, write_dgraphfin
from keat.events import EventStream, read_events

Damage = Callable[[Path], object]  # what is done to the working folder, or to a folder in it

SHOP = "books & co"
COLUMNS = ("--src-column", "customer", "--dst-column", "shop", "--time-column", "when")  # of explain
LATER = 1_704_200_000  # than every order
SMALL = ("--epochs", "2", "--lr", "0.003")
TGN = ("--set", "dim=8", "--set", "neighbors=3")
RUNS: dict[str, tuple[str, ...]] = {  # the words after `keat train`, by the folder of the run
    "run": ("keat-tgn", "orders.csv", *ORDERS, *TGN, *SMALL),
    "rank": ("keat-rank", "orders.csv", *ORDERS, "--set", "hidden=8", "--set", "ring=4", *SMALL),
    "fraud": ("tgn", "orders.csv", *ORDERS, "--features", "amount", "--label", "odd", *TGN, *SMALL),
    "shares": ("keat-tgn", "orders.csv", *ORDERS, "--period", "hour", *TGN, *SMALL),
    "graphs": ("gearsage", "graph.npz", *SMALL),
}
RECIPE = """title = 'x'
about = 'x'
metric = 'mrr'
datasets = ['mine']
seeds = 1
[[arms]]
label = 'EdgeBank'
model = 'edgebank'
"""


@dataclass(frozen=True)
class Bad:
    """A command that cannot be done as it is given, what was damaged before, and a part of the sentence."""

    words: tuple[str, ...]
    damage: Damage | None = None
    told: str = ""
    name: str = ""

    def __str__(self) -> str:
        said = " ".join(word if len(word) < 40 else f"{word[:12]}…{word[-6:]}" for word in self.words)
        return f"{said} [{self.name}]" if self.name else said


@cache
def _template() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="keat-test-")) / "work"
    folder.mkdir()
    write_orders(folder)
    lines = (folder / "orders.csv").read_text().splitlines()
    labelled = [f"{line},{'odd' if not k else k % 3 % 2}" for k, line in enumerate(lines)]
    (folder / "orders.csv").write_text("\n".join(labelled) + "\n")
    (folder / "pairs.csv").write_text(f"customer,shop\nC-001,{SHOP}\nC-007,shop-1\n")
    (folder / "asked.csv").write_text(f"customer,shop,when,amount\nC-001,{SHOP},{LATER},3\n")
    (folder / "later.csv").write_text(f"customer,shop,when\nC-001,{SHOP},2024-02-01 00:00:00\n")
    write_dgraphfin(folder / "graph.npz", 600, seed=1, config=ContactsConfig(fraud_share=0.1))
    read_events(folder / "orders.csv", src="customer", dst="shop", time="when", features="amount").save(
        folder / "saved"
    )
    labelled_stream().save(folder / "labelled")
    (folder / "recipe.toml").write_text(RECIPE)
    with at(folder):
        for name, words in RUNS.items():
            assert keat("train", *words, "--out", name, "--json").code == 0, name
        measured = keat("reproduce", "recipe.toml", "--data", "mine=saved", "--ledger", "ledger.jsonl")
        assert measured.code == 0, measured
    return folder


def labelled_stream() -> EventStream:
    """A stream of whole numbers as ids."""
    rows = range(120)
    return EventStream.from_arrays(
        [k % 7 for k in rows], [7 + k * k % 5 for k in rows], list(rows), labels=[k % 2 for k in rows]
    )


@contextmanager
def at(folder: Path) -> Iterator[None]:
    """Work in a folder, with a folder for data beside it."""
    before, data = Path.cwd(), os.environ.get("KEAT_DATA")
    os.chdir(folder)
    os.environ["KEAT_DATA"] = str(folder.parent / "data")
    try:
        yield
    finally:
        os.chdir(before)
        del os.environ["KEAT_DATA"]
        if data is not None:
            os.environ["KEAT_DATA"] = data


@cache
def _copy() -> Path:
    return shutil.copytree(_template(), Path(tempfile.mkdtemp(prefix="keat-test-")) / "deep" / "work")


@contextmanager
def workplace() -> Iterator[Path]:
    """A copy of the folder, to work in; afterwards it is made to be one again."""
    folder = _copy()
    try:
        with at(folder):
            yield folder
    finally:
        changed = content(folder).items() ^ content(_template()).items()
        others = {path.name for path in folder.iterdir()} - {Path(name).parts[0] for name, _ in changed}
        for place, kept in ((folder.parents[1], {"deep"}), (folder.parent, {"work"}), (folder, others)):
            _clear(place, kept)
        for origin in _template().iterdir():
            if origin.name not in others:
                (shutil.copytree if origin.is_dir() else shutil.copyfile)(origin, folder / origin.name)


def _clear(folder: Path, kept: set[str]) -> None:
    for path in folder.iterdir():
        if path.name in kept:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def content(folder: Path) -> dict[str, bytes | None]:
    """Everything in a folder: bytes of files, None of anything else."""
    found = {}
    for path in sorted(folder.rglob("*")):
        plain = path.is_file() and not path.is_symlink()
        found[str(path.relative_to(folder))] = path.read_bytes() if plain else None
    return found


def assert_refused(ran: Ran, told: str) -> None:
    """A sentence, or typer's box about the usage; nothing of keat's inside; nothing on standard output."""
    assert ran.code in (1, 2), ran
    assert ran.out == ""
    assert "inside keat" not in ran.err
    assert "Traceback" not in ran.err
    assert told in " ".join(ran.err.split()) or told in ran.err
    lines = ran.err.splitlines()
    errors = [line for line in lines if line.startswith("error: ")]
    if ran.code == 2:
        assert lines[0].startswith("Usage: ")
        assert not errors
        return
    assert errors == lines[-1:], ran.err
    assert errors[0].endswith((".", "?"))
    beside = ("note: ", "σ = ", "Simulating ", "Training ", "Looking at ")  # how far it came
    assert all(line.startswith(beside) for line in lines[:-1]), ran.err
