"""Genuine payments of a block of cardholders: when they pay, and where their habits lead them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keat.datasets.payments.world import (
    CATEGORIES,
    DAY,
    WEEK,
    Cause,
    Doubles,
    Floats,
    Ints,
    K,
    World,
    fixed_uniform,
)

BURSTS = 2  # a cardholder
IN_BURST = 0.5  # how often a payment less than a day from a burst's centre is at the burst's merchant
SLOTS = 2  # regular merchants a cardholder has in each category
SECOND = 0.2  # how often a regular payment is at the second of them
TASTE = (3, 2, 1)  # how often a cardholder pays in their first, second and third favourite category


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Consecutive cardholders; their payments lie one cardholder after the other."""

    first_card: int
    counts: Ints  # (cards,) payments of each
    arrival: Doubles  # (cards,) position in the stream, 0 … 1, where a cardholder appears

    @property
    def start(self) -> Ints:
        """(cards,) where each one's payments begin."""
        return np.cumsum(self.counts) - self.counts


@dataclass(frozen=True, slots=True, eq=False)
class Payments:
    """Columns of payments, any order."""

    t: Ints  # seconds since the start
    card: Ints
    merchant: npt.NDArray[np.int32]  # counted from 0
    log_amount: Floats
    channel: npt.NDArray[np.int8]  # 0 chip, 1 contactless, 2 online
    hint: npt.NDArray[np.int8]  # the category this basket announces
    cause: npt.NDArray[np.int8]


def genuine_payments(world: World, block: Block, rng: np.random.Generator) -> Payments:
    """All payments of the block, by cardholder and then by time."""
    config, cards, n = world.config, len(block.counts), int(block.counts.sum())
    card = np.repeat(np.arange(cards), block.counts)
    burst_at = block.arrival[:, None] + (1 - block.arrival[:, None]) * rng.random((cards, BURSTS))
    t = _times(world, block, card, burst_at, rng)
    first = block.start.take(card)

    taste = _taste(cards, rng)
    profile = 2 * card + (rng.random(n, dtype=np.float32) * world.span < config.taste_drift * t)
    hint = rng.integers(0, K, n, dtype=np.int8)
    category = _draw(taste, profile, rng)
    back = config.look_back
    lag = np.repeat(np.arange(1, len(back) + 1), back).take(rng.integers(0, sum(back), n))
    announcing, hinted = _recall(t, first, lag, config.hint, config.hint_half_life, rng)
    category = np.where(hinted, hint.take(announcing), category)

    merchant, cause = _choose_merchants(world, block, card, t, category, hinted, burst_at, rng)
    cause[hinted & (cause != Cause.BURST)] = Cause.HINT

    _, stays = _recall(t, first, 1, config.stay, config.stay_half_life, rng)
    cause[stays] = Cause.STAY
    moved = np.maximum.accumulate(np.where(stays, 0, np.arange(n)))  # the last payment that did not stay
    merchant = merchant.take(moved)

    purse = 0.4 * rng.standard_normal(cards, dtype=np.float32)
    log_amount = world.log_price.take(merchant) + purse.take(card)
    log_amount += 0.5 * rng.standard_normal(n, dtype=np.float32)
    channel = world.channel(merchant, log_amount, rng)
    return Payments(t, card + block.first_card, merchant, log_amount, channel, hint, cause)


def _times(world: World, block: Block, card: Ints, burst_at: Doubles, rng: np.random.Generator) -> Ints:
    """Sessions start at random along the calendar, some inside a burst, and their payments follow."""
    config = world.config
    opens = rng.random(len(card), dtype=np.float32) * np.float32(config.session_length) < 1
    opens[block.start] = True
    leader = np.flatnonzero(opens)  # (sessions,) the payment that opens a session
    owner = card[leader]
    session = np.cumsum(opens) - 1

    arrival = block.arrival[owner]
    position = arrival + (1 - arrival) * rng.random(len(owner))
    bursting = np.flatnonzero(rng.random(len(owner)) < config.bursts)
    centre = burst_at[owner[bursting], rng.integers(0, BURSTS, len(bursting))]
    position[bursting] = centre + rng.uniform(-DAY, DAY, len(bursting)) / world.span
    position = arrival + (position - arrival) % (1 - arrival)  # what falls outside comes in at the other end

    elapsed = np.cumsum(rng.standard_exponential(len(card), dtype=np.float32), dtype=np.float64)
    elapsed *= config.session_gap
    begin = world.clock(position) - elapsed[leader]
    t = (begin.take(session) + elapsed).astype(np.int64)
    appears = world.clock(block.arrival).astype(np.int64)
    t = appears.take(card) + (t - appears.take(card)) % (world.span - appears).take(card)  # as above
    t += card * world.span  # sorts by cardholder, then time
    t.sort()
    t -= card * world.span
    return t


