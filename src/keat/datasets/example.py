"""A small log of orders to try things on, as somebody's own files would look: CSV, names, dates, amounts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow.csv import WriteOptions, write_csv

from keat.datasets.payments import FEATURES, simulate_payments
from keat.disk import new_file
from keat.events import EventStream

ORDERS, START = 6_000, 1_704_445_964  # the first of them on 5 January 2024, at 9:12
SHOPS = ("corner café", "books & co", "gym", "kiosk", "bakery", "cinema", "pharmacy", "florist")
DAY = 86_400


def write_example(folder: Path) -> dict[str, int]:
    """``orders.csv``, and ``today.csv`` with the orders of the day after; how many rows each has."""
    stream = simulate_payments(ORDERS, seed=7, cardholders=120, merchants=60, fraud=False)
    stream = replace(stream, t=stream.t - stream.t[0] + START)
    today = int(np.searchsorted(stream.t, stream.t[-1] - DAY))
    written = {}
    for name, part in (("orders.csv", stream[:today]), ("today.csv", stream[today:])):
        orders = _as_orders(part)
        with new_file(folder / name) as path, path.open("wb") as file:
            file.write(",".join(orders.column_names).encode() + b"\n")  # Arrow would put quotes around names
            write_csv(orders, file, WriteOptions(include_header=False, quoting_style="none"))
        written[name] = len(part)
    return written


def _as_orders(stream: EventStream) -> pa.Table:
    shop = stream.dst - 120
    names = [f"{SHOPS[k % len(SHOPS)]} {k // len(SHOPS) + 1}" for k in range(60)]
    amount = np.exp(np.minimum(stream.features[:, FEATURES.index("log_amount")], 5.0).astype(np.float64))
    when = pa.array(stream.t, pa.timestamp("s")).cast(pa.string())
    return pa.table(
        {
            "customer": [f"C-{customer:03}" for customer in stream.src.tolist()],
            "shop": [names[place] for place in shop.tolist()],
            "when": when,
            "amount": np.round(amount, 2),
        }
    )
