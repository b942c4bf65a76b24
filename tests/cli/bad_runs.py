"""Damaged runs: every file of a run, in every way a file can be damaged, by every verb that opens it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from command import ORDERS
from safetensors.torch import load_file, save_file
from workplace import RUNS, SHOP, Bad, Damage

from damaged_runs import DAMAGES, setting, without

LONGER = ("--epochs", "3")  # the last of two options counts
ASKED: dict[str, tuple[str, ...]] = {  # each opens the run of its name in its own way
    "predict": ("predict", "run", "--source", "C-001"),
    "evaluate": ("evaluate", "run", "orders.csv", *ORDERS),
    "explain": ("explain", "run", "--src", "C-001", "--dst", SHOP),
    "analyze": ("analyze", "attention", "run", "--data", "orders.csv", *ORDERS),
    "update": ("update", "run", "later.csv"),
    "train": ("train", *RUNS["run"], *LONGER, "--out", "run", "--resume"),
}


def file_damages(flipped: int) -> dict[str, Callable[[Path], object]]:
    """What can happen to a file, whatever is in it; the byte that is flipped is one that matters."""

    def cut(path: Path) -> None:
        whole = path.read_bytes()
        middle = len(whole) // 2
        between_lines = b"\n" in whole[middle - 1 : middle + 1]
        path.write_bytes(whole[: middle - 3 if between_lines else middle])

    def flip(path: Path) -> None:
        bytes_of = bytearray(path.read_bytes())
        bytes_of[flipped if flipped < 0 else len(bytes_of) // 2 if flipped == 0 else flipped] ^= 0x80
        path.write_bytes(bytes_of)

    def folder(path: Path) -> None:
        path.unlink()
        path.mkdir()

    def pipe(path: Path) -> None:
        path.unlink()
        os.mkfifo(path)

    def loop(path: Path) -> None:
        path.unlink()
        path.symlink_to(path.name)

    return {
        "missing": Path.unlink,
        "empty": lambda path: path.write_bytes(b""),
        "cut in half": cut,
        "a byte flipped": flip,
        "text": lambda path: path.write_text("this is not what was here\n"),
        "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
        "garbage JSON": lambda path: path.write_text('{"a": [1, {"b"'),
        "JSON of another kind": lambda path: path.write_text('["run", 1, null]'),
        "a folder": folder,
        "a pipe": pipe,
        "a link to itself": loop,
    }


MIDDLE = 0
FILES: dict[str, tuple[int, tuple[str, ...]]] = {  # the byte that is flipped, and who reads the file
    "run.json": (MIDDLE, tuple(ASKED)),
    "metrics.jsonl": (MIDDLE, tuple(ASKED)),
    "ids.parquet": (
        -6,
        ("predict", "evaluate", "explain", "analyze", "update"),
    ),  # within the length of the footer
    "best-*.safetensors": (6, tuple(ASKED)),  # within the length of the header
    "last-*.safetensors": (6, ("train",)),
    "seen.json": (MIDDLE, ("predict", "update", "train")),
    "state-*.safetensors": (6, ("predict", "update")),
    "names-*.parquet": (-6, ("predict", "update")),
}


def hurt(folder: str, file: str, damage: Callable[[Path], object]) -> Damage:
    def damaged(place: Path) -> None:
        damage(max((place / folder).glob(file)))  # of the latest epoch: files of the one before may be there

    return damaged


def _every_file() -> Iterator[Bad]:
    for file, (flipped, verbs) in FILES.items():
        for what, damage in file_damages(flipped).items():
            for verb in verbs if (file, what) != ("seen.json", "missing") else ():  # then it has seen no more
                yield Bad(ASKED[verb], hurt("run", file, damage), name=f"{file}: {what}")


# -- what is in the files ----------------------------------------------------------------------------


def within(folder: str, damage: Damage) -> Damage:
    return lambda place: damage(place / folder)


def _contents() -> Iterator[Bad]:
    verbs = [verb for verb in ASKED if verb != "train"]
    for place, (what, damage) in enumerate(DAMAGES.items()):
        verb = (
            "predict" if "head" in what else verbs[place % len(verbs)]
        )  # others are not for runs with a head
        yield Bad(ASKED[verb], within("run", damage), "the run is damaged: ", what)
        if not what.startswith(("ids", "best without")):  # these are written again, and not looked into
            yield Bad(ASKED["train"], within("run", damage), name=what)


OTHERS: list[Bad] = [
    *(
        Bad(ASKED[verb], within("run", setting(value, *keys)), told, f"{keys[-1]} is {value}")
        for keys, value, told in (
            (("spec", "model"), "transformer", "Unknown model of the run"),
            (("spec", "model"), "gearsage", ""),
            (("format",), 99, "another version of keat"),
            (("format",), "1", "another version of keat"),
        )
        for verb in ("predict", "evaluate", "explain")
    ),
    *(
        Bad(
            ("evaluate", "shares", "orders.csv", *ORDERS),
            within("shares", setting(labels, "spec", "source", "labels")),
            name=str(labels),
        )
        for labels in (
            {"colour": 1},
            {"period": [7]},
            {"period": "blink"},
            {"undirected": 3},
            {"weight": 1},
            [1],
            "x",
        )
    ),
]


OTHERS += [
    Bad(ASKED["evaluate"], within("run", setting(value, "spec", "task", key)), name=f"{key} is {value}")
    for key, value in (("labelled", 3), ("labelled", "both"), ("protocol", "lenient"), ("kind", "link"))
]


# -- other kinds of run ------------------------------------------------------------------------------


def without_the_folder(name: str) -> Damage:
    return lambda place: shutil.rmtree(place / name)


OTHER_ASKED: dict[str, tuple[str, ...]] = {
    "rank": ("explain", "rank", "--src", "C-001", "--dst", SHOP),
    "fraud": ("predict", "fraud", "--pairs", "asked.csv"),
    "shares": ("predict", "shares", "--source", "C-001"),
    "graphs": ("predict", "graphs", "--graph", "graph.npz"),
}


def _other_kinds() -> Iterator[Bad]:
    for kind, words in OTHER_ASKED.items():
        for file in ("run.json", "metrics.jsonl", "best-*.safetensors"):
            for what, damage in list(file_damages(FILES[file][0]).items())[:5]:
                yield Bad(words, hurt(kind, file, damage), name=f"{file}: {what}")
        yield Bad(words, without_the_folder(kind), "is not a keat run", name="gone")
        yield Bad(words, within(kind, setting("fortnight", "facts", "unit")), name="unit")
    resumed = ("train", *RUNS["graphs"], *LONGER, "--out", "graphs", "--resume")
    for file in ("run.json", "metrics.jsonl", "best-*.safetensors", "last-*.safetensors"):
        for what, damage in list(file_damages(FILES[file][0]).items())[:5]:
            yield Bad(resumed, hurt("graphs", file, damage), name=f"{file}: {what}")
            if file.startswith(("run", "best")):
                yield Bad(
                    ("evaluate", "graphs", "graph.npz"), hurt("graphs", file, damage), name=f"{file}: {what}"
                )


RUN_DAMAGES: list[Bad] = [*_every_file(), *_contents(), *OTHERS, *_other_kinds()]


def another_number(path: Path) -> None:
    """A parameter that nobody learned, and that is one all the same."""
    tensors = load_file(path)
    next(tensor for tensor in tensors.values() if tensor.is_floating_point()).add_(0.01)
    save_file(tensors, path)


ODD_RUNS: list[Bad] = [  # without damage, so that nothing above is refused for another reason
    *map(Bad, [*ASKED.values(), *OTHER_ASKED.values(), ("evaluate", "graphs", "graph.npz")]),
    *(Bad(("evaluate", run, "orders.csv", *ORDERS)) for run in ("rank", "shares")),
    Bad(ASKED["predict"], hurt("run", "last-*.safetensors", Path.unlink), name="last is missing"),
    Bad(ASKED["predict"], hurt("run", "best-*.safetensors", another_number), name="a number is another"),
    Bad(ASKED["train"], hurt("run", "ids.parquet", Path.unlink), name="ids are written again"),
    Bad(
        ASKED["predict"],
        within("run", without("spec", "fitting", "epochs")),
        name="a setting from before it was one",
    ),
    Bad(ASKED["predict"], hurt("run", "seen.json", Path.unlink), name="as it was after validation"),
]
