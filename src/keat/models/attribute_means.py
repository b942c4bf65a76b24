"""What needs no graph: the last value, the mean and the faded mean of the attribute of a pair, a source or a
destination; and boosted trees on all of them.

    mean(t) = (Σ_i y_i w_i + m ȳ) / (Σ_i w_i + m),   w_i = 1, or 2^(-(t - t_i) / h)

over the events of before t in which the attribute was known; ȳ is the mean of the training split, and m = 1
of it is mixed in, so that little or old evidence says little. The half-life h is the one of a few that
answers the training split best.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from keat.errors import InputError
from keat.events import EventStream, NodeLabels
from keat.events.attributes import attribute_kind, center_and_size, is_asked, known_evidence, outputs_of
from keat.models.contract import NodeModel, NodeQueries
from keat.models.node_head import EventQueries
from keat.state import NodeArray, PairTable

Floats = npt.NDArray[np.float64]
Of = Literal["pair", "source", "destination"]
EVERY: tuple[Of, ...] = ("pair", "source", "destination")
BLOCK = 200  # of the training split, asked before it is observed
SHARES = (1 / 1000, 1 / 200, 1 / 40, 1 / 8)  # of the training split's length: half-lives to choose from


class FadingMeans:
    """Sums Σ y w and Σ w of each node or pair, at several half-lives (infinite: they do not fade)."""

    def __init__(self, of: Of, outputs: int, half_lives: Sequence[float]) -> None:
        self.of, self.outputs = of, outputs
        self.rates = np.log(2) / np.asarray(half_lives, dtype=np.float64)  # 0: never
        self.rows, self.number = PairTable(), 0
        width = len(half_lives) * (outputs + 1)
        self.sums = [NodeArray(0, 0.0, np.float64) for _ in range(width)]
        self.last = NodeArray(0, 0, np.int64)

    def at(self, src: Any, dst: Any, t: Any) -> tuple[Floats, Floats]:
        """Σ y w (n, H, K) and Σ w (n, H) as of t."""
        rows = self._rows(src, dst)
        known = rows >= 0
        safe = np.where(known, rows, 0)
        age = np.where(known, t - self.last.at(safe), 0).astype(np.float64)
        fade = np.exp(-age[:, None] * self.rates) * known[:, None]
        sums = np.stack([column.at(safe) for column in self.sums], axis=1)
        sums = sums.reshape(len(rows), len(self.rates), self.outputs + 1) * fade[:, :, None]
        return sums[:, :, :-1], sums[:, :, -1]

    def add(self, src: Any, dst: Any, t: Any, y: Floats) -> None:
        """Rows in the order of time; those of one node or pair are summed as of its last."""
        if len(t) == 0:
            return
        rows = self._rows(src, dst, new=True)
        distinct, place = np.unique(rows, return_inverse=True)
        final = np.full(len(distinct), np.iinfo(np.int64).min)
        np.maximum.at(final, place, t)
        gone = (final - self.last.at(distinct)).astype(np.float64)
        weights = np.exp(-(final[place] - t)[:, None] * self.rates)
        values = np.concatenate((y, np.ones((len(y), 1))), axis=1)
        for position, column in enumerate(self.sums):
            half, part = divmod(position, self.outputs + 1)
            array = column.writable(distinct)
            gained = np.bincount(place, weights[:, half] * values[:, part], len(distinct))
            array[distinct] = array[distinct] * np.exp(-gone * self.rates[half]) + gained
        self.last.writable(distinct)[distinct] = final

    def _rows(self, src: Any, dst: Any, new: bool = False) -> npt.NDArray[np.int64]:
        if self.of != "pair":
            return np.asarray(src if self.of == "source" else dst, dtype=np.int64)
        rows = self.rows.get(src, np.asarray(dst)[:, None], -1)[:, 0]
        if new and (rows < 0).any():
            fresh = np.unique(np.stack((src, dst), axis=1)[rows < 0], axis=0)
            self.rows.put(fresh[:, 0], fresh[:, 1], self.number + np.arange(len(fresh)))
            self.number += len(fresh)
            rows = self.rows.get(src, np.asarray(dst)[:, None], -1)[:, 0]
        return np.asarray(rows)


class AttributeModel(NodeModel):
    """What the heuristics share: the training split's mean, and answers in the attribute's own unit."""

    name: ClassVar[str] = "attribute heuristic"

    def __init__(self, train: EventStream) -> None:
        self.kind, self.outputs = attribute_kind(train), outputs_of(train)
        known, y = known_evidence(train)
        if not known.any():
            raise InputError(f"No attribute of {train.name} becomes known within its training split.")
        self.prior = y[known].mean(axis=0)
        assert train.labels is not None
        self.center, self.size = (0.0, 1.0)
        if self.kind == "value":
            self.center, self.size = center_and_size(train.labels.astype(np.float64))

    def observe_labels(self, labels: NodeLabels) -> None:
        """What becomes known is in the events."""

    def answer(self, mean: Floats) -> Tensor:
        """A mean (n, K) as a score: a probability's logarithm for classes, a value in its unit."""
        if self.kind == "class":
            return torch.from_numpy(np.log(np.maximum(mean, 1e-9)))
        return torch.from_numpy(mean * self.size + self.center)


