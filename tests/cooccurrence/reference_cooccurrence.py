"""The numbers of a pair by their definitions: loops over all past events, nothing kept between questions."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from keat.events import EventStream

Event = tuple[int, int, int]


def kernel_sum(times: list[int], now: int, width: float) -> float:
    return sum(math.exp(-(now - t) / width) for t in times)


class PlainPast:
    """All events before a time."""

    def __init__(self, stream: EventStream, events: int, sigma: float, widths: list[float]) -> None:
        self.events: list[Event] = list(
            zip(
                stream.src[:events].tolist(),
                stream.dst[:events].tolist(),
                stream.t[:events].tolist(),
                strict=True,
            )
        )
        self.sigma, self.widths = sigma, widths

    @classmethod
    def of(cls, events: list[Event], sigma: float, widths: list[float]) -> PlainPast:
        past = cls.__new__(cls)
        past.events, past.sigma, past.widths = events, sigma, widths
        return past

    def times(self, src: int | None, dst: int | None) -> list[int]:
        return [t for a, b, t in self.events if src in (None, a) and dst in (None, b)]

    def sums(self, src: int | None, dst: int | None, now: int) -> list[float]:
        return [kernel_sum(self.times(src, dst), now, width) for width in self.widths]

    def age(self, src: int | None, dst: int | None, now: int) -> float:
        times = self.times(src, dst)
        return float(now - times[-1]) if times else math.inf

    def partners(self, node: int, role: int) -> list[tuple[int, int]]:
        """Distinct partners and the last time with each, latest first."""
        latest: dict[int, int] = {}
        for event in self.events:
            if event[role] == node:
                latest.pop(event[1 - role], None)
                latest[event[1 - role]] = event[2]
        return list(reversed(latest.items()))

    def numbers(self, u: int, v: int, now: int) -> dict[str, float]:
        meetings, destinations = self.times(u, v), [d for d, _ in self.partners(u, 0)]
        gap = meetings[-1] - meetings[-2] if len(meetings) > 1 else math.inf
        number = [i for i, (_, b, _) in enumerate(self.events) if b == v]
        by_source = [b for a, b, _ in self.events if a == u]
        at_candidate = [a for a, b, _ in self.events if b == v]
        to_source = [a for a, b, _ in self.events if b == u]
        told: dict[str, float] = {}
        for name, src, dst in (
            ("from the source", u, None),
            ("to the source", None, u),
            ("source to candidate", u, v),
            ("candidate to source", v, u),
            ("to the candidate", None, v),
            ("from the candidate", v, None),
        ):
            for width, value in zip(self.widths, self.sums(src, dst, now), strict=True):
                told[f"{name}, over {width:g}"] = value
        for whose, partners, other in (("source", by_source, v), ("candidate", at_candidate, u)):
            since = partners[::-1].index(other) if other in partners else math.inf
            told[f"the {whose}'s events since the last meeting"] = since
            for span in (2, 5, 20):
                weights = [(1 - 1 / span) ** k / span for k, w in enumerate(reversed(partners)) if w == other]
                told[f"weight in the {whose}'s last {span} events"] = sum(weights)
        for name, src, dst in (
            ("share of the source's events", u, None),
            ("share of the candidate's events", None, v),
        ):
            for width in self.widths:
                whole = kernel_sum(self.times(src, dst), now, width)
                told[f"{name}, over {width:g}"] = kernel_sum(meetings, now, width) / (whole + 1e-6)
        return told | {
            "age of the source's last event": self.age(u, None, now),
            "age of the last event to the source": self.age(None, u, now),
            "events of the source": len(by_source),
            "events to the source": len(to_source),
            "destinations of the source": len(destinations),
            "met before": float(bool(meetings)),
            "1 / recency rank among the source's destinations": (
                1 / (1 + destinations.index(v)) if meetings else 0.0
            ),
            "meetings": len(meetings),
            "age of the last meeting": self.age(u, v, now),
            "gap before the last meeting": gap,
            "age / that gap": (now - meetings[-1] + 1) / (gap + 1) if math.isfinite(gap) else 0.0,
            "met the other way round": float(bool(self.times(v, u))),
            "age of the last meeting the other way round": self.age(v, u, now),
            "last to have reached the source": float(bool(to_source) and to_source[-1] == v),
            "age of the candidate's last event": self.age(None, v, now),
            "age of the candidate's last event as a source": self.age(v, None, now),
            "events since the candidate's last": len(self.events) - number[-1] if number else math.inf,
            "events to the candidate": len(at_candidate),
            "sources of the candidate": len(set(at_candidate)),
            "last reached by this source": float(bool(at_candidate) and at_candidate[-1] == u),
            "where this source went next, last time": float(self._next_of(u) == v),
            "where the last one went next": float(self._next_of_anyone(u) == v),
            "is the source itself": float(u == v),
        }

    def _next_of(self, u: int) -> int | None:
        went = [b for a, b, _ in self.events if a == u]
        followed = [after for before, after in pairwise(went) if before == went[-1]]
        return followed[-1] if followed else None

    def _next_of_anyone(self, u: int) -> int | None:
        """Where the last source to leave u's present destination for another one went."""
        where: dict[int, int] = {}
        left: dict[int, int] = {}
        for a, b, _ in self.events:
            if a in where and where[a] != b:
                left[where[a]] = b
            where[a] = b
        return left.get(where[u]) if u in where else None

    def paths(self, u: int, v: int, now: int, fanout: int, width: float) -> dict[str, float]:
        """Every two- and three-hop path over the last ``fanout`` partners, by recursion."""

        def legs(node: int, role: int) -> list[tuple[int, float]]:
            return [(w, math.exp(-(now - t) / width)) for w, t in self.partners(node, role)[:fanout]]

        two: list[float] = []
        three: list[float] = []
        for role in (0, 1):
            for d, first in legs(u, role):
                for other_role in (0, 1):
                    for w, second in legs(d, other_role):
                        if w == u:
                            continue
                        if w == v:
                            two.append(first * second)
                        if (role, other_role) == (0, 1):
                            three += [first * second * x for end, x in legs(w, 0) if end == v != d]
        return {
            "two-hop sum": float(np.sum(two)),
            "two-hop paths": len(two),
            "three-hop sum": float(np.sum(three)),
            "three-hop paths": len(three),
        }
