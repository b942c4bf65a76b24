"""keat-rank: what a source and a candidate have been to each other, into a small network. Nothing else.

No embeddings, no attention: `KernelCooccurrence` keeps the past, `PairTerm` weighs it. An event costs a few
multiply-adds, so the model is trained and asked with the freshest state there is, at every distinct time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from keat.clock import PLAIN, Clock
from keat.cooccurrence import KernelCooccurrence, PairTerm, geometric_widths
from keat.cooccurrence.feature_sums import FeatureSums
from keat.cooccurrence.pair_budget import StateMemory
from keat.cooccurrence.pair_columns import EDITIONS, GROUPS, groups_of
from keat.cooccurrence.pair_records import FOLLOWED, MOST_SUCCESSORS, SUCCESSORS
from keat.cooccurrence.pair_term import Numbers
from keat.disk import bytes_of
from keat.errors import InputError, unknown_name
from keat.events import EventStream, TimeUnit
from keat.models.contract import LearnedLinkModel, Queries
from keat.models.pair_explanation import PairExplanation, explain_term, remembers
from keat.models.settings import Help, check_each, check_range, check_sizes, setting

__all__ = ["KeatRank", "RankConfig", "StateMemory"]
MEASURED = 4  # of so many blocks one is measured before training
SAID = "said."  # tensors of what events said, among those that are kept
PAIRS_AT_ONCE = 1 << 13  # candidates read and scored together in evaluation: what the caches hold


@dataclass(frozen=True, slots=True)
class RankConfig:
    """``widths`` of the kernels: ``geometric`` (σ/1024 … 16 σ), ``learned`` (``learned`` of them, anywhere
    between), or numbers of your own in the unit of ``clock``, as in ``60,3600,86400`` (seconds)."""

    widths: str = setting(
        "geometric",
        "Widths of the kernels: geometric (σ/1024 to 16 σ), learned, or numbers in the unit of the clock, "
        "separated by commas.",
    )
    learned: int = setting(4, "How many widths are learned where they are.")
    hidden: int = setting(64, "Hidden units of the network.")
    ring: int = setting(16, "Distinct partners remembered of each node, in each role.")
    fanout: int = setting(8, "Of them, how many a two- or three-hop path goes on to.")
    followed: int = setting(
        FOLLOWED,
        "Of a source's latest destinations, how many a new one is remembered to have followed; all of the "
        "ring where hardly any pair meets twice.",
    )
    successors: int = setting(SUCCESSORS, "Of a destination, how many are remembered to have followed it.")
    clock: str = setting("s", Help.CLOCK)
    without: str = setting(
        "", f"Groups of numbers not to look at, separated by commas, for ablations: {', '.join(GROUPS)}."
    )
    state_memory: str = setting(
        "",
        "Memory for all that is remembered, as in 2GB: where it would take more, the pairs that have not met "
        "for longest are forgotten, and counted.",
    )
    edition: int = setting(
        1,
        "Numbers that are read: 1, without replies, gaps, runs and item to item; 2, with them; 3, also those "
        "of messages to several at one time, as e-mails are.",
    )
    feature_means: bool = setting(
        False,
        "Read fading means of the features of past events, too; usual where features are named.",
    )

    def __post_init__(self) -> None:
        check_each(self)
        check_sizes(self, "learned", "hidden", "ring", "fanout", "followed")
        check_range(self, 1, MOST_SUCCESSORS, "successors")
        check_range(self, 1, EDITIONS, "edition")
        bytes_of(self.state_memory or "0")


class KeatRank(LearnedLinkModel):
    """logit(u, v, t) = PairTerm(KernelCooccurrence of u and v at t)."""

    name = "keat-rank"
    trains_in_turn = True

    def __init__(
        self,
        num_nodes: int,
        feature_dim: int,
        sigma: float,
        config: RankConfig,
        clock: Clock = PLAIN,
    ) -> None:
        super().__init__()
        self.config, self.sigma, self.clock = config, sigma, clock
        learned = config.learned if config.widths == "learned" else None
        widths = _widths(config.widths, sigma)
        self.past = KernelCooccurrence(
            num_nodes,
            sigma,
            widths,
            ring=config.ring,
            fanout=config.fanout,
            clock=clock,
            edition=config.edition,
            followed=config.followed,
            successors=config.successors,
            budget=bytes_of(config.state_memory or "0"),
        )
        without = _groups(config.without, config.edition)
        features = feature_dim if config.feature_means else 0
        self.said = FeatureSums(num_nodes, widths, features, clock) if features else None
        self.term = PairTerm(widths, learned, config.hidden, without, config.edition, features)

    # -- state -----------------------------------------------------------------------------------------

    def look_at(self, train: EventStream) -> None:
        if self.said is not None:
            self.term.look_at_features(train.features)

    def reset(self) -> None:
        self.past.clear()
        if self.said is not None:
            self.said.clear()

    def observe(self, events: EventStream) -> None:
        self.past.observe(events.src, events.dst, events.t)
        if self.said is not None:
            self.said.observe(events.src, events.dst, events.t, events.features)

    def stream_state(self) -> dict[str, Tensor]:
        said = {} if self.said is None else self.said.state()
        return self.past.state() | {f"{SAID}{name}": value for name, value in said.items()}

    def load_stream_state(self, state: dict[str, Tensor]) -> None:
        if self.said is None:
            self.past.load_state(state)
            return
        said = {name: value for name, value in state.items() if name.startswith(SAID)}
        self.past.load_state({name: value for name, value in state.items() if name not in said})
        self.said.load_state({name.removeprefix(SAID): value for name, value in said.items()})

    def last_time(self) -> int:
        return self.past.last_time

    def memory(self) -> StateMemory | None:
        """What the state takes of its budget, and what was forgotten for it; None where there is none."""
        return self.past.memory()

    def sources(self) -> npt.NDArray[np.int32]:
        return self.past.sources()

    def destinations(self) -> npt.NDArray[np.int32]:
        return self.past.destinations()

    def measure(self, examples: Iterable[tuple[Queries, EventStream]]) -> None:
        if self.config.edition > 1:
            self.term.measure(self._read_some(examples))

    def _read_some(self, examples: Iterable[tuple[Queries, EventStream]]) -> Iterator[Numbers]:
        """The numbers of every few blocks: enough for a mean, and less than all that is trained on."""
        for number, (queries, events) in enumerate(examples):
            if number % MEASURED == 0 and len(queries.t):
                numbers, event = self._read_in_turn(queries, events, 0)
                yield numbers.to(self.device)
                events = events[event:]
            self.observe(events)

    # -- scores ----------------------------------------------------------------------------------------

    def score(self, queries: Queries) -> Tensor:
        with torch.set_grad_enabled(self.training and torch.is_grad_enabled()):
            parts = self._parts(queries)
            return torch.cat([self._logits(self._read(part)) for part in parts])

    def score_in_turn(self, queries: Sequence[Queries], events: EventStream) -> list[Tensor]:
        merged, places = _merged(queries)
        if merged is None:
            return super().score_in_turn(queries, events)
        logits, event = [], 0
        for part in self._parts(merged):
            numbers, event = self._read_in_turn(part, events, event)
            logits.append(self._logits(numbers))
        self.observe(events[event:])
        scores = torch.cat(logits)
        return [scores] if len(queries) == 1 else [scores[place] for place in places]

    def _read(self, queries: Queries) -> Numbers:
        asked = queries.src, queries.t, queries.candidates
        numbers = self.past.read(*asked)
        return numbers if self.said is None else replace(numbers, said=self.said.read(*asked))

    def _read_in_turn(self, queries: Queries, events: EventStream, event: int) -> tuple[Numbers, int]:
        """Numbers with the strictly earlier events observed, from number ``event`` on; and the first that no
        question came after."""
        asked = queries.src, queries.t, queries.candidates
        numbers, done = self.past.read_in_turn(*asked, events.src, events.dst, events.t, event)
        if self.said is not None:
            happened = events[event:done]
            said = self.said.read_in_turn(*asked, happened.src, happened.dst, happened.t, happened.features)
            numbers = replace(numbers, said=said)
        return numbers, done

    def _parts(self, queries: Queries) -> Iterator[Queries]:
        """In training all at once: gradients keep everything anyway."""
        rows, width = queries.shape
        step = max(1, rows if self.training else PAIRS_AT_ONCE // max(1, width))
        for start in range(0, max(1, rows), step):
            yield queries.rows(start, start + step)

    def _logits(self, numbers: Numbers) -> Tensor:
        logits: Tensor = self.term(numbers.to(self.device))
        return logits

    # -- explaining ------------------------------------------------------------------------------------

    def widths(self) -> list[float]:
        """Of the kernels in use, in the unit of the stream's times."""
        widths = self.past.widths.tolist() if self.term.mix is None else self.term.mix.widths()
        return [self.clock.ticks(width) for width in widths]

    def remembers(self, unit: TimeUnit) -> str:
        """The widths as a person would say them: "remembers about 1.3 min, 5.6 h and 3.7 days"."""
        return remembers(self.widths(), unit)

    def explain_pair(self, src: int, candidate: int, t: int) -> PairExplanation:
        """What the model knows of one pair at a time, and what it makes of it."""
        read = self._read(Queries(np.array([src], np.int32), np.array([t]), np.array([candidate], np.int32)))
        return explain_term(self.past, self.term, self.widths(), read, src, candidate, t)


