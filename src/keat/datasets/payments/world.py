"""The world payments happen in: merchants and their popularity, the calendar, and the knobs of behaviour."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

START = 1_704_067_200  # Monday 2024-01-01 00:00 UTC
MINUTE, HOUR, DAY, WEEK = 60, 3_600, 86_400, 604_800

# name: (typical amount, weight when a taste is drawn)
CATEGORIES: dict[str, tuple[float, float]] = {
    "groceries": (35.0, 0.25),
    "dining": (18.0, 0.20),
    "fuel": (45.0, 0.12),
    "transit": (6.0, 0.12),
    "clothing": (60.0, 0.10),
    "home": (80.0, 0.08),
    "media": (12.0, 0.08),
    "travel": (260.0, 0.05),
}
K = len(CATEGORIES)

CHIP, CONTACTLESS, ONLINE = 0, 1, 2
CONTACTLESS_LIMIT = np.float32(np.log(50.0))


class Cause(IntEnum):
    """Why a payment went where it went; later causes overrule earlier ones."""

    REGULAR = 0  # one of the cardholder's regular merchants
    EXPLORE = 1  # a merchant drawn by popularity
    TREND = 2  # today's talked-about merchant of the category
    HINT = 3  # the first regular merchant of a category announced by a recent basket
    BURST = 4  # the merchant of a burst (a trip, a renovation)
    STAY = 5  # the same merchant as the cardholder's previous payment
    FRAUD = 6  # part of a fraud ring


@dataclass(frozen=True, slots=True)
class PaymentsConfig:
    """Knobs of behaviour. Probabilities are of a payment, half-lives in seconds."""

    weeks: int = 13
    newcomers: float = 0.3  # share of cardholders, and of merchants, that arrive after the start
    session_length: float = 3.0  # payments a session, mean of a geometric law
    session_gap: float = 30 * MINUTE  # mean gap inside a session
    bursts: float = 0.2  # share of sessions that fall into one of the cardholder's bursts
    explore: float = 0.15  # chance to leave the regular merchants
    trend: float = 0.5  # chance that an exploring payment follows the trend of the day
    habit_weeks: float = 20.0  # a regular merchant is replaced this often
    taste_drift: float = 0.3  # share of the cardholder's taste replaced by the end
    stay: float = 0.3  # chance to stay at the previous merchant, at age 0
    stay_half_life: float = 30 * MINUTE
    hint: float = 0.8  # chance to follow a basket's hint, at age 0; 0 makes the hints empty
    hint_half_life: float = DAY  # inf: hints never go stale
    look_back: tuple[int, ...] = (7, 2, 1)  # how often the hint is that of the last basket, last but one, …
    fraud_share: float = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """What all cardholders share. Merchant m (0 … merchants-1) is of category m mod K."""

    config: PaymentsConfig
    salt: int
    span: int  # seconds
    ranking: npt.NDArray[np.int32]  # (weeks, merchants): grouped by category, most popular first
    group: Ints  # (K,) where a category starts in a row of `ranking`
    open_count: Ints  # (weeks, K) merchants open; they come first in their group
    opening: Ints  # (merchants,) week of opening
    log_price: Floats  # (merchants,) mean log amount
    online: Floats  # (merchants,) chance that a payment is online
    week_quantiles: Doubles  # (169,) share of a week's sessions begun by each full hour

    @property
    def merchants(self) -> int:
        return len(self.opening)

    def merchant(
        self, week: npt.NDArray[np.integer], category: npt.NDArray[np.integer], u: Floats
    ) -> npt.NDArray[np.int32]:
        """The merchant at quantile ``u`` of a category's popularity in a week: Zipf's law with exponent 1,

        rank = ⌊(1 + n)^u⌋ - 1, so that P(rank = r) = log((r + 2) / (r + 1)) / log(1 + n) ∝ about 1 / r.
        """
        cell = week * K + category
        n = self.open_count.reshape(-1).take(cell)
        log_n = np.log1p(self.open_count).astype(np.float32).reshape(-1).take(cell)
        rank = np.minimum(np.exp(u * log_n).astype(np.int64), n) - 1
        place = week * self.merchants + self.group.take(category) + rank
        chosen: npt.NDArray[np.int32] = self.ranking.reshape(-1).take(place)
        return chosen

    def channel(
        self, merchant: npt.NDArray[np.int32], log_amount: Floats, rng: np.random.Generator
    ) -> npt.NDArray[np.int8]:
        """Online as the merchant goes; else contactless for four of five amounts up to 50, or chip."""
        u = rng.random(len(merchant), dtype=np.float32)
        online = self.online.take(merchant)
        tap = (log_amount < CONTACTLESS_LIMIT) & (u > 0.2 + 0.8 * online)
        return tap + np.int8(ONLINE) * (u < online)

    def clock(self, position: Doubles) -> Doubles:
        """Seconds since the start at which this share of the stream's sessions has begun.

        Uniform positions become times with the hours of a day and the days of a week as people live them.
        """
        weeks, share = np.divmod(position * self.config.weeks, 1.0)
        seconds: Doubles = weeks * WEEK + np.interp(share, self.week_quantiles, np.arange(169) * float(HOUR))
        return seconds


def build_world(config: PaymentsConfig, merchants: int, rng: np.random.Generator) -> World:
    """Draw the merchants. Popularity is the order of an AR(1) walk, ρ = 0.98 a week, inside each category."""
    category = np.arange(merchants) % K
    opening = np.where(rng.random(merchants) < config.newcomers, rng.integers(0, config.weeks, merchants), 0)
    opening[:K] = 0  # every category has a merchant from the start
    typical = np.log([amount for amount, _ in CATEGORIES.values()])
    online = np.where(rng.random(merchants) < 0.4, 0.9, 0.05).astype(np.float32)
    online[0] = 0.9  # there is always a merchant a ring can use
    ranking = np.empty((config.weeks, merchants), np.int32)
    appeal = rng.standard_normal(merchants)
    for week in range(config.weeks):
        ranking[week] = np.lexsort((-appeal, opening > week, category))
        appeal = 0.98 * appeal + np.sqrt(1 - 0.98**2) * rng.standard_normal(merchants)
    open_in = opening[None, :] <= np.arange(config.weeks)[:, None]
    return World(
        config=config,
        salt=int(rng.integers(2**62)),
        span=config.weeks * WEEK,
        ranking=ranking,
        group=np.searchsorted(np.sort(category), np.arange(K)),
        open_count=np.stack([open_in[:, category == k].sum(axis=1) for k in range(K)], axis=1),
        opening=opening,
        log_price=(typical[category] + 0.3 * rng.standard_normal(merchants)).astype(np.float32),
        online=online,
        week_quantiles=_week_quantiles(),
    )


def _week_quantiles() -> Doubles:
    """Sessions peak at noon and early evening, most on Saturday, fewest on Sunday."""
    hour = np.arange(24) + 0.5
    day = 0.05 + np.exp(-((hour - 12.5) ** 2) / 8) + 1.3 * np.exp(-((hour - 18) ** 2) / 10)
    rate = np.outer([1.0, 0.95, 1.0, 1.05, 1.3, 1.5, 0.7], day).ravel()
    quantiles: Doubles = np.append(0.0, np.cumsum(rate) / rate.sum())
    return quantiles


def fixed_uniform(salt: int, key: npt.NDArray[np.integer]) -> Floats:
    """A uniform number in [0, 1) that belongs to ``key`` for good (splitmix64), so that what a cardholder
    has settled on need not be stored."""
    z = key.astype(np.uint64)
    z *= np.uint64(0x9E3779B97F4A7C15)
    z += np.uint64(salt)
    z ^= z >> np.uint64(30)
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z >>= np.uint64(40)  # the 24 best bits: exact in float32, never 1
    return z.astype(np.float32) * np.float32(2**-24)
