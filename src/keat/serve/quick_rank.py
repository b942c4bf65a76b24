"""keat-rank's scores of a few pairs, by arrays alone.

A service mostly scores one event at a time. What torch does for a call, whatever its size, then takes longer
than the mathematics; the same few products of arrays do not. Scores are those of the model, to the rounding
of float32.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from keat.models.rank import KeatRank

FEW = 16  # pairs; torch is as quick from about here on
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
        """None where a model is another, or has to be asked itself: its widths are learned, it reads features
        or it is on another device."""
        if not isinstance(model, KeatRank) or model.device.type != "cpu":
            return None
        return cls(model) if model.term.mix is None and model.said is None else None

    def score(self, src: Array, dst: Array, t: Array) -> Floats:
        """Logits of pairs as of now; nothing changes."""
        numbers = self.past.read(src, t, dst[:, None])
        return self._judged(numbers.source, numbers.pair)

    def score_in_turn(self, src: Array, dst: Array, t: Array, observed: int) -> Floats:
        """Logits of events, each with those before it observed that are strictly earlier; then the first
        ``observed`` of them are."""
        happened = src[:observed], dst[:observed], t[:observed]
        numbers, done = self.past.read_in_turn(src, t, dst[:, None], *happened)
        if done < observed:
            self.past.observe(*(column[done:] for column in happened))
        return self._judged(numbers.source, numbers.pair)

    def observe(self, src: Array, dst: Array, t: Array) -> None:
        self.past.observe(src, dst, t)

    def _judged(self, source: Tensor, pair: Tensor) -> Floats:
        """`PairTerm.judge` of numbers (B, …) and (B, 1, …)."""
        hidden = np.log1p(pair.numpy()[:, 0]) @ self._pair
        hidden += np.log1p(source.numpy()) @ self._source
        hidden += self._source_bias
        np.maximum(hidden, 0.0, out=hidden)
        hidden = hidden @ self._hidden
        hidden += self._hidden_bias
        np.maximum(hidden, 0.0, out=hidden)
        logits: Floats = hidden @ self._out
        logits += self._out_bias
        return logits


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
