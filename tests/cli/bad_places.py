"""Places that are none: where a file, a folder or a run should be, or be written, is something else."""

from __future__ import annotations

import os
from pathlib import Path

from bad_events import LONG
from bad_files import REPRODUCE
from command import ORDERS
from workplace import SHOP, Bad

PIPE = "is neither a file nor a folder but a pipe or a device; give a plain file"
NO_RUN = "is a file, and a run is a folder made by keat train; give that folder"
NOT_THE_RUN = "is a saved stream and not a run; give the folder made by keat train"
TOO_LONG = "(File name too long)"
NO_FOLDER = "is a file and no folder"
SMALL = ("train", "keat-rank", "payments:1000", "--epochs", "1", "--out")


def odd_places(folder: Path) -> None:
    for kind in ("", ".csv", ".npz", ".toml", ".png", ".parquet"):
        os.mkfifo(folder / f"pipe{kind}")
    (folder / "loop").symlink_to("loop")
    (folder / "folder.csv").mkdir()
    (folder / "folder.toml").mkdir()


WORDS: list[tuple[tuple[str, ...], str]] = [
    (("data", "info", ""), "The name of the dataset is empty"),
    (("data", "info", "."), "but not one written by EventStream.save"),
    (("data", "info", "/dev/zero"), PIPE),
    (("data", "info", "/dev/null"), PIPE),
    (("data", "info", LONG), TOO_LONG),
    (("data", "info", f"{LONG}.csv"), TOO_LONG),
    (("data", "info", f"{LONG}/x.csv"), TOO_LONG),
    (("data", "info", "~nobody-at-all/x.csv"), "names a home folder that is not here"),
    (("data", "info", "run"), "run is a run, made by keat train, and not a dataset"),
    (("data", "info", "orders.csv/x.csv"), NO_FOLDER),
    (("data", "info", "order.csv"), "did you mean"),
    (("data", "info", "payments:99999999999999"), "of memory"),
    (("data", "info", "payments:-5"), "should name a number of events"),
    (("data", "info", "payments:"), "should name a number of events"),
    (("data", "info", "payments:many"), "should name a number of events"),
    (("data", "info", "payments:1e9"), ""),
    (("data", "info", "payments:0"), ""),
    (("data", "info", "a\0b"), ""),
    (("data", "info", "tgbl-wikki"), "did you mean"),
    *(
        (("data", "prepare", *words, *ORDERS), told)
        for words, told in (
            (("orders.csv", "--out", "orders.csv"), "orders.csv is a file; name a folder"),
            (("orders.csv", "--out", "orders.csv/x"), NO_FOLDER),
            (
                ("orders.csv", "--out", "saved"),
                "saved is not empty; delete it first, or choose another folder",
            ),
            (("orders.csv", "--out", "run"), "run is not empty"),
            (("orders.csv", "--out", LONG), TOO_LONG),
            (("orders.csv", "--out", "new", "--memory", "much"), "'much' is no amount of memory"),
            (("orders.csv", "--out", "new", "--memory", "1MB"), "allow at least 0.5 GB"),
            (("order.csv", "--out", "new"), "did you mean"),
            (("orders.csv", "orders.csv", "--out", "new"), "is given twice"),
            (("pipe.csv", "--out", "new"), PIPE),
            (("folder.csv", "--out", "new"), "folder.csv is a folder; give a file"),
            (("orders.csv", "--out", "new", "--label", "shop"), "is given twice, as dst and label"),
        )
    ),
    *(
        (("predict", place, "--source", "C-001"), told)
        for place, told in (
            ("orders.csv", NO_RUN),
            ("saved", NOT_THE_RUN),
            ("pipe", PIPE),
            ("loop", "Too many levels of symbolic links"),
            (LONG, TOO_LONG),
            ("nowhere", "nowhere is not a keat run: it has no run.json"),
            ("", "is not a keat run"),
            ("run/run.json", NO_RUN),
            ("orders.csv/run", ""),
            ("a\0b", ""),
        )
    ),
    (("explain", "orders.csv", "--src", "a", "--dst", "b"), NO_RUN),
    (("explain", "nowhere", "--src", "a", "--dst", "b"), "is not a keat run"),
    (("explain", "pipe", "--src", "a", "--dst", "b"), PIPE),
    (("analyze", "attention", "orders.csv", "--data", "saved"), NO_RUN),
    (("analyze", "attention", "nowhere", "--data", "saved"), "is not a keat run"),
    (("analyze", "attention", "run", "nowhere", "--data", "orders.csv", *ORDERS), "is not a keat run"),
    (("evaluate", "orders.csv", "orders.csv", *ORDERS), NO_RUN),
    (("evaluate", "saved", "orders.csv", *ORDERS), NOT_THE_RUN),
    (("evaluate", LONG, "orders.csv", *ORDERS), TOO_LONG),
    (("evaluate", "", "orders.csv", *ORDERS), ""),
    (("evaluate", "./nowhere", "orders.csv", *ORDERS), "is not a keat run"),
    (("evaluate", "edgebank", "run"), "is a run, made by keat train, and not a dataset"),
    (("evaluate", "heuristics", "orders.csv", *ORDERS, "--node-labels", "pipe"), PIPE),
    (("evaluate", "heuristics", "orders.csv", *ORDERS, "--node-labels", "."), ""),
    (("evaluate", "heuristics", "orders.csv", *ORDERS, "--node-labels", LONG), TOO_LONG),
    (("train", "gearsage", "pipe.npz"), PIPE),
    (("predict", "graphs", "--graph", "pipe.npz"), PIPE),
    (("predict", "run", "--pairs", "nowhere.csv"), "The file nowhere.csv does not exist"),
    (("predict", "run", "--pairs", "."), ""),
    (("predict", "run", "--pairs", "pipe.csv"), PIPE),
    (("predict", "run", "--pairs", LONG), TOO_LONG),
    (("predict", "run", "--embeddings", "."), "is a folder; name a file in it"),
    (("predict", "run", "--embeddings", "pipe.parquet"), PIPE),
    (("predict", "run", "--embeddings", "orders.csv/x"), NO_FOLDER),
    (("predict", "run", "--embeddings", LONG), TOO_LONG),
    (("predict", "run", "--embeddings", "new.csv"), "not written as new.csv; let its name end in .parquet"),
    (("predict", "run", "--embeddings", "new.parquet", "--out", "new.csv"), "leave --out out"),
    *(
        ((*words, place), told)
        for words in (
            ("predict", "run", "--source", "C-001", "--out"),
            ("predict", "run", "--all-sources", "--out"),
            ("predict", "graphs", "--graph", "graph.npz", "--out"),
            ("evaluate", "run", "orders.csv", *ORDERS, "--scores"),
        )
        for place, told in (
            ("new", "not written as new; let its name end in .csv or .parquet"),
            ("new.xlsx", "not written as new.xlsx; let its name end in .csv or .parquet"),
            ("pipe.csv", PIPE),
            ("folder.csv", "is a folder; name a file in it"),
            ("orders.csv/x.csv", NO_FOLDER),
            (f"{LONG}.csv", TOO_LONG),
            ("", "is a folder; name a file in it"),
        )
    ),
    ((*SMALL, "orders.csv"), ""),
    ((*SMALL, "orders.csv/new"), ""),
    ((*SMALL, "pipe"), ""),
    ((*SMALL, "loop"), ""),
    ((*SMALL, LONG), "File name too long"),
    ((*SMALL, f"{LONG}/new"), "File name too long"),
    ((*SMALL, "a\0b"), ""),
    ((*SMALL, "/dev/null"), ""),
    (("explain", "run", "--src", "C-001", "--dst", SHOP, "--out", "orders.csv"), "is a file; name a folder"),
    (("explain", "run", "--src", "C-001", "--dst", SHOP, "--out", "orders.csv/x"), NO_FOLDER),
    (("explain", "run", "--src", "C-001", "--dst", SHOP, "--out", "pipe"), PIPE),
    (("explain", "run", "--src", "C-001", "--dst", SHOP, "--out", LONG), TOO_LONG),
    (("data", "example", "saved/t.npy"), NO_FOLDER),
    (("data", "example", "pipe"), ""),
    (("data", "example", "loop"), ""),
    (("data", "example", LONG), TOO_LONG),
    (("demo", "--out", "orders.csv"), "is a file; name a folder"),
    (("demo", "--out", "orders.csv/x"), NO_FOLDER),
    (("demo", "--out", "pipe"), PIPE),
    (("demo", "--out", LONG), TOO_LONG),
    *(
        (("analyze", "moments", "--out", place), told)
        for place, told in (
            ("orders.csv/x.png", "since orders.csv is a file and no folder"),
            ("folder.csv", "is a folder; name a file in it"),
            ("x.nope", "A picture is not drawn as x.nope; let its name end in .png"),
            ("pipe.png", PIPE),
            (f"{LONG}.png", TOO_LONG),
            ("", "is a folder; name a file in it"),
            ("a\0b.png", ""),
        )
    ),
    (("analyze", "attention", "run", "--data", "orders.csv", *ORDERS, "--out", "x.nope"), "not drawn as"),
    (("reproduce", "figure-kernels", "--out", "orders.csv/x.png"), NO_FOLDER),
    (("reproduce", "figure-moments", "--out", "x.nope"), "not drawn as"),
    (("reproduce", "figure-kernels", "--out", ""), "is a folder; name a file in it"),
    (("reproduce", "nowhere.toml"), "There is no recipe nowhere.toml"),
    (("reproduce", "folder.toml"), "There is no recipe"),
    (("reproduce", "pipe.toml"), PIPE),
    (("reproduce", f"{LONG}.toml"), TOO_LONG),
    (("reproduce", "table-link", "--data", f"wikipedia={LONG}"), TOO_LONG),
    (("reproduce", "list", "--ledger", "pipe"), PIPE),
    (("reproduce", "list", "--ledger", "folder.csv"), "The ledger folder.csv is a folder; name a file"),
    (("reproduce", "list", "--ledger", "orders.csv"), "Line 1 of the ledger orders.csv is damaged"),
    (("reproduce", "list", "--ledger", LONG), TOO_LONG),
    ((*REPRODUCE[:4], "--ledger", "orders.csv/x", "--out", "new.png"), NO_FOLDER),
    ((*REPRODUCE[:4], "--ledger", ".", "--out", "new.png"), "is a folder"),
]
PLACES: list[Bad] = [Bad(words, odd_places, told) for words, told in WORDS]
ODD_PLACES: list[Bad] = [Bad((*SMALL, "r[/b] x"))]
