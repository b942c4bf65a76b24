"""What docs/understand/payments.md says is planted is found in the stream."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from keat.datasets.payments import (
    CATEGORIES,
    FEATURES,
    Cause,
    PaymentsConfig,
    PaymentsTruth,
    simulate_errands,
    simulate_payments,
    simulate_payments_with_truth,
)
from keat.errors import InputError
from keat.events import EventStream

DAY, HOUR = 86_400, 3_600
CARDHOLDERS, MERCHANTS = 2_500, 949  # the defaults of 100,000 events
Simulated = tuple[EventStream, PaymentsTruth]


@pytest.fixture(scope="module")
def simulated() -> Simulated:
    return simulate_payments_with_truth()


def same(a: EventStream, b: EventStream) -> bool:
    columns = ("src", "dst", "t", "features", "labels")
    return all(np.array_equal(getattr(a, column), getattr(b, column)) for column in columns)


def by_cardholder(stream: EventStream) -> np.ndarray:
    """Rows, one cardholder after the other, each in time order."""
    return np.argsort(stream.src, kind="stable")


def hints(stream: EventStream) -> np.ndarray:
    """The category each basket announces, read back from its two feature columns."""
    turns = np.arctan2(stream.features[:, 5], stream.features[:, 4]) / (2 * np.pi)
    return np.rint(turns * len(CATEGORIES)).astype(int) % len(CATEGORIES)


def test_same_seed_same_bits(simulated: Simulated) -> None:
    assert same(simulated[0], simulate_payments())
    assert not same(simulated[0], simulate_payments(seed=1))


@pytest.mark.parametrize("events", [100, 1_000, 10_000, 300_001])
def test_any_size(events: int) -> None:
    stream = simulate_payments(events, seed=3)
    assert len(stream) == events
    assert stream.labels is not None
    assert stream.labels.sum() == round(events / 100)


def test_sizes_can_be_chosen() -> None:
    stream = simulate_payments(5_000, cardholders=7, merchants=50)
    assert stream.num_nodes == 57
    assert np.array_equal(np.unique(stream.src), np.arange(7))


def test_a_cardholder_may_be_larger_than_a_block() -> None:
    stream = simulate_payments(300_000, cardholders=2)
    assert np.bincount(stream.src, minlength=2)[:2].sum() == 300_000
    assert np.bincount(stream.src).min() > 10_000


@pytest.mark.parametrize("seed", range(20))
def test_small_worlds_hold(seed: int) -> None:
    """One week, hardly any merchants, endless sessions: nothing leaves its range."""
    config = PaymentsConfig(weeks=1, newcomers=1.0, session_length=1e9, session_gap=DAY, fraud_share=0.2)
    stream = simulate_payments(300, seed=seed, cardholders=3, merchants=8, config=config)
    assert stream.t[0] - 1_704_067_200 >= 0
    assert stream.span < 7 * DAY
    assert stream.dst.min() >= 3


def test_stream_is_sound(simulated: Simulated) -> None:
    stream, truth = simulated
    assert np.all(np.diff(stream.t) >= 0)
    assert stream.unit == "s"
    assert stream.span <= 13 * 7 * DAY
    assert stream.num_nodes == CARDHOLDERS + MERCHANTS
    assert np.array_equal(np.unique(stream.src), np.arange(CARDHOLDERS))  # every cardholder pays
    assert stream.dst.min() >= CARDHOLDERS
    assert len(np.unique(stream.dst)) > 0.9 * MERCHANTS  # a few late or unpopular ones see nobody
    assert len(truth.cause) == len(truth.ring) == len(stream)
    assert stream.labels is not None
    assert np.array_equal(stream.labels == 1, truth.cause == Cause.FRAUD)
    assert np.array_equal(stream.labels == 1, truth.ring >= 0)


def test_features(simulated: Simulated) -> None:
    stream, truth = simulated
    assert stream.features.dtype == np.float32
    assert stream.feature_dim == len(FEATURES)
    assert np.isfinite(stream.features).all()
    log_amount, channel, basket = stream.features[:, 0], stream.features[:, 1:4], stream.features[:, 4:]
    assert np.exp(log_amount).min() > 0.1
    assert np.exp(log_amount).max() < 100_000
    assert np.all(np.isin(channel, (0, 1)))
    assert np.all(channel.sum(axis=1) == 1)
    assert np.all(channel.mean(axis=0) > 0.15)
    assert np.allclose(np.hypot(basket[:, 0], basket[:, 1]), 1, atol=1e-6)
    category = truth.merchant_category[stream.dst - CARDHOLDERS]
    medians = [np.exp(np.median(log_amount[category == k])) for k in range(len(CATEGORIES))]
    typical = [amount for amount, _ in CATEGORIES.values()]
    assert np.corrcoef(np.log(medians), np.log(typical))[0, 1] > 0.9


def test_partners_repeat_but_not_always(simulated: Simulated) -> None:
    stream, _ = simulated
    pairs = np.unique(stream.src * np.int64(stream.num_nodes) + stream.dst)
    assert 0.55 < 1 - len(pairs) / len(stream) < 0.75


def test_popularity_is_skewed_and_drifts(simulated: Simulated) -> None:
    stream, _ = simulated
    merchant = stream.dst - CARDHOLDERS
    counts = np.sort(np.bincount(merchant, minlength=MERCHANTS))[::-1]
    assert counts[: MERCHANTS // 10].sum() > 0.4 * len(stream)  # the top tenth
    assert counts[0] < 0.1 * len(stream)
    third = len(stream) // 3
    early, late = (np.bincount(part, minlength=MERCHANTS) for part in (merchant[:third], merchant[-third:]))
    assert 0.3 < np.corrcoef(early, late)[0, 1] < 0.97


def test_activity_has_a_heavy_tail(simulated: Simulated) -> None:
    counts = np.sort(np.bincount(simulated[0].src))
    assert counts[-CARDHOLDERS // 10 :].sum() > 0.25 * counts.sum()
    assert counts.max() > 5 * np.median(counts)


def test_daily_and_weekly_rhythm(simulated: Simulated) -> None:
    stream, _ = simulated
    hour = np.bincount(stream.t // HOUR % 24, minlength=24)
    assert hour[17:20].mean() > 4 * hour[2:6].mean()
    weekday = np.bincount((stream.t // DAY + 3) % 7, minlength=7)  # 1970-01-01 was a Thursday; 0 is Monday
    assert weekday.argmax() == 5
    assert weekday.argmin() == 6
    assert weekday[5] > 1.5 * weekday[6]


def test_newcomers_until_the_end(simulated: Simulated) -> None:
    stream, _ = simulated
    split = int(0.85 * len(stream))
    for side in (stream.src, stream.dst):
        new = np.setdiff1d(side[split:], side[:split])
        assert 0.005 < len(new) / len(np.unique(side)) < 0.15


def test_payments_come_in_sessions(simulated: Simulated) -> None:
    stream, _ = simulated
    order = by_cardholder(stream)
    gap = np.diff(stream.t[order])[np.diff(stream.src[order]) == 0]
    assert 0.5 < np.mean(gap < 2 * HOUR) < 0.8
    assert np.mean(gap > DAY) > 0.15


@pytest.mark.parametrize("half_life", [6.0 * HOUR, 24.0 * HOUR, 96.0 * HOUR, math.inf])
def test_hints_fade_with_the_planted_half_life(half_life: float) -> None:
    """What a basket tells of the next category, over chance, goes with 2^(-Δ / half-life).

    Bursts and staying, which overrule hints, are switched off; long sessions fill the hours looked at.
    """
    config = PaymentsConfig(hint_half_life=half_life, bursts=0.0, stay=0.0, session_gap=3 * HOUR)
    stream, truth = simulate_payments_with_truth(200_000, fraud=False, config=config)
    order = by_cardholder(stream)
    same_card = np.diff(stream.src[order]) == 0
    age = np.diff(stream.t[order])[same_card]
    category = truth.merchant_category[stream.dst - 5_000]
    agrees = (hints(stream)[order][:-1] == category[order][1:])[same_card]
    chance = 1 / len(CATEGORIES)
    fresh = agrees[age < HOUR].mean() - chance
    later = agrees[(age > 10 * HOUR) & (age < 14 * HOUR)].mean() - chance
    assert fresh == pytest.approx(0.7 * 0.8 * (1 - chance), abs=0.05)
    assert later / fresh == pytest.approx(2 ** (-11.5 * HOUR / half_life), abs=0.06)


@pytest.mark.parametrize(("looked_at", "other"), [(1, 2), (2, 1)])
def test_which_basket_is_looked_at_can_be_chosen(looked_at: int, other: int) -> None:
    look_back = tuple(int(back == looked_at) for back in (1, 2))
    config = PaymentsConfig(look_back=look_back, hint=1.0, hint_half_life=math.inf, bursts=0.0, stay=0.0)
    stream, truth = simulate_payments_with_truth(50_000, fraud=False, config=config)
    order = by_cardholder(stream)
    category = truth.merchant_category[stream.dst - 1_250][order]

    def agrees(back: int) -> float:
        same_card = stream.src[order][2:] == stream.src[order][:-2]
        return float((hints(stream)[order][2 - back : -back] == category[2:])[same_card].mean())

    assert agrees(looked_at) == 1.0
    assert agrees(other) == pytest.approx(1 / len(CATEGORIES), abs=0.01)


def test_errands_are_followed_while_they_are_fresh() -> None:
    """In a session most payments are where the last basket said; a week later hardly any are."""
    stream = simulate_errands(30_000, seed=3)
    assert same(stream, simulate_errands(30_000, seed=3))
    order = by_cardholder(stream)
    same_card = np.diff(stream.src[order]) == 0
    age = np.diff(stream.t[order])[same_card]
    category = (stream.dst[order] - 2_000) % len(CATEGORIES)
    agrees = (hints(stream)[order][:-1] == category[1:])[same_card]
    chance = 1 / len(CATEGORIES)
    assert agrees[age < 12 * HOUR].mean() > 0.85
    assert agrees[age > 7 * DAY].mean() == pytest.approx(chance, abs=0.03)
    assert min(np.mean(age < 2 * DAY), np.mean(age > 4 * DAY)) > 0.25  # both are common


def test_hints_can_be_empty() -> None:
    stream, truth = simulate_payments_with_truth(50_000, config=PaymentsConfig(hint=0.0))
    order = by_cardholder(stream)
    category = truth.merchant_category[stream.dst - 1_250]
    agrees = hints(stream)[order][:-1] == category[order][1:]
    assert agrees.mean() == pytest.approx(1 / len(CATEGORIES), abs=0.01)
    assert Cause.HINT not in truth.cause


def test_staying_means_the_same_merchant(simulated: Simulated) -> None:
    stream, truth = simulated
    genuine = by_cardholder(stream)
    genuine = genuine[truth.cause[genuine] != Cause.FRAUD]
    stays = np.flatnonzero(truth.cause[genuine] == Cause.STAY)
    assert np.array_equal(stream.src[genuine[stays]], stream.src[genuine[stays - 1]])
    assert np.array_equal(stream.dst[genuine[stays]], stream.dst[genuine[stays - 1]])
    assert np.median(stream.t[genuine[stays]] - stream.t[genuine[stays - 1]]) < HOUR


def test_rings_are_planted_as_said(simulated: Simulated) -> None:
    stream, truth = simulated
    assert 20 < truth.ring.max() + 1 < 80
    whole = range(int(truth.ring.max()))  # the last one may be cut short
    for ring in whole:
        rows = np.flatnonzero(truth.ring == ring)
        cards, log_amount = stream.src[rows], stream.features[rows, 0]
        assert stream.t[rows[-1]] - stream.t[rows[0]] <= 48 * HOUR
        assert len(np.unique(stream.dst[rows])) <= 3
        assert len(np.unique(cards)) <= 8
        _, tests = np.unique(cards, return_index=True)  # a card's first payment in the ring
        spending = np.setdiff1d(np.arange(len(rows)), tests)
        assert stream.features[rows[spending], 3].mean() > 0.8  # online; a card drawn twice has two tests
        assert np.median(log_amount[tests]) < np.median(log_amount[spending]) - 1
    sizes = np.bincount(truth.ring[truth.ring >= 0])[:-1]
    assert sizes.min() >= 9
    assert sizes.max() <= 48


def test_no_single_number_gives_fraud_away(simulated: Simulated) -> None:
    stream, _ = simulated
    for column in range(stream.feature_dim):
        auc = roc_auc_score(stream.labels, stream.features[:, column])
        assert max(auc, 1 - auc) < 0.85


def test_fraud_shows_in_time_and_structure(simulated: Simulated) -> None:
    """Among online payments, those at a merchant far busier today than usual are the likelier frauds."""
    stream, _ = simulated
    day = (stream.t - stream.t[0]) // DAY
    cell = (stream.dst - CARDHOLDERS) * 92 + day
    today = np.bincount(cell, minlength=MERCHANTS * 92)[cell]
    usual = np.bincount(stream.dst)[stream.dst] / 91
    online = stream.features[:, 3] == 1
    assert stream.labels is not None
    assert roc_auc_score(stream.labels[online], (today / (usual + 0.5))[online]) > 0.75


def test_without_fraud() -> None:
    stream, truth = simulate_payments_with_truth(2_000, fraud=False)
    assert stream.labels is not None
    assert not stream.labels.any()
    assert np.all(truth.ring == -1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"events": 0}, "0 genuine events among 20 cardholders"),
        ({"events": 100, "cardholders": 200}, "99 genuine events among 200 cardholders"),
        ({"events": 100, "cardholders": 0}, "among 0 cardholders"),
        ({"events": 100, "merchants": 3}, "at least 8 merchants"),
        ({"events": 100, "config": dataclasses.replace(PaymentsConfig(), weeks=0)}, "at least 1, not 0"),
        ({"events": 100, "config": PaymentsConfig(look_back=())}, "which basket is looked at, not \\(\\)"),
        ({"events": 100, "config": PaymentsConfig(look_back=(0, 0))}, "which basket is looked at"),
    ],
)
def test_impossible_sizes(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        simulate_payments(**arguments)  # type: ignore[arg-type]
