"""Worlds whose evidence fades at a known rate: the payments simulator with hints alone.

Every basket hints at a category. A later payment of the same card follows the hint of the last, last but one
or last but two basket with probability 0.8 · 2^(-age / half-life), and is otherwise the cardholder's own
choice. The question, before a payment happens: will it be in the first half of the categories? Where it goes
is hidden: every payment is to a till drawn at random, so that nothing but past baskets tells.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from keat.datasets.loading import Dataset
from keat.datasets.payments import CATEGORIES, FEATURES, PaymentsConfig, simulate_payments_with_truth
from keat.events import EventStream
from keat.events.splitting import HELD_OUT

DAY = 86_400.0
EVENTS, CARDS, SHOPS = 12_000, 300, 200
BASKET = [FEATURES.index(name) for name in ("basket_x", "basket_y")]  # the two features that hint
LOOKS_BACK = 3  # baskets a payment may follow

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class World:
    """Times in seconds."""

    half_life: float  # of a hint: infinite where hints never go stale, 0 where they mean nothing
    gap: float = DAY  # between payments of a session, on average
    later_gap: float | None = None  # the same in the test split, where it is another there

    def simulate(self, seed: int) -> Dataset:
        """Cards, baskets and tills of a seed."""
        stream = self._payments(self.gap, seed)
        if self.later_gap is not None:
            first = len(stream) - round(HELD_OUT[1] * len(stream))
            later = self._payments(self.later_gap, seed + 1_000)[first:]
            stream = _one_after_the_other(stream[:first], later)
        return Dataset(stream)

    def _payments(self, gap: float, seed: int) -> EventStream:
        config = PaymentsConfig(
            hint=0.8 if self.half_life > 0 else 0.0,
            hint_half_life=self.half_life or math.inf,
            session_gap=gap,
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
        assert stream.features is not None
        return EventStream.from_arrays(
            stream.src,
            CARDS + np.random.default_rng([seed, 1]).integers(0, SHOPS, len(stream)),
            stream.t,
            np.ascontiguousarray(stream.features[:, BASKET]),
            labels=(category < len(CATEGORIES) // 2).astype(np.int8),
            num_nodes=stream.num_nodes,
            name="hints",
        )


def _one_after_the_other(first: EventStream, second: EventStream) -> EventStream:
    """The same cards go on, a day after the last payment of them all."""
    assert first.labels is not None
    assert second.labels is not None
    begin = int(first.t[-1] + DAY - second.t[0])
    return EventStream.from_arrays(
        np.concatenate((first.src, second.src)),
        np.concatenate((first.dst, second.dst)),
        np.concatenate((first.t, second.t + begin)),
        np.concatenate((first.features, second.features)),
        labels=np.concatenate((first.labels, second.labels)),
        num_nodes=first.num_nodes,
        name=first.name,
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
