"""Whether the stream is still what it was: gaps, scores and loss of the latest day beside the first.

The first day of a log, and at least 1,000 events, is what is usual; the latest day, in eighths that take
turns, is compared with it by the population stability index over about ten bins of equal weight. An event
costs a few additions. Scores begin anew with another model, for its scores are others.
"""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from keat.events.units import SECONDS_PER, TimeUnit

DAY, PARTS = 86_400, 8  # seconds; the latest day moves on by an eighth
ENOUGH = 1_000  # events on either side of a comparison
MATTERS, LARGE = 0.1, 0.25  # of the index, by the usual rule of thumb
BINS = 10
FEW = 16  # events of a row for which a loop is quicker than an array
SCORES = np.arange(-15.0, 15.5, 0.5)  # edges; beyond them are two more bins
LOSSES = np.arange(0.05, 12.0, 0.05)
GAPS = np.concatenate(([0.5], 2.0 ** np.arange(31)))  # seconds; below the first are gaps of 0
WHAT = {
    "gaps": "The time since a source's last event",
    "scores": "The score of events",
    "loss": "The loss",
}


class DriftMeasure(msgspec.Struct):
    """One thing that may drift. Shares are of events in the bins between the edges, with one bin below the
    first and one above the last."""

    name: str  # gaps, scores, loss
    usual_events: int
    latest_events: int
    usual_mean: float | None  # of log10 of seconds for gaps
    latest_mean: float | None
    index: float | None  # population stability index; None as long as there are too few events
    level: str  # "unknown", "none", "some", "large"
    sentence: str
    edges: list[float] = []
    usual: list[float] = []
    latest: list[float] = []


class DriftReport(msgspec.Struct):
    """What `/v1/drift` answers."""

    seq: int
    drifts: bool  # whether any of it matters
    measures: list[DriftMeasure]


class Tally(msgspec.Struct, array_like=True):
    """Events of a stretch: how many are in each bin, and the sum of what is averaged."""

    bins: list[int]
    total: float = 0.0
    began: int = 0

    @property
    def events(self) -> int:
        return sum(self.bins)

    def add(self, places: npt.NDArray[np.int64], values: npt.NDArray[np.float64]) -> None:
        """Where in the bins values are, and what is averaged."""
        if len(values) < FEW:
            for place in places.tolist():
                self.bins[place] += 1
        else:
            counts = np.bincount(places, minlength=len(self.bins))
            self.bins = (np.array(self.bins) + counts).tolist()
        self.total += float(values.sum())


class Kept(msgspec.Struct, array_like=True):
    """What is remembered of one measure."""

    usual: Tally
    is_usual_known: bool = False
    parts: list[Tally] = []


