"""slm: a language model of destinations. Smoothed counts as log-probabilities, and 9 to 13 weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from keat.clock import PLAIN, Clock
from keat.errors import InputError, unknown_name
from keat.events import EventStream
from keat.models.contract import LearnedLinkModel, Queries
from keat.models.settings import LARGEST, Help, check_each, check_range, check_sizes, setting
from keat.models.slm_past import SLMPast, Smoothing

Base = Literal["marginal", "continuation"]
BASES: tuple[Base, ...] = get_args(Base)
QUESTIONS_AT_ONCE = 1 << 16  # pairs read together in evaluation

_NOTHING = (np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int64))


@dataclass(frozen=True, slots=True)
class SLMConfig:
    """Widths are in σ, the one scale of time a model is told; the authors take that of the counts from the
    validation split and that of recency from the training split (five and a quarter of σ on wikipedia)."""

    history: int = setting(5, "Last destinations of a source that are looked back on.")
    width: float = setting(5.0, "Width of the kernel by which counts fade, in multiples of σ; inf for none.")
    recency: float = setting(0.25, "Width of the kernel on the age of the last meeting, in multiples of σ.")
    smoothing: float = setting(1.0, "α: what every count begins with, shared out by the base.")
    base: Base = setting(
        "marginal",
        "What unseen pairs are smoothed to: marginal (how often a destination is met) or continuation "
        "(after how many others).",
    )
    near: bool = setting(True, "Whether to count what was among the last destinations, in any order.")
    global_recency: bool = setting(True, "Whether to look at when anybody met a destination last.")
    scales: bool = setting(True, "Whether recency is also read at a tenth and at ten times its width.")
    clock: str = setting("s", Help.CLOCK)

    def __post_init__(self) -> None:
        check_each(self)
        check_sizes(self, "history")
        check_range(self, 0, None, "smoothing", open_below=True)
        check_range(self, 0, LARGEST, "recency", open_below=True)
        if not self.width > 0:
            raise InputError(f"The width must be positive, but is {self.width}; it is a multiple of σ.")
        if self.base not in BASES:
            raise unknown_name("base", self.base, BASES)


class SLM(LearnedLinkModel):
    """With the probabilities of `SLMPast` and recency r = exp(-(t - last meeting)/width), 0 if never met,

        logit(u, z, t) = w · [log P(z), log P(z|u), log P(z|v₁) … log P(z|v_K), r, and if they are wanted
                              log P_co(z), r of the destination, r ten times as fast and as slow] + b

    Beyond the history there is, log P(z|v_k) counts as 0 for every candidate.
    """

    name = "slm"
    trains_in_turn = True

    def __init__(
        self,
        num_nodes: int,
        feature_dim: int,  # noqa: ARG002
        sigma: float,
        config: SLMConfig,
        clock: Clock = PLAIN,
    ) -> None:
        super().__init__()
        self.config, self.sigma, self.clock = config, sigma, clock
        how = Smoothing(config.smoothing, config.base == "continuation", 1.0 / (config.recency * sigma))
        self.past = SLMPast(num_nodes, config.history, config.width * sigma, how, clock)
        wanted = [True] * (config.history + 3)
        wanted += [config.near, config.global_recency, config.scales, config.scales]
        self.wanted = [column for column, read in enumerate(wanted) if read]  # of the past
        self.weights = nn.Linear(len(self.wanted), 1)
        nn.init.constant_(self.weights.weight, 1 / len(self.wanted))  # each says something; nothing is drawn
        nn.init.zeros_(self.weights.bias)

    # -- state -----------------------------------------------------------------------------------------

    def reset(self) -> None:
        self.past.clear()

    def observe(self, events: EventStream) -> None:
        self.past.observe(events.src, events.dst, events.t)

    def stream_state(self) -> dict[str, Tensor]:
        return self.past.save()

    def load_stream_state(self, state: dict[str, Tensor]) -> None:
        self.past.load(state)

    def last_time(self) -> int:
        return self.past.stores["visits"].last_time()

    def sources(self) -> npt.NDArray[np.int32]:
        return self.past.stores["visits"].sources()

    def destinations(self) -> npt.NDArray[np.int32]:
        return self.past.stores["visits"].destinations()

    # -- scores ----------------------------------------------------------------------------------------

    def score(self, queries: Queries) -> Tensor:
        rows = max(1, QUESTIONS_AT_ONCE // max(1, queries.shape[1]))
        parts = [queries.rows(first, first + rows) for first in range(0, max(1, len(queries.src)), rows)]
        return torch.cat([self._read(part, *_NOTHING)[0] for part in parts])

    def score_in_turn(self, queries: Sequence[Queries], events: EventStream) -> list[Tensor]:
        if len(queries) != 1:
            return super().score_in_turn(queries, events)
        logits, seen = self._read(queries[0], events.src, events.dst, events.t)
        self.observe(events[seen:])
        return [logits]

    def _read(
        self,
        queries: Queries,
        src: npt.NDArray[np.int32],
        dst: npt.NDArray[np.int32],
        t: npt.NDArray[np.int64],
    ) -> tuple[Tensor, int]:
        found, seen = self.past.read_in_turn(queries.src, queries.t, queries.candidates, src, dst, t)
        with torch.set_grad_enabled(self.training and torch.is_grad_enabled()):
            columns = found[..., self.wanted].to(self.device)  # (B, C, columns)
            # Not a product of matrices, which rounds by where a row is: candidates of equal columns must tie.
            logits: Tensor = (columns * self.weights.weight[0]).sum(dim=2) + self.weights.bias
        return logits, seen