def _taste(cards: int, rng: np.random.Generator) -> npt.NDArray[np.int8]:
    """(2 · cards, 6): two profiles a cardholder, the one of the start and the one taste drifts to.

    A profile is three categories in the proportions of `TASTE`, drawn by their weights without replacement
    (the first to ring of exponential clocks).
    """
    weight = np.array([weight for _, weight in CATEGORIES.values()], np.float32)
    clocks = rng.standard_exponential((2 * cards, K), dtype=np.float32) / weight
    favourites = np.argsort(clocks, axis=1)[:, : len(TASTE)].astype(np.int8)
    return np.repeat(favourites, TASTE, axis=1)


def _draw(taste: npt.NDArray[np.int8], profile: Ints, rng: np.random.Generator) -> npt.NDArray[np.int8]:
    """One category for each profile named."""
    places = taste.shape[1]
    drawn: npt.NDArray[np.int8] = taste.take(profile * places + rng.integers(0, places, len(profile)))
    return drawn


def _recall(
    t: Ints,
    first: Ints,
    lag: Ints | int,
    chance: float,
    half_life: float,
    rng: np.random.Generator,
) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """The payment ``lag`` back (or the cardholder's first), and whether it still has its influence now, Δ
    later: with probability chance · 2^(-Δ / half-life)."""
    now = np.arange(len(t))
    earlier = np.maximum(now - lag, first)
    age = (t - t.take(earlier)).astype(np.float32)
    fresh = np.float32(chance) * np.exp2(age * np.float32(-1 / half_life))
    return earlier, (rng.random(len(t), dtype=np.float32) < fresh) & (earlier < now)


def _choose_merchants(
    world: World,
    block: Block,
    card: Ints,
    t: Ints,
    category: npt.NDArray[np.int8],
    hinted: npt.NDArray[np.bool_],
    burst_at: Doubles,
    rng: np.random.Generator,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int8]]:
    """Each payment gets a week, a category and a quantile of popularity, which name its merchant.

    A regular merchant's quantile and week were fixed when the cardholder took to it: slot s of
    (cardholder, category) is refilled every `habit_weeks`, each slot with a phase of its own.
    """
    config, n = world.config, len(card)
    mood = rng.random(n, dtype=np.float32)
    mood[hinted] = config.explore  # an errand goes to the first regular merchant
    second = mood > 1 - SECOND * (1 - config.explore)
    key = ((card + block.first_card) * K + category) * SLOTS + second
    phase = fixed_uniform(world.salt, key)
    generation = np.floor(t * (1 / (config.habit_weeks * WEEK)) + phase)
    week = (np.maximum(generation - phase, 0) * config.habit_weeks).astype(np.int64)
    quantile = fixed_uniform(world.salt + 1, key + generation.astype(np.int64) * (1 << 40))
    cause = np.zeros(n, np.int8)

    explorers = np.flatnonzero(mood < config.explore)
    cause[explorers] = Cause.EXPLORE
    week[explorers] = t[explorers] // WEEK
    quantile[explorers] = rng.random(len(explorers), dtype=np.float32)
    trendy = np.flatnonzero(mood < config.explore * config.trend)
    cause[trendy] = Cause.TREND
    quantile[trendy] = fixed_uniform(world.salt + 2, t[trendy] // DAY * K + category[trendy])

    for burst in range(BURSTS if config.bursts > 0 else 0):
        centre = world.clock(burst_at[:, burst])
        near = np.flatnonzero(
            (np.abs(t - centre.take(card)) < DAY) & (rng.random(n, dtype=np.float32) < IN_BURST)
        )
        key = (card[near] + block.first_card) * BURSTS + burst
        cause[near] = Cause.BURST
        week[near] = (centre[card[near]] // WEEK).astype(np.int64)
        category[near] = (fixed_uniform(world.salt + 3, key) * K).astype(np.int8)
        quantile[near] = fixed_uniform(world.salt + 4, key)
    return world.merchant(week, category, quantile), cause
