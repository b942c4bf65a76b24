"""Worlds whose evidence fades at a known rate: the payments simulator with hints alone.

Every basket hints at a category. A later payment of the same card follows the hint of the last, last but one
or last but two basket with probability 0.8 · 2^(-age / half-life), and is otherwise the cardholder's own
choice. The question, before a payment happens: will it be in the first half of the categories? Where it goes
is hidden: every payment is to a till drawn at random, so that nothing but past baskets tells.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from keat.datasets.loading import Dataset
from keat.datasets.payments import CATEGORIES, FEATURES, PaymentsConfig, simulate_payments_with_truth
from keat.events import EventStream

DAY = 86_400.0
EVENTS, CARDS, SHOPS = 12_000, 300, 200
BASKET = [FEATURES.index(name) for name in ("basket_x", "basket_y")]  # the two features that hint
LOOKS_BACK = 3  # baskets a payment may follow

Floats = npt.NDArray[np.float64]


def simulate(half_life: float, seed: int) -> Dataset:
    """``half_life`` of a hint in seconds: infinite where hints never go stale, 0 where they mean nothing.
    Cards, baskets and tills are those of the seed."""
    config = PaymentsConfig(
        hint=0.8 if half_life > 0 else 0.0,
        hint_half_life=half_life or math.inf,
        session_gap=DAY,  # ages on both sides of the half-life
        bursts=0.0,
        stay=0.0,
        explore=0.05,
        taste_drift=0.0,
        newcomers=0.0,
    )
    stream, truth = simulate_payments_with_truth(
        EVENTS, seed=seed, cardholders=CARDS, merchants=SHOPS, fraud=False, config=config
    )
    category = truth.merchant_category[stream.dst - CARDS]
    tills = CARDS + np.random.default_rng([seed, 1]).integers(0, SHOPS, len(stream))
    return Dataset(
        EventStream.from_arrays(
            stream.src,
            tills,
            stream.t,
            np.ascontiguousarray(stream.features[:, BASKET]),
            labels=(category < len(CATEGORIES) // 2).astype(np.int8),
            num_nodes=stream.num_nodes,
            name="hints",
        )
    )


def without_a_graph(data: Dataset, half_life: float) -> float:
    """Test AUC of a logistic regression on the last baskets, each faded by the planted rule: what is there to
    be found by one who knows the half-life."""
    stream = data.stream
    assert stream.labels is not None
    order = np.lexsort((np.arange(len(stream)), stream.src))  # by card, then by time
    features, t, card = stream.features[order], stream.t[order].astype(np.float64), stream.src[order]
    columns = []
    for back in range(1, LOOKS_BACK + 1):
        age = t[back:] - t[:-back]
        rate = 0.0 if not half_life else math.log(2) / half_life
        weight = np.where(card[back:] == card[:-back], np.exp(-rate * age), 0.0)
        columns.append(np.pad(weight[:, None] * features[:-back], ((back, 0), (0, 0))))
    known = np.empty((len(stream), 2 * LOOKS_BACK))
    known[order] = np.concatenate(columns, axis=1)
    train, test = slice(0, data.val.offset), slice(data.test.offset, None)
    model = LogisticRegression(max_iter=1_000).fit(known[train], stream.labels[train])
    return float(roc_auc_score(stream.labels[test], model.predict_proba(known[test])[:, 1]))