class MeanAttribute(AttributeModel):
    """The mean of a pair, a source or a destination; of ``fading`` evidence, or not."""

    def __init__(self, train: EventStream, of: Of, *, fading: bool = False) -> None:
        super().__init__(train)
        self.of: Of = of
        self.half_lives = [np.inf, *(max(train.span, 1) * share for share in SHARES)] if fading else [np.inf]
        self.chosen = 0
        self.reset()
        if fading:
            self.chosen = self._best(train)
            self.half_lives, self.chosen = [self.half_lives[self.chosen]], 0
        self.reset()

    def _best(self, train: EventStream) -> int:
        """The half-life that answers the training split best, asked before it is observed."""
        errors = np.zeros(len(self.half_lives))
        for block in train.blocks(BLOCK):
            known, y = known_evidence(block)
            means = self.means(block.src, block.dst, block.t)[known]
            errors += (
                np.abs(means - y[known][:, None, :]).sum(axis=(0, 2))
                if self.kind == "value"
                else (((means - y[known][:, None, :]) ** 2).sum(axis=(0, 2)))
            )
            self.observe(block)
        return int(errors.argmin())

    def reset(self) -> None:
        self.sums = FadingMeans(self.of, self.outputs, self.half_lives)

    def observe(self, events: EventStream) -> None:
        known, y = known_evidence(events)
        self.sums.add(events.src[known], events.dst[known], events.t[known], y[known])

    def means(self, src: Any, dst: Any, t: Any) -> Floats:
        """(n, H, K)."""
        sums, weight = self.sums.at(src, dst, t)
        mean: Floats = (sums + self.prior) / (weight[:, :, None] + 1.0)
        return mean

    def score(self, queries: NodeQueries) -> Tensor:
        assert isinstance(queries, EventQueries)
        return self.answer(self.means(queries.node, queries.other, queries.t)[:, self.chosen])


class LastAttribute(AttributeModel):
    """The last value of a pair, a source or a destination that became known; else the mean."""

    def __init__(self, train: EventStream, of: Of) -> None:
        super().__init__(train)
        self.of: Of = of
        self.reset()

    def reset(self) -> None:
        self.rows = FadingMeans(self.of, 0, [np.inf])  # for its numbering of pairs
        self.values = [NodeArray(0, np.nan, np.float64) for _ in range(self.outputs)]

    def observe(self, events: EventStream) -> None:
        known, y = known_evidence(events)
        if known.any():
            rows = self.rows._rows(events.src[known], events.dst[known], new=True)
            for column, values in zip(self.values, y[known].T, strict=True):
                column.writable(rows)[rows] = values  # the latest stays

    def score(self, queries: NodeQueries) -> Tensor:
        assert isinstance(queries, EventQueries)
        rows = self.rows._rows(queries.node, queries.other)
        found = np.stack([column.at(np.maximum(rows, 0)) for column in self.values], axis=1)
        unknown = (rows < 0)[:, None] | np.isnan(found)
        return self.answer(np.where(unknown, self.prior, found))


class BoostedTrees(AttributeModel):
    """Histogram gradient boosting (scikit-learn's) on the sums of pair, source and destination at five
    half-lives: how much evidence there is, and what it says on average."""

    def __init__(self, train: EventStream) -> None:
        super().__init__(train)
        self.half_lives = [np.inf, *(max(train.span, 1) * share for share in SHARES)]
        self.reset()
        inputs, truth = [], []
        for block in train.blocks(BLOCK):
            asked = is_asked(block)
            inputs.append(self.inputs(block.src[asked], block.dst[asked], block.t[asked]))
            assert block.labels is not None
            truth.append(block.labels[asked])
            self.observe(block)
        self.model = self._fit(np.concatenate(inputs), np.concatenate(truth))
        self.reset()

    def _fit(self, inputs: Floats, truth: npt.NDArray[np.generic]) -> Any:
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        options: dict[str, Any] = {"random_state": 0, "max_iter": 200, "early_stopping": True}
        if self.kind == "value":
            return HistGradientBoostingRegressor(loss="absolute_error", **options).fit(inputs, truth)
        return HistGradientBoostingClassifier(**options).fit(inputs, truth)

    def reset(self) -> None:
        self.sums = [FadingMeans(of, self.outputs, self.half_lives) for of in EVERY]

    def observe(self, events: EventStream) -> None:
        known, y = known_evidence(events)
        for sums in self.sums:
            sums.add(events.src[known], events.dst[known], events.t[known], y[known])

    def inputs(self, src: Any, dst: Any, t: Any) -> Floats:
        """(n, 3 · 5 · (K + 1))."""
        columns = []
        for each in self.sums:
            sums, weight = each.at(src, dst, t)
            means = (sums + self.prior) / (weight[:, :, None] + 1.0)
            columns += [means.reshape(len(t), len(self.half_lives) * self.outputs), np.log1p(weight)]
        return np.concatenate(columns, axis=1)

    def score(self, queries: NodeQueries) -> Tensor:
        assert isinstance(queries, EventQueries)
        inputs = self.inputs(queries.node, queries.other, queries.t)
        if self.kind == "value":
            return torch.from_numpy(self.model.predict(inputs)[:, None])
        shares = np.full((len(inputs), max(self.outputs, 2)), 1e-9)
        shares[:, self.model.classes_.astype(int)] = self.model.predict_proba(inputs)
        logits = np.log(np.maximum(shares, 1e-9))
        return torch.from_numpy(logits if self.kind == "class" else logits[:, 1:] - logits[:, :1])
