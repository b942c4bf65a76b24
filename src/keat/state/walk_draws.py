"""Which of the past events of a node a backward walk takes: by its law, or drawn.

By the law of walks an event at time t_i has a probability in proportion to exp(α t_i). The reference for it
accepts event i, going back in time, with p_i = exp(α t_i) / Σ_{j ≤ i} exp(α t_j), which comes to the same.
DyGLib takes these p_i, of which the oldest is 1, for logits, and draws by their softmax: nearly all events
alike, the oldest the likeliest.
"""

from __future__ import annotations

import math

import numpy as np

from keat.ops import Floats, Integers, compiled

_GOLDEN, _MIXER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


@compiled
def walk_weights(times: Integers, rate: float, accepted: bool) -> Floats:
    """How likely a step to each of some events is, up to a factor. Times are from the oldest to the newest, α
    is per unit of these; ``accepted`` is DyGLib's law."""
    weights = np.empty(len(times))
    sum_over_own = 0.0  # Σ_{j ≤ i} exp(α t_j) / exp(α t_i)
    for i in range(len(times)):
        if accepted:
            since = times[i] - times[i - 1] if i > 0 else 0
            sum_over_own = 1 + sum_over_own * math.exp(-rate * since)
            weights[i] = math.exp(1 / sum_over_own - 1)
        else:
            weights[i] = math.exp(rate * (times[i] - times[-1]))
    return weights


@compiled
def draw_from_chains(
    previous: Integers,
    t: Integers,
    start: Integers,
    limit: Integers,
    rate: float,
    accepted: bool,
    seed: int,
    found: Integers,
) -> None:
    """Into each row of ``found`` entries of a chain strictly before a time, with replacement, or -1. What is
    drawn follows from the seed, the newest of these entries and the place in the row, and nothing else."""
    for i in range(len(start)):
        newest = start[i]
        while newest >= 0 and t[newest >> 1] >= limit[i]:
            newest = previous[newest]
        count, entry = 0, newest
        while entry >= 0:
            count += 1
            entry = previous[entry]
        if count == 0:
            continue
        entries, times = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
        entry = newest
        for place in range(count - 1, -1, -1):
            entries[place], times[place] = entry, t[entry >> 1]
            entry = previous[entry]
        up_to = np.cumsum(walk_weights(times, rate, accepted))
        for k in range(found.shape[1]):
            level = _uniform(seed, newest, k) * up_to[-1]
            found[i, k] = entries[min(np.searchsorted(up_to, level, side="right"), count - 1)]


@compiled
def _uniform(seed: int, entry: int, place: int) -> float:
    """A number in [0, 1) for these three: splitmix64 of one after the other."""
    word = np.uint64(seed)
    for part in (entry, place):
        word = (word ^ np.uint64(part)) + _GOLDEN
        word = (word ^ (word >> np.uint64(30))) * _MIXER
        word = (word ^ (word >> np.uint64(27))) * _GOLDEN
        word = word ^ (word >> np.uint64(31))
    return float(word >> np.uint64(11)) / 9007199254740992.0
