"""Other files that a command reads: pairs, labels of nodes, ledgers, recipes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bad_events import made, text
from bad_runs import file_damages, hurt
from command import ORDERS
from workplace import LATER, RECIPE, SHOP, Bad, Damage

# -- pairs -------------------------------------------------------------------------------------------

GOOD = f"C-001,{SHOP}"
PAIRS: dict[str, str | bytes] = {
    "empty": "",
    "blank": "\n",
    "one column": "customer\nC-001\n",
    "no source": f"customer,shop\n,{SHOP}\n",
    "no destination": "customer,shop\nC-001,\n",
    "ragged": f"customer,shop\n{GOOD}\nC-001\n",
    "UTF-16": f"customer,shop\n{GOOD}\n".encode("utf-16"),
    "latin-1": "customer,shop\nC-001,caf\xe9\n".encode("latin-1"),
    "zeros": bytes(99),
    "noise": bytes(range(256)),
    "no rows": "customer,shop\n",
    "a date of the past": f"customer,shop,when\n{GOOD},2023-12-31\n",
    "a date that is none": f"customer,shop,when\n{GOOD},2030-02-31\n",
    "a word": f"customer,shop,when\n{GOOD},soon\n",
    "no time": f"customer,shop,when\n{GOOD},\n",
    "NaN": f"customer,shop,when\n{GOOD},NaN\n",
    "a fraction": f"customer,shop,when\n{GOOD},{LATER}.5\n",
    "the past": f"customer,shop,when\n{GOOD},5\n",
    "before the past": f"customer,shop,when\n{GOOD},-5\n",
    "too late": f"customer,shop,when\n{GOOD},{2**63}\n",
    "far too late": f"customer,shop,when\n{GOOD},{10**30}\n",
}
EVENTS: dict[str, str] = {
    "no feature": f"customer,shop,when\n{GOOD},{LATER}\n",
    "an empty feature": f"customer,shop,when,amount\n{GOOD},{LATER},\n",
    "NaN as feature": f"customer,shop,when,amount\n{GOOD},{LATER},NaN\n",
    "an infinite feature": f"customer,shop,when,amount\n{GOOD},{LATER},inf\n",
    "a feature too large": f"customer,shop,when,amount\n{GOOD},{LATER},1e300\n",
    "text as feature": f"customer,shop,when,amount\n{GOOD},{LATER},much\n",
    "an event of the past": f"customer,shop,when,amount\n{GOOD},5,3\n",
    "an event of no time": f"customer,shop,when,amount\n{GOOD},soon,3\n",
}
NODE_LABELS: dict[str, str | bytes] = {
    "empty": "",
    "one column": "C-001\nC-002\n",
    "text": "C-001,yes\nC-002,no\n",
    "strangers": "x,1\ny,0\n",
    "no label": "C-001,\nC-002,1\n",
    "nothing to find": "C-001,7\nC-002,8\n",
    "NaN": "C-001,NaN\nC-002,NaN\n",
    "noise": bytes(range(256)),
    "UTF-16": "C-001,1\nC-002,0\n".encode("utf-16"),
    "twice": "C-001,1\nC-001,0\n",
}


def _pairs() -> Iterator[Bad]:
    for what, content in PAIRS.items():
        yield Bad(("predict", "run", "--pairs", "p.csv"), made("p.csv", text(content)), name=what)
    for what, content in EVENTS.items():
        yield Bad(("predict", "fraud", "--pairs", "p.csv"), made("p.csv", text(content)), name=what)
    for what, content in NODE_LABELS.items():
        words = ("evaluate", "counts", "orders.csv", *ORDERS, "--node-labels", "n.csv")
        yield Bad(words, made("n.csv", text(content)), name=what)


# -- ledgers and recipes -----------------------------------------------------------------------------

REPRODUCE = (
    "reproduce",
    "recipe.toml",
    "--data",
    "mine=saved",
    "--ledger",
    "ledger.jsonl",
    "--out",
    "new.png",
)


def ledger(**changes: Any) -> Damage:
    def damage(path: Path) -> None:
        path.write_text(json.dumps(json.loads(path.read_text()) | changes) + "\n")

    return hurt(".", "ledger.jsonl", damage)


LEDGERS: dict[str, Damage] = {
    **{
        what: hurt(".", "ledger.jsonl", damage)
        for what, damage in file_damages(0).items()
        if what not in ("missing", "empty", "cut in half", "garbage JSON")  # nothing, or half a line
    },
    "no key": ledger(key=None),
    "a key that is a number": ledger(key=3),
    "a test that is a list": ledger(test=[]),
    "no test": ledger(test={}),
    "a metric that is text": ledger(val={"mrr": "high"}),
    "a configuration that is a number": ledger(config=7),
    "a refresh that is a number": ledger(refresh=1),
    "a metric that is none": ledger(test={"200": {"mrr": None}}),
}
RECIPES: list[tuple[str, str, str]] = [
    ("metric = 'mrr'", "metric = 'nope'", "Unknown metric of link-ranking 'nope'"),
    ("metric = 'mrr'", "metric = 3", "'metric' cannot be 3"),
    ("metric = 'mrr'", "", "There is no 'metric'"),
    ("metric = 'mrr'", "metric = 'mrr'\ntask = 'node-label'", "Unknown task"),
    ("title = 'x'", "title = 2024-01-01", "'title' cannot be"),
    ("['mine']", "[]", "at least one of its datasets"),
    ("['mine']", "'mine'", "'datasets' cannot be"),
    ("['mine']", "['yours']", "needs data"),
    ("seeds = 1", "seeds = 0", "'seeds' must be at least 1"),
    ("seeds = 1", "seeds = true", "'seeds' cannot be True"),
    ("seeds = 1", "seeds = 1\nrefresh = [0]", "'refresh' must be at least 1"),
    ("seeds = 1", "seeds = 1\nsample = { mine = -1 }", "'sample' must be at least 1"),
    ("seeds = 1", "seeds = 1\nreading.mine = { units = 's' }", "A recipe's reading has unit"),
    ("seeds = 1", "seeds = 1\nreading.mine = { unit = 'fortnight' }", ""),
    ("seeds = 1", "seeds = 1\nreading.mine = { period = 'blink' }", ""),
    ("'edgebank'", "'edgebnk'", "did you mean 'edgebank'"),
    ("'edgebank'", "'tgn'\nconfig = { dim = -8 }", "dim"),
    ("'edgebank'", "'tgn'\nconfig = { dims = 8 }", "Unknown setting"),
    ("'edgebank'", "'tgn'\nfit = { lr = nan }", "'lr'"),
    ("'edgebank'", "'tgn'\nfit = { loss = 'listwize' }", "'loss'"),
    ("'edgebank'", "'tgn'\nfit = { lr = -1.0 }", ""),
    ("'edgebank'", "'tgn'\nfit = { historical = 2.0 }", ""),
    ("'edgebank'", "'tgn'\nfit = { epochs = 0 }", "at least 1"),
    ("label = 'EdgeBank'", "label = ''", "each with a name"),
    (RECIPE, "", "There is no 'title'"),
    (RECIPE, "[[", "is not one"),
    (RECIPE, "arms = 3", "has no list of arms"),
    (RECIPE, "like = 'recipe.toml'\narms = []", ""),
]


def _experiments() -> Iterator[Bad]:
    for what, damage in LEDGERS.items():
        yield Bad(REPRODUCE, damage, name=f"ledger: {what}")
    for what, damage in file_damages(8).items():
        yield Bad(REPRODUCE, hurt(".", "recipe.toml", damage), name=f"recipe: {what}")
    for old, new, told in RECIPES:
        changed = text(RECIPE.replace(old, new))
        yield Bad(
            REPRODUCE, made("recipe.toml", changed), told, name=f"{old[:20]} → {new[:60]}".replace("\n", " ")
        )
    yield Bad(("reproduce", "list", "--ledger", "ledger.jsonl"), LEDGERS["text"], "Line 1 of the ledger")
    yield Bad(("reproduce", "table-ranking", "--ledger", "ledger.jsonl"), LEDGERS["no test"])


FILES: list[Bad] = [*_pairs(), *_experiments()]

# -- odd files that can be used ----------------------------------------------------------------------

ODD_PAIRS: dict[str, str] = {
    "nobody": f"customer,shop\nnobody,{SHOP}\n",
    "a date": f"customer,shop,when\n{GOOD},2030-01-31\n",
    "a date and a time": f"customer,shop,when\n{GOOD},2030-01-31 10:00:00\n",
    "a mark": f"\ufeffcustomer,shop\n{GOOD}\n",
    "blanks": f"customer, shop\nC-001, {SHOP}\n",
    "the same pair twice": f"customer,shop\n{GOOD}\n{GOOD}\n",
    "the largest time": f"customer,shop,when\n{GOOD},{2**63 - 1}\n",
    "more columns": f"customer,shop,when,x,y\n{GOOD},{LATER},a,b\n",
}
CUT: Callable[[Path], object] = file_damages(0)["cut in half"]
ODD_FILES: list[Bad] = [
    *(
        Bad(("predict", "run", "--pairs", "p.csv"), made("p.csv", text(content)), name=what)
        for what, content in ODD_PAIRS.items()
    ),
    Bad(
        ("predict", "fraud", "--pairs", "p.csv"),
        made("p.csv", text(f"customer,shop,when,amount\nnobody,nothing,{LATER},3\n")),
        name="nobody",
    ),
    Bad(("predict", "run", "--embeddings", "new/[/b] x.parquet")),
    Bad(REPRODUCE, hurt(".", "ledger.jsonl", CUT), name="half a line"),
    Bad(REPRODUCE, hurt(".", "ledger.jsonl", Path.unlink), name="no ledger"),
]
