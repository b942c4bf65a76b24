"""Fraud rings: a few stolen cards, a few colluding merchants, a short window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keat.datasets.payments.habits import Payments
from keat.datasets.payments.world import HOUR, ONLINE, WEEK, Cause, Doubles, Ints, K, World

RING_MERCHANTS = 3
VICTIMS = (3, 8)  # stolen cards a ring, uniform
PAYMENTS = (3, 6)  # payments on each stolen card, uniform; the first one is the test
WINDOW = (6 * HOUR, 48 * HOUR)  # from the first possible test to the last possible payment, uniform


@dataclass(frozen=True, slots=True, eq=False)
class Rings:
    payments: Payments
    ring: Ints  # (n,) ring of each payment


def plant_rings(world: World, n: int, arrival: Doubles, rng: np.random.Generator) -> Rings:
    """``n`` fraudulent payments, ring after ring; the last ring is cut short.

    A ring draws its cards from the cardholders that have arrived and its merchants from the online shops
    that are open. On each card it makes one small test payment in the first third of its window and large
    payments, online, in the rest. Cards and shops carry on with their genuine business meanwhile.
    """
    count = n // (VICTIMS[0] * PAYMENTS[0]) + 1  # enough even if all rings are of the smallest size
    victims = rng.integers(*VICTIMS, count, endpoint=True)
    ring_of_victim = np.repeat(np.arange(count), victims)
    spree = rng.integers(*PAYMENTS, len(ring_of_victim), endpoint=True)
    victim = np.repeat(np.arange(len(spree)), spree)[:n]
    test = np.diff(victim, prepend=-1) > 0
    ring = ring_of_victim[victim]

    window = rng.uniform(*WINDOW, count)
    begin = rng.uniform(0, world.span - window)
    u = rng.random(n)
    t = begin[ring] + window[ring] * np.where(test, u / 3, 1 / 3 + u * 2 / 3)

    by_arrival = np.argsort(arrival, kind="stable")
    present = np.searchsorted(world.clock(arrival[by_arrival]), begin, side="right")
    present = np.maximum(present, 1)[ring_of_victim]
    stolen = by_arrival[(rng.random(len(ring_of_victim)) * present).astype(np.int64)]

    shops = np.flatnonzero(world.online > 0.5)
    shops = shops[np.argsort(world.opening[shops], kind="stable")]
    open_shops = np.searchsorted(world.opening[shops], begin // WEEK, side="right")
    colluding = shops[(rng.random((count, RING_MERCHANTS)) * open_shops[:, None]).astype(np.int64)]
    merchant = colluding[ring, rng.integers(0, RING_MERCHANTS, n)].astype(np.int32)

    noise = rng.standard_normal(n)
    log_amount = np.where(
        test, np.log(3.0) + 0.5 * noise, world.log_price[merchant] + 1.0 + 0.6 * noise
    ).astype(np.float32)
    channel = np.where(test, world.channel(merchant, log_amount, rng), ONLINE).astype(np.int8)
    payments = Payments(
        t=t.astype(np.int64),
        card=stolen[victim],
        merchant=merchant,
        log_amount=log_amount,
        channel=channel,
        hint=rng.integers(0, K, n, dtype=np.int8),
        cause=np.full(n, Cause.FRAUD, np.int8),
    )
    return Rings(payments, ring)
