"""`simulate_payments`: block after block of cardholders into preallocated columns, then one sort by time."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keat.datasets.payments.fraud import plant_rings
from keat.datasets.payments.habits import Block, Payments, genuine_payments
from keat.datasets.payments.world import (
    CHIP,
    CONTACTLESS,
    ONLINE,
    START,
    Cause,
    Doubles,
    Ints,
    K,
    PaymentsConfig,
    build_world,
)
from keat.errors import InputError
from keat.events import EventStream

FEATURES = ("log_amount", "chip", "contactless", "online", "basket_x", "basket_y")
BYTES_AN_EVENT = 66  # at the height of it, sorting
BLOCK = 1 << 16  # payments generated at a time, about: the arrays in flight stay in the cache


@dataclass(frozen=True, slots=True, eq=False)
class PaymentsTruth:
    """What was planted, event by event: for studies, never for a model."""

    cause: npt.NDArray[np.int8]  # (N,) see `Cause`
    ring: npt.NDArray[np.int32]  # (N,) fraud ring, -1 for a genuine payment
    merchant_category: npt.NDArray[np.int8]  # (merchants,) of node cardholders + m


def simulate_payments(
    events: int = 100_000,
    *,
    seed: int = 0,
    cardholders: int | None = None,
    merchants: int | None = None,
    fraud: bool = True,
    config: PaymentsConfig | None = None,
) -> EventStream:
    """Card payments, cardholder → merchant, in time order; label 1 marks a fraudulent one.

    Cardholders are nodes 0 … n-1, merchants n … n+m-1; by default n = events / 40 (at least 20) and
    m = 3 √events (at least 60). `FEATURES` names the feature columns. Same arguments, same bits.
    """
    return simulate_payments_with_truth(
        events, seed=seed, cardholders=cardholders, merchants=merchants, fraud=fraud, config=config
    )[0]


def simulate_payments_with_truth(
    events: int = 100_000,
    *,
    seed: int = 0,
    cardholders: int | None = None,
    merchants: int | None = None,
    fraud: bool = True,
    config: PaymentsConfig | None = None,
) -> tuple[EventStream, PaymentsTruth]:
    """`simulate_payments` together with what was planted."""
    config = config if config is not None else PaymentsConfig()
    cardholders = max(20, events // 40) if cardholders is None else cardholders
    merchants = max(60, round(3 * math.sqrt(max(events, 0)))) if merchants is None else merchants
    frauds = round(config.fraud_share * events) if fraud else 0
    genuine = events - frauds
    _require_memory(events)
    _check(config, genuine, cardholders, merchants)

    rng = np.random.default_rng([seed, 0])
    world = build_world(config, merchants, rng)
    late = rng.random(cardholders) < config.newcomers
    arrival = np.where(late, 0.98 * rng.random(cardholders), 0.0)
    activity = np.exp(0.8 * rng.standard_normal(cardholders)) * (1 - arrival)
    counts = 1 + rng.multinomial(genuine - cardholders, activity / activity.sum())

    columns = _Columns(events)
    for number, block in enumerate(_blocks(counts, arrival)):
        columns.append(genuine_payments(world, block, np.random.default_rng([seed, 1, number])))
    rings = plant_rings(world, frauds, arrival, rng)
    columns.append(rings.payments)

    order = columns.sort()
    fraudulent = columns.cause == Cause.FRAUD
    ring = np.full(events, -1, np.int32)
    ring[fraudulent] = rings.ring[order[fraudulent] - genuine]
    columns.merchant += cardholders
    stream = EventStream.from_arrays(
        columns.card,
        columns.merchant,
        columns.t,
        columns.features(),
        num_nodes=cardholders + merchants,
        labels=fraudulent.astype(np.int8),
        name="payments",
    )
    return stream, PaymentsTruth(columns.cause, ring, (np.arange(merchants) % K).astype(np.int8))


def _require_memory(events: int) -> None:
    """Said at once: numpy would say it in its own words, or the system in none at all."""
    most = memory() // BYTES_AN_EVENT
    if events > most:
        raise InputError(
            f"{events:,} payments need {events * BYTES_AN_EVENT / 1e9:,.0f} GB of memory, and this machine "
            f"has {memory() / 1e9:,.0f} GB; ask for at most {most:,}."
        )


def memory() -> int:
    """Of this machine, in bytes; where it does not say, more than any has."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on every system
        return 1 << 42


