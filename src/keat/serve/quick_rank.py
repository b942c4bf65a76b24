"""keat-rank's scores of pairs as a service asks for them: one candidate each, or many of one source.

A service mostly scores one event at a time. What torch does for a call, whatever its size, then takes longer
than the mathematics; the same few products of arrays do not. And of one candidate, only what leads to it has
to be looked at. Scores are those of the model, to the rounding of float32.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from keat.cooccurrence.one_candidate import read_one_each
from keat.models.rank import KeatRank
from keat.ops import compiled

FEW = 4_096  # pairs; more are the model's own to score, in parts that fit the caches
ROWS = 16  # from about here on torch multiplies quicker
Floats = npt.NDArray[np.float32]
Array = npt.NDArray[Any]


class _Weights(NamedTuple):
    """Of `PairTerm`, each (in, out)."""

    source: Floats
    pair: Floats
    bias: Floats  # of both
    hidden: Floats
    hidden_bias: Floats
    out: Floats
    out_bias: Floats


class QuickRank:
    """A model that is not trained any more. Its past stays its own: what it observes is seen here."""

    def __init__(self, model: KeatRank) -> None:
        self.past, term = model.past, model.term
        of_source, bias = _folded(term.lin_source)
        of_pair, pair_bias = _folded(term.lin_pair)
        hidden = _arrays(term.lin_hidden.weight, term.lin_hidden.bias)
        out, out_bias = _arrays(term.lin_out.weight, term.lin_out.bias)
        self._weights = _Weights(of_source, of_pair, bias + pair_bias, *hidden, out[:, 0].copy(), out_bias)

    @classmethod
    def of(cls, model: object) -> Self | None:
        """None where a model is another, or has to be asked itself: its widths are learned, it reads features
        or it is on another device."""
        if not isinstance(model, KeatRank) or model.device.type != "cpu":
            return None
        return cls(model) if model.term.mix is None and model.said is None else None

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
        """`PairTerm.judge` of numbers (B or 1, …) and (B, …), which nobody else needs."""
        if len(pair) <= ROWS and len(source) == len(pair):
            return _judge(source, pair, *self._weights)
        weights, logs = self._weights, np.log1p(pair, out=pair)
        hidden = _times(logs, weights.pair)
        hidden += np.log1p(source) @ weights.source + weights.bias
        np.maximum(hidden, 0.0, out=hidden)
        hidden = _times(hidden, weights.hidden)
        hidden += weights.hidden_bias
        np.maximum(hidden, 0.0, out=hidden)
        logits: Floats = hidden @ weights.out
        logits += weights.out_bias
        return logits


@compiled
def _judge(
    source: Floats,
    pair: Floats,
    of_source: Floats,
    of_pair: Floats,
    bias: Floats,
    between: Floats,
    hidden_bias: Floats,
    out: Floats,
    out_bias: Floats,
) -> Floats:
    """The same for few pairs; most numbers of a pair are nothing."""
    width, logits = len(bias), np.empty(len(pair), np.float32)
    for i in range(len(pair)):
        first, second = bias.copy(), hidden_bias.copy()
        for numbers, weights in ((source[i], of_source), (pair[i], of_pair)):
            for k in range(len(numbers)):
                if numbers[k] != 0:
                    x = np.log1p(numbers[k])
                    for h in range(width):
                        first[h] += x * weights[k, h]
        logit = out_bias[0]
        for k in range(width):
            if first[k] > 0:
                for h in range(width):
                    second[h] += first[k] * between[k, h]
        for h in range(width):
            if second[h] > 0:
                logit += second[h] * out[h]
        logits[i] = logit
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