class Measured:
    """One measure, over the bins between some edges."""

    def __init__(self, name: str, edges: npt.NDArray[np.float64], unit: TimeUnit, kept: Kept | None) -> None:
        self.name, self.edges = name, edges
        self._day = max(1, round(DAY / SECONDS_PER[unit]))
        self.kept = kept or self.nothing()

    def nothing(self) -> Kept:
        return Kept(Tally([0] * (len(self.edges) + 1)))

    def take(self, t: int, binned: npt.NDArray[np.float64], values: npt.NDArray[np.float64]) -> None:
        """Values at a time: what decides their bin, and what is averaged."""
        kept, places = self.kept, np.searchsorted(self.edges, binned, side="right")
        if not kept.is_usual_known:
            if kept.usual.events == 0:
                kept.usual.began = t
            kept.usual.add(places, values)
            kept.is_usual_known = kept.usual.events >= ENOUGH and t - kept.usual.began >= self._day
            return
        part = kept.parts[-1] if kept.parts else None
        if part is None or (part.events >= ENOUGH // PARTS and t - part.began >= max(1, self._day // PARTS)):
            kept.parts = [*kept.parts[1 - PARTS :], Tally([0] * (len(self.edges) + 1), 0.0, t)]
        kept.parts[-1].add(places, values)

    def report(self) -> DriftMeasure:
        usual = np.array(self.kept.usual.bins, dtype=np.float64)
        latest = np.zeros_like(usual)
        for part in self.kept.parts:
            latest += part.bins
        many = int(latest.sum())
        totals = sum(part.total for part in self.kept.parts)
        known = self.kept.is_usual_known and many >= ENOUGH
        index = stability_index(usual, latest) if known else None
        level = (
            "unknown"
            if index is None
            else "large"
            if index > LARGE
            else "some"
            if index > MATTERS
            else "none"
        )
        mean_of = [
            float(total / number) if number else None
            for total, number in ((self.kept.usual.total, usual.sum()), (totals, many))
        ]
        return DriftMeasure(
            self.name,
            int(usual.sum()),
            many,
            mean_of[0],
            mean_of[1],
            index,
            level,
            self._sentence(level, index, many, mean_of),
            self.edges.tolist(),
            (usual / max(1.0, usual.sum())).tolist(),
            (latest / max(1, many)).tolist(),
        )

    def _sentence(self, level: str, index: float | None, many: int, means: list[float | None]) -> str:
        what = WHAT[self.name]
        if index is None or means[0] is None or means[1] is None:
            return (
                f"{what}: too few events to say; it takes a day and {ENOUGH:,} events to know what is usual, "
                f"and {ENOUGH:,} more."
            )
        if level == "none":
            return f"{what} is as it was on the first day (index {index:.2f})."
        now, before = (_spoken(self.name, mean) for mean in (means[1], means[0]))
        what_to_do = "look into what changed" if level == "some" else "a new model may be due"
        return (
            f"{what} has {'shifted' if level == 'some' else 'changed a lot'} since the first day (index "
            f"{index:.2f} over the latest {many:,} events; on average {now} instead of {before}); "
            f"{what_to_do}."
        )


class Drift:
    """All measures of a log."""

    def __init__(self, unit: TimeUnit, kept: dict[str, Kept] | None = None) -> None:
        kept = kept or {}
        self._seconds = SECONDS_PER[unit]
        edges = {"gaps": GAPS, "scores": SCORES, "loss": LOSSES}
        self._measures = {
            name: Measured(name, bounds, unit, kept.get(name)) for name, bounds in edges.items()
        }
        self.last_seen = np.empty(0, np.int64)  # of each node as a source; -1 where it never was

    def kept(self) -> dict[str, Kept]:
        return {name: measure.kept for name, measure in self._measures.items()}

    def take(
        self,
        src: npt.NDArray[np.int32],
        t: npt.NDArray[np.int64],
        now: int,
        logits: npt.NDArray[np.float32],
    ) -> None:
        """The events of one row; ``now`` is the newest time there was."""
        gaps, scores = self._gaps(src, t) * self._seconds, logits.astype(np.float64)
        if len(gaps):
            self._measures["gaps"].take(now, gaps, np.log10(np.maximum(gaps, 1e-9)))
        self._measures["scores"].take(now, scores, scores)

    def take_loss(self, now: int, losses: npt.NDArray[np.float64]) -> None:
        """Of events of a time, or of labels that came then."""
        self._measures["loss"].take(now, losses, losses)

    def forget_scores(self) -> None:
        """Another model has other scores."""
        self._measures["scores"].kept = self._measures["scores"].nothing()
        self.forget_loss()

    def forget_loss(self) -> None:
        """Another calibration has another loss."""
        self._measures["loss"].kept = self._measures["loss"].nothing()

    def report(self, seq: int) -> DriftReport:
        found = [measure.report() for measure in self._measures.values()]
        return DriftReport(seq, any(one.level in ("some", "large") for one in found), found)

    def _gaps(self, src: npt.NDArray[np.int32], t: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Of events whose source was a source before, in this log. One that comes out of order, earlier than
        the last of its source, has none."""
        need = int(src.max()) + 1
        if need > len(self.last_seen):
            more = np.full(max(need, 2 * len(self.last_seen)) - len(self.last_seen), -1, np.int64)
            self.last_seen = np.concatenate((self.last_seen, more))
        last, found = self.last_seen, []
        for node, time in zip(src.tolist(), t.tolist(), strict=True):
            before = last[node]
            if time < before:
                continue
            if before >= 0:
                found.append(time - before)
            last[node] = time
        return np.array(found, dtype=np.float64)


def stability_index(usual: npt.NDArray[np.float64], latest: npt.NDArray[np.float64]) -> float:
    """The population stability index of two histograms, over bins joined until each has a tenth of the usual
    events. Half an event is added to each, for an empty bin says little."""
    joined: list[list[float]] = [[0.0, 0.0]]
    for before, now in zip(usual.tolist(), latest.tolist(), strict=True):
        if joined[-1][0] >= usual.sum() / BINS:
            joined.append([0.0, 0.0])
        joined[-1][0] += before
        joined[-1][1] += now
    if len(joined) > 1 and joined[-1][0] < usual.sum() / BINS / 2:
        before, now = joined.pop()
        joined[-1][0] += before
        joined[-1][1] += now
    pairs = np.array(joined) + 0.5
    p, q = (pairs / pairs.sum(axis=0)).T
    return float(((q - p) * np.log(q / p)).sum())


def _spoken(name: str, mean: float) -> str:
    if name != "gaps":
        return f"{mean:.2f}"
    seconds = 10.0**mean
    for unit, length in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.1f} s"