def _check(config: PaymentsConfig, genuine: int, cardholders: int, merchants: int) -> None:
    if not 1 <= cardholders <= genuine:
        raise InputError(
            f"payments cannot share {genuine} genuine events among {cardholders} cardholders; "
            "ask for at least one cardholder and one event for each."
        )
    if config.weeks < 1:
        raise InputError(f"payments lasts whole weeks, at least 1, not {config.weeks}.")
    if not config.look_back or min(config.look_back) < 0 or sum(config.look_back) < 1:
        raise InputError(f"look_back says how often which basket is looked at, not {config.look_back}.")
    if merchants < K:
        raise InputError(f"payments needs at least {K} merchants, one a category, not {merchants}.")


def _blocks(counts: Ints, arrival: Doubles) -> Iterator[Block]:
    """Runs of cardholders with about `BLOCK` payments together."""
    ends = np.cumsum(counts)
    cuts = np.searchsorted(ends, np.arange(0, ends[-1], BLOCK))
    for first, last in zip(cuts, [*cuts[1:], len(counts)], strict=True):
        if last > first:
            yield Block(int(first), counts[first:last], arrival[first:last])


class _Columns:
    """The columns of the stream, filled from the front, then sorted.

    Time and row number share one int64, so that a plain sort of numbers, the quickest there is, orders by
    time and keeps the order of equal times.
    """

    def __init__(self, events: int) -> None:
        self.filled = 0
        self.row_bits = max(1, (events - 1).bit_length())
        self.t = np.empty(events, np.int64)
        self.card = np.empty(events, np.int32)
        self.merchant = np.empty(events, np.int32)
        self.log_amount = np.empty(events, np.float32)
        self.code = np.empty(events, np.int8)  # channel and hint, from which the other features follow
        self.cause = np.empty(events, np.int8)

    def append(self, payments: Payments) -> None:
        rows = slice(self.filled, self.filled + len(payments.t))
        self.filled = rows.stop
        self.t[rows] = payments.t << self.row_bits | np.arange(rows.start, rows.stop)
        self.card[rows] = payments.card
        self.merchant[rows] = payments.merchant
        self.log_amount[rows] = payments.log_amount
        self.code[rows] = payments.channel * np.int8(K) + payments.hint
        self.cause[rows] = payments.cause

    def sort(self) -> Ints:
        """Bring all columns into time order; returns where each row was."""
        self.t.sort()
        order = self.t & ((1 << self.row_bits) - 1)
        self.t >>= self.row_bits
        self.t += START
        self.card = self.card.take(order)
        self.merchant = self.merchant.take(order)
        self.log_amount = self.log_amount.take(order)
        self.code = self.code.take(order)
        self.cause = self.cause.take(order)
        return order

    def features(self) -> npt.NDArray[np.float32]:
        """(N, 6), columns as in `FEATURES`."""
        channel, hint = np.divmod(np.arange(3 * K), K)
        angle = hint * (2 * np.pi / K)
        by_code = {
            "log_amount": channel * 0,  # does not follow from the code
            "chip": channel == CHIP,
            "contactless": channel == CONTACTLESS,
            "online": channel == ONLINE,
            "basket_x": np.cos(angle),
            "basket_y": np.sin(angle),
        }
        table = np.stack([by_code[name] for name in FEATURES], axis=1).astype(np.float32)
        features = np.empty((len(self.t), len(FEATURES)), np.float32)
        for start in range(0, len(self.t), BLOCK):
            rows = slice(start, start + BLOCK)
            features[rows] = table.take(self.code[rows], axis=0)
            features[rows, FEATURES.index("log_amount")] = self.log_amount[rows]
        return features
