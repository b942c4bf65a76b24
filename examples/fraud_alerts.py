"""Alerts on a stream of payments: learn from labelled ones, then judge each new payment before it is known.

Run it anywhere: `python fraud_alerts.py`. It writes a run.
"""

import warnings
from typing import Any

import numpy as np
import pyarrow as pa

import keat
from keat.datasets.payments import FEATURES

# Simulated card payments as a table: card, shop, time, features, and whether it was a fraud. A data frame or
# a CSV file of yours would do as well. The last 2,000 play the part of what has not happened yet.
stream = keat.simulate_payments(20_000, seed=0)
assert stream.labels is not None
columns = {name: stream.features[:, place] for place, name in enumerate(FEATURES)}
payments = pa.table(
    {"card": stream.src, "shop": stream.dst, "time": stream.t, "fraud": stream.labels, **columns}
)
past, future = payments.slice(0, 18_000), payments.slice(18_000)

# A column of labels makes this a run that labels events. It reads what card and shop have been doing, and
# the payment itself.
named: dict[str, Any] = {
    "src": "card",
    "dst": "shop",
    "time": "time",
    "label": "fraud",
    "features": list(FEATURES),
}
run = keat.train("tgn", past, **named, epochs=4, lr=3e-3, dim=32, out="fraud-run")
print(run)

# Score the payments that come in, raise an alert for the most suspect, then observe them. Scoring changes
# nothing that the model remembers, so no payment is known before its time. New cards and shops are judged as
# strangers; keat says so each time, which a stream need not repeat.
warnings.simplefilter("ignore", keat.Notice)
scores: list[float] = []
for start in range(0, len(future), 500):
    block = future.slice(start, 500).drop_columns("fraud")
    answer = run.score(block)
    scores += answer["score"].to_pylist()
    worst = max(answer.to_pylist(), key=lambda row: float(row["score"]))
    print(f"alert: card {worst['source']} at shop {worst['destination']}, {worst['probability']:.1%} fraud")
    run.observe(block)
run.save()

# Labels become known later. How many frauds are among the 100 highest scores, and how many would chance find?
is_fraud = future["fraud"].to_numpy() == 1
found = int(is_fraud[np.argsort(scores)[-100:]].sum())
print(f"{found} of {is_fraud.sum()} frauds among 100 alerts; chance would find {100 * is_fraud.mean():.1f}")
