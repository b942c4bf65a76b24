"""The numbers of the second edition by their definitions: loops over all past events, nothing kept between
questions, every successor remembered."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import pairwise

from reference_cooccurrence import PlainPast, kernel_sum


def running(values: list[float]) -> tuple[float, float]:
    """Mean and variance in which a value weighs a tenth, or more while there are few."""
    mean = variance = 0.0
    for number, value in enumerate(values, start=1):
        step = max(0.1, 1 / number)
        off = value - mean
        mean, variance = mean + step * off, (1 - step) * (variance + step * off**2)
    return mean, variance


def log_gaps(times: list[int]) -> list[float]:
    return [math.log1p(later - earlier) for earlier, later in pairwise(times)]


def lateness(times: list[int], now: int) -> float:
    gaps = log_gaps(times)
    if not gaps:
        return 0.5
    mean, variance = running(gaps)
    spread = math.sqrt((len(gaps) * variance + 1) / (len(gaps) + 1))
    return 1 / (1 + math.exp(-(math.log1p(now - times[-1]) - mean) / spread))


def usual_gap(times: list[int]) -> float:
    return math.expm1(running(log_gaps(times))[0]) if len(times) > 1 else math.inf


def numbers(past: PlainPast, u: int, v: int, now: int, ring: int, long: float) -> dict[str, float]:
    """``long`` is the width by which destinations follow each other; the short one is a sixteenth of it."""
    return (
        _replies(past, u, v, now, ring)
        | _renewal(past, u, v, now)
        | _runs(past, u)
        | _favourites(past, u, v, now, ring)
        | _successors(past, u, v, now, ring, long)
        | _newcomers(past, v, now, long)
    )


def _replies(past: PlainPast, u: int, v: int, now: int, ring: int) -> dict[str, float]:
    reached = [w for w, _ in past.partners(u, 1)]
    there, back = (
        [i for i, (a, b, _) in enumerate(past.events) if (a, b) == ends] for ends in ((u, v), (v, u))
    )
    due = [past.events[i][2] for i in back if not there or i > there[-1]]
    return {
        "1 / recency rank among those who reached the source": (
            1 / (1 + min(reached.index(v), ring)) if v in reached else 0.0
        ),
        "events to answer": len(due),
        "age of the first to answer": now - due[0] if due else math.inf,
        "was the last of the two to turn to the other": float(bool(due)),
        "share of the source in the events of the two": (len(there) + 1) / (len(there) + len(back) + 2),
    }


def _renewal(past: PlainPast, u: int, v: int, now: int) -> dict[str, float]:
    of_source, meetings = past.times(u, None), past.times(u, v)
    places = [i for i, w in enumerate(b for a, b, _ in past.events if a == u) if w == v]
    between = [later - earlier - 1 for earlier, later in pairwise(places)]
    since = len(of_source) - 1 - places[-1] if places else 0
    usual = running([float(number) for number in between])[0]
    return {
        "usual gap between the source's events": usual_gap(of_source),
        "how late the source is": lateness(of_source, now),
        "usual gap between meetings": usual_gap(meetings),
        "spread of the gaps between meetings": math.sqrt(running(log_gaps(meetings))[1]),
        "how late the next meeting is": lateness(meetings, now),
        "the source's usual events between meetings": usual if between else math.inf,
        "the source's events since the last meeting / usual": (since + 1) / (usual + 1) if between else 0.0,
    }


def _runs(past: PlainPast, u: int) -> dict[str, float]:
    lengths: list[int] = []
    last = None
    for a, b, _ in past.events:
        if a == u:
            if b == last:
                lengths[-1] += 1
            else:
                lengths.append(1)
            last = b
    usual = running([float(length) for length in lengths[:-1]])[0]
    return {
        "events in a row at the last destination": lengths[-1] if lengths else 0,
        "usual events in a row": usual,
        "events in a row / usual": lengths[-1] / usual if usual else 0.0,
    }


def _favourites(past: PlainPast, u: int, v: int, now: int, ring: int) -> dict[str, float]:
    latest = [w for w, _ in past.partners(u, 0)][:ring]
    weights = {  # after thirty widths nothing is left
        w: kernel_sum(past.times(u, w), now, past.sigma) if past.age(u, w, now) < 30 * past.sigma else 0.0
        for w in latest
    }
    order = sorted(latest, key=lambda w: -weights[w])
    return {
        "1 / rank by weight among the source's latest destinations": (
            1 / (1 + order.index(v)) if v in latest else 0.0
        ),
        "share of weight among the source's latest destinations": (
            weights.get(v, 0.0) / (sum(weights.values()) + 1e-6)
        ),
    }


def _successors(past: PlainPast, u: int, v: int, now: int, ring: int, long: float) -> dict[str, float]:
    sums = {width: defaultdict[tuple[int, int], float](float) for width in (long / 16, long)}
    steps: dict[tuple[int, int], float] = defaultdict(float)
    for i, (a, b, t) in enumerate(past.events):
        before = PlainPast.of(past.events[:i], past.sigma, past.widths).partners(a, 0)[:ring]
        if not before or before[0][0] == b:
            continue
        steps[before[0][0], b] += 1
        for k, (d, last) in enumerate(before[:2]):
            if d != b and (k == 0 or t - last <= 7 * long):
                for width, counted in sums.items():
                    counted[d, b] += math.exp(-(t - last) / width)

    def share(counted: dict[tuple[int, int], float], d: int, power: float = 1.0) -> float:
        total = sum(x for (a, _), x in counted.items() if a == d) + 1
        return counted.get((d, v), 0.0) / math.pow(total, power)

    latest = past.partners(u, 0)[:ring]
    soon, later = sums[long / 16], sums[long]
    towards = sum(x for (_, b), x in later.items() if b == v)
    falling = [(0.8**k, d) for k, (d, _) in enumerate(latest)]
    return {
        "gone on to from the latest destinations, soon": sum(x * share(soon, d) for x, d in falling),
        "gone on to from the latest destinations": sum(x * share(later, d) for x, d in falling),
        "next after the latest destinations": sum(x * share(steps, d) for x, d in falling),
        "gone on to from the last destination, soon": sum(share(soon, d) for _, d in falling[:1]),
        "gone on to from the last destination": sum(share(later, d) for _, d in falling[:1]),
        "next after the last destination": sum(share(steps, d) for _, d in falling[:1]),
        "gone on to, as a cosine": (
            sum(x * share(later, d, 0.5) for x, d in falling) / math.sqrt(towards + 1)
        ),
        "gone on to from destinations that fade": sum(
            math.exp(-(now - t) / long) * share(later, d) for d, t in latest
        ),
    }


def _newcomers(past: PlainPast, v: int, now: int, long: float) -> dict[str, float]:
    met, been, firsts, new = set[tuple[int, int]](), set[int](), list[int](), list[int]()
    for a, b, t in past.events:
        if b == v and (a, b) not in met:
            firsts.append(t)
        if b == v and a not in been:
            new.append(t)
        met.add((a, b))
        been.add(a)
    return {
        "first meetings of the candidate, soon": kernel_sum(firsts, now, long / 16),
        "first meetings of the candidate, lately": kernel_sum(firsts, now, long),
        "age of the candidate's last first meeting": now - firsts[-1] if firsts else math.inf,
        "new sources that came to the candidate, soon": kernel_sum(new, now, long / 16),
        "new sources that came to the candidate, lately": kernel_sum(new, now, long),
        "age of the last new source at the candidate": now - new[-1] if new else math.inf,
    }
