"""Counters for Prometheus, as text."""

from __future__ import annotations

from collections import Counter, defaultdict

from keat.models.rank import KeatRank
from keat.serve.pulse import Pulse

EVENTS = "/v1/events"
Value = tuple[str, str, float]  # kind, help, value
BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)  # seconds


class Metrics:
    """What requests took and how they ended."""

    def __init__(self) -> None:
        self.pulse = Pulse()  # of requests that bring events
        self.requests: Counter[tuple[str, int]] = Counter()
        self._buckets: dict[str, list[int]] = defaultdict(lambda: [0] * (len(BUCKETS) + 1))
        self._seconds: dict[str, float] = defaultdict(float)

    def add(self, path: str, status: int, seconds: float) -> None:
        self.requests[path, status] += 1
        self._seconds[path] += seconds
        place = 0
        while place < len(BUCKETS) and seconds > BUCKETS[place]:
            place += 1
        self._buckets[path][place] += 1
        if path == EVENTS and status == 200:
            self.pulse.took(seconds)

    def refused(self) -> int:
        """Requests that were not answered for no fault of their own."""
        return sum(number for (_, status), number in self.requests.items() if status == 429 or status >= 500)

    def text(self, values: dict[str, Value]) -> str:
        """All of them, with ``values`` of the engine: name → (kind, help, value)."""
        lines = []
        for name, (kind, about, value) in values.items():
            lines += [*_head(name, kind, about), f"{name} {value}"]
        lines += _head("keat_requests_total", "counter", "Requests by path and status.")
        for (path, status), number in sorted(self.requests.items()):
            lines.append(f'keat_requests_total{{path="{path}",status="{status}"}} {number}')
        lines += _head("keat_request_seconds", "histogram", "How long requests took.")
        for path, counts in sorted(self._buckets.items()):
            total = 0
            for limit, number in zip((*(f"{bound:g}" for bound in BUCKETS), "+Inf"), counts, strict=True):
                total += number
                lines.append(f'keat_request_seconds_bucket{{path="{path}",le="{limit}"}} {total}')
            lines.append(f'keat_request_seconds_sum{{path="{path}"}} {self._seconds[path]:.6f}')
            lines.append(f'keat_request_seconds_count{{path="{path}"}} {total}')
        return "\n".join(lines) + "\n"


def memory_metrics(model: object) -> dict[str, Value]:
    """Of a model whose state has a budget."""
    told = model.memory() if isinstance(model, KeatRank) else None
    if told is None:
        return {}
    return {
        "keat_state_bytes": ("gauge", "Memory that the state takes.", told.bytes),
        "keat_state_budget_bytes": ("gauge", "Memory that the state may take.", told.budget),
        "keat_dropped_pairs_total": ("counter", "Pairs that were forgotten for it.", told.dropped),
        "keat_unfaded_dropped_pairs_total": ("counter", "Of them, before they had faded.", told.unfaded),
    }


def _head(name: str, kind: str, about: str) -> list[str]:
    return [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
