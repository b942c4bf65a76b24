"""A recipe of three arms on a thousand payments, as a file, and the command that runs it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from keat.datasets.payments import simulate_payments

RECIPE = """
title = "Small"
about = "A test."
metric = "mrr"
datasets = ["mine"]
seeds = 2
published_by = "paper"
[fit]
epochs = {epochs}
[[arms]]
label = "EdgeBank"
model = "edgebank"
{published}
[[arms]]
label = "TGN"
model = "tgn"
config = {{ dim = 8 }}
[[arms]]
label = "{label}"
model = "keat-tgn"
config = {{ dim = 8 }}
against = "TGN"
"""


def small_plan(
    folder: Path, *, epochs: int = 1, label: str = "KEAT", published: str = ""
) -> list[str | Path]:
    """``keat reproduce`` of the recipe with all its files in ``folder``."""
    stream = simulate_payments(1_000, seed=3)
    pq.write_table(pa.table({"src": stream.src, "dst": stream.dst, "t": stream.t}), folder / "mine.parquet")
    recipe = RECIPE.format(epochs=epochs, label=label, published=published)
    (folder / "small.toml").write_text(recipe)
    where: list[str | Path] = ["--ledger", folder / "ledger.jsonl", "--scratch", folder / "runs"]
    return ["reproduce", folder / "small.toml", "--data", f"mine={folder / 'mine.parquet'}", *where]
