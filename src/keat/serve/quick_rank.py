"""keat-rank's scores of pairs as a service asks for them: one candidate each, or many of one source.

A service mostly scores one event at a time. What torch does for a call, whatever its size, then takes longer
than the mathematics; the same few products of arrays do not. And of one candidate, only what leads to it has
to be looked at. Scores are those of the model, to the rounding of float32.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from keat.cooccurrence.one_candidate import read_one_each
from keat.models.rank import KeatRank

FEW = 4_096  # pairs; more are the model's own to score, in parts that fit the caches
ROWS = 16  # from about here on torch multiplies quicker
Floats = npt.NDArray[np.float32]
Array = npt.NDArray[Any]


class QuickRank:
    """A model that is not trained any more. Its past stays its own: what it observes is seen here."""

    def __init__(self, model: KeatRank) -> None:
        self.past, term = model.past, model.term
        self._source, self._source_bias = _folded(term.lin_source)
        self._pair, pair_bias = _folded(term.lin_pair)
        self._source_bias += pair_bias
        self._hidden, self._hidden_bias = _arrays(term.lin_hidden.weight, term.lin_hidden.bias)
        out, (self._out_bias,) = _arrays(term.lin_out.weight, term.lin_out.bias)
        self._out = out[:, 0].copy()

    @classmethod
    def of(cls, model: object) -> Self | None:
        """None where a model is another, or has to be asked itself: its widths are learned, or it is on
        another device."""
        if not isinstance(model, KeatRank) or model.term.mix is not None or model.device.type != "cpu":
            return None
        return cls(model)

    def score(self, src: Array, dst: Array, t: Array) -> Floats:
        """Logits of pairs as of now; nothing changes."""
        return self._judged(*read_one_each(self.past, src, dst, t))

    def score_in_turn(self, src: Array, dst: Array, t: Array, observed: int) -> Floats:
        """Logits of events, each with those before it observed that are strictly earlier; then the first
        ``observed`` of them are."""
        return self._judged(*read_one_each(self.past, src, dst, t, observed))

    def score_all(self, src: Array, t: Array, candidates: Array) -> Floats:
        """Logits of many candidates of one source as of now; nothing changes."""
        numbers = self.past.read(src, t, candidates)
        return self._judged(numbers.source.numpy(), numbers.pair.numpy()[0])

    def observe(self, src: Array, dst: Array, t: Array) -> None:
        self.past.observe(src, dst, t)

    def _judged(self, source: Floats, pair: Floats) -> Floats:
        """`PairTerm.judge` of numbers (B or 1, …) and (B, …)."""
        times = _times if len(pair) > ROWS else np.matmul
        hidden = times(np.log1p(pair), self._pair)
        hidden += np.log1p(source) @ self._source + self._source_bias
        np.maximum(hidden, 0.0, out=hidden)
        hidden = times(hidden, self._hidden)
        hidden += self._hidden_bias
        np.maximum(hidden, 0.0, out=hidden)
        logits: Floats = hidden @ self._out
        logits += self._out_bias
        return logits


def _times(a: Floats, b: Floats) -> Floats:
    product: Floats = torch.mm(torch.from_numpy(a), torch.from_numpy(b)).numpy()
    return product


def _folded(layer: nn.Module) -> tuple[Floats, Floats]:
    """Weights (in, out) and bias of a layer on logarithms, whose gains and means are a part of them."""
    linear: Any = layer.linear
    weight = linear.weight * layer.gain
    bias = linear.bias
    mean = getattr(layer, "mean", None)
    if mean is not None:
        bias = bias - weight @ mean
    return _arrays(weight, bias)


def _arrays(weight: Tensor, bias: Tensor) -> tuple[Floats, Floats]:
    with torch.no_grad():
        return np.ascontiguousarray(weight.detach().numpy().T), bias.detach().numpy().copy()