def _groups(listed: str, edition: int) -> list[str]:
    groups, known = [name.strip() for name in listed.split(",") if name.strip()], groups_of(edition)
    for name in groups:
        if name not in known:
            raise unknown_name("group of numbers", name, known)
    return groups


def _widths(widths: str, sigma: float) -> npt.NDArray[np.float64]:
    if widths in ("geometric", "learned"):
        return geometric_widths(sigma)
    try:
        own = np.array([float(width) for width in widths.split(",")])
    except ValueError:
        own = np.empty(0)
    if len(own) == 0 or not (np.isfinite(own) & (own > 0)).all():
        raise InputError(f"Widths must be 'geometric', 'learned' or positive numbers, not '{widths}'.")
    return own


def _merged(queries: Sequence[Queries]) -> tuple[Queries | None, list[npt.NDArray[np.int64]]]:
    """Several lists of questions as one in the order of time, and where each list's are in it; nothing
    where they cannot be stacked."""
    if len(queries) == 1:
        return queries[0], []
    if any(part.shared or part.shape[1] != queries[0].shape[1] for part in queries):
        return None, []
    src, t, candidates = (
        np.concatenate([getattr(part, name) for part in queries]) for name in ("src", "t", "candidates")
    )
    order = np.argsort(t, kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    ends = np.cumsum([len(part.t) for part in queries])[:-1]
    return Queries(src[order], t[order], candidates[order]), np.split(place, ends)
