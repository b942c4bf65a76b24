"""An example of every operation: the way models take and the plain way, at any size and precision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from keat.ops import (
    all_times,
    dropping,
    edge_mixing,
    gru,
    messages,
    mlp,
    phase,
    scoring,
    sequence_counts,
    token_attention,
)

SHARE = 0.3  # of what is dropped


@dataclass(frozen=True)
class Sizes:
    rows: int  # seeds, candidates, nodes that are updated, pairs: what there can be none of
    slots: int  # past events of each, at most
    heads: int
    dim: int
    time: int
    message: int
    queries: int


@dataclass(frozen=True)
class Example:
    """Two ways to compute the same, and what they can be differentiated by."""

    fast: Callable[[], Sequence[Tensor]]
    plain: Callable[[], Sequence[Tensor]]
    leaves: Sequence[Tensor] = ()


Draw = Callable[..., Tensor]  # normal numbers of a shape, which get a gradient if ``leaf``


def normal(dtype: torch.dtype) -> Draw:
    def draw(*shape: int, leaf: bool = False) -> Tensor:
        return torch.randn(*shape, dtype=torch.float64).to(dtype).requires_grad_(leaf)

    return draw


def whole(high: int, *shape: int) -> Tensor:
    return torch.randint(max(high, 1), shape)


def called(fast: Any, plain: Any, *inputs: Any) -> Example:
    """The same inputs for both; leaves are those with a gradient."""

    def run(operation: Any) -> Callable[[], Sequence[Tensor]]:
        def outputs() -> Sequence[Tensor]:
            torch.manual_seed(5)  # what is dropped
            out = operation(*inputs)
            return [out] if isinstance(out, Tensor) else out

        return outputs

    leaves = [part for part in inputs if isinstance(part, Tensor) and part.requires_grad]
    return Example(run(fast), run(plain), leaves)


# -- time --------------------------------------------------------------------------------------------


def of_cosine(size: Sizes, draw: Draw) -> Example:
    age = whole(1000, size.rows, size.slots)
    return called(
        phase.cosine, phase.cosine_plainly, age, draw(size.time, leaf=True), draw(size.time, leaf=True)
    )


def of_cosine_and_sine(size: Sizes, draw: Draw) -> Example:
    age = whole(1000, size.rows).double() / 7
    return called(phase.cosine_and_sine, phase.cosine_and_sine_plainly, age, draw(size.time), draw(size.time))


# -- attention ---------------------------------------------------------------------------------------


def of_mix_edges(size: Sizes, draw: Draw) -> Example:
    """Seeds with 0 to ``slots`` events, of nodes and messages that several share."""
    count = whole(size.slots + 1, size.rows)
    first = torch.nn.functional.pad(count.cumsum(0), (1, 0))
    events = int(first[-1])
    leaves = [
        draw(size.heads, size.rows, size.dim + size.time + size.message + 1, leaf=True),
        draw(6, size.dim, leaf=True),
        draw(events, size.time, leaf=True),
        draw(events, size.heads, leaf=True),
        draw(events, size.heads, leaf=True),
    ]
    probe, x, time, psi_node, psi_edge = leaves
    keep = 2 * (draw(events, size.heads) > 0).to(probe.dtype)
    row, event, message = whole(6, events), whole(4, events), draw(4, size.message)
    edges = edge_mixing.Edges(first, x, row, time, message, event, psi_node, psi_edge, keep)
    example = called(edge_mixing.mix_edges, edge_mixing.mix_edges_plainly, probe, edges)
    return Example(example.fast, example.plain, leaves)


def of_attend_at_all_times(*modulated: bool) -> Callable[[Sizes, Draw], Example]:
    def make(size: Sizes, draw: Draw) -> Example:
        logits = draw(size.rows, size.slots, size.heads, size.queries)
        node_logit, message_logit = (draw(size.rows, size.slots, size.heads) for _ in range(2))
        mask = whole(3, size.rows, size.slots) > 0
        psi = draw(size.rows, size.slots, 1, size.queries)
        psi_node, psi_edge = (psi if on else None for on in modulated)
        rows = size.slots * size.heads

        def run(operation: Any) -> Callable[[], Sequence[Tensor]]:
            def outputs() -> Sequence[Tensor]:
                out, edge_out = (logits.new_zeros(size.rows, n, size.queries) for n in (2 * rows + 3, rows))
                operation(logits.clone(), node_logit, message_logit, mask, psi_node, psi_edge, out, edge_out)
                return out, edge_out

            return outputs

        return Example(run(all_times.attend_at_all_times), run(all_times.attend_at_all_times_plainly))

    return make


def of_turn_to_all_times(size: Sizes, draw: Draw) -> Example:
    weight = draw(size.rows, size.slots * size.heads, size.queries)
    cosine, sine = (draw(size.rows, size.slots, size.time) for _ in range(2))
    turn = draw(2 * size.time, size.queries)

    def run(operation: Any) -> Callable[[], Sequence[Tensor]]:
        def outputs() -> Sequence[Tensor]:
            out = weight.new_zeros(size.rows, 2 + size.time * size.heads, size.queries)
            operation(weight, cosine, sine, turn, out)
            return [out]

        return outputs

    return Example(run(all_times.turn_to_all_times), run(all_times.turn_to_all_times_plainly))


# -- decoder -----------------------------------------------------------------------------------------


def of_score_pairs(size: Sizes, draw: Draw) -> Example:
    src, dst = whole(6, size.rows), whole(6, size.rows, size.queries)
    projected, weight, bias = (draw(*shape, leaf=True) for shape in ((6, 2 * size.dim), (size.dim,), (1,)))
    return called(scoring.score_pairs, scoring.score_pairs_plainly, projected, weight, bias, src, dst)


def of_relu_dot(size: Sizes, draw: Draw) -> Example:
    own, others = draw(size.rows, size.dim), draw(1, size.dim, size.queries)
    return called(scoring.relu_dot, scoring.relu_dot_plainly, own, others, draw(size.dim))


def of_relu_dot_both(size: Sizes, draw: Draw) -> Example:
    own, common = draw(size.rows, size.dim), draw(size.dim, size.queries)
    others, weight = draw(size.rows, size.dim, size.queries), draw(size.dim)

    def plainly(own: Tensor, common: Tensor, others: Tensor, weight: Tensor) -> Tensor:
        return scoring.relu_dot_plainly(own, others + common, weight)

    return called(scoring.relu_dot_both, plainly, own, common, others, weight)


def of_relu_dot_sloped(size: Sizes, draw: Draw) -> Example:
    base, slope = (draw(size.dim, size.queries) for _ in range(2))
    own, gap = draw(size.rows, size.dim), draw(size.rows, size.queries)
    weight = draw(size.dim)
    return called(scoring.relu_dot_sloped, scoring.relu_dot_sloped_plainly, own, base, slope, gap, weight)


# -- memory ------------------------------------------------------------------------------------------


def of_write_messages(size: Sizes, draw: Draw) -> Example:
    """Of nodes that have a pending event, or no memory."""
    nodes = torch.randperm(size.rows)
    memory = draw(size.rows, size.dim)
    src, dst = whole(size.rows, size.rows), whole(size.rows, size.rows)
    pending = torch.full((size.rows,), -1)
    for number in range(size.rows // 2):
        pending[src[number]] = pending[dst[number]] = number
    memory[pending < 0] = 0
    events = src, dst, whole(1000, size.rows) + 1000, draw(size.rows, size.message)
    width = 2 * size.dim + size.message + size.time

    def known(operation: Any) -> Any:
        def outputs(*inputs: Any) -> Sequence[Tensor]:
            written = operation(*inputs)
            return [written.message[:, : width - size.time], *written[1:]]

        return outputs

    ways = (known(way) for way in (messages.write_messages, messages.write_messages_plainly))
    return called(*ways, nodes, memory, whole(1000, size.rows), pending, events, width)


def of_gru(size: Sizes, draw: Draw) -> Example:
    cell = nn.GRUCell(2 * size.dim + size.message + size.time, size.dim).to(draw(0).dtype)
    told = (draw(size.rows, 1) > 0).to(cell.weight_ih.dtype)
    message, encoded = draw(size.rows, cell.input_size) * told, draw(size.rows, size.time, leaf=True)
    ways = (gru.update_with_messages, gru.update_plainly)
    example = called(*ways, cell, message, encoded, told)
    return Example(example.fast, example.plain, [encoded, *cell.parameters()])


def of_gru_with_a_message(size: Sizes, draw: Draw) -> Example:
    cell = nn.GRUCell(2 * size.dim + size.message + size.time, size.dim).to(draw(0).dtype)
    before, other, features = (draw(size.rows, width) for width in (size.dim, size.dim, size.message))
    encoded = draw(size.rows, size.time, leaf=True)

    def plainly(*parts: Tensor) -> Tensor:
        updated: Tensor = cell(torch.cat(parts, dim=1), before)
        return updated

    def update(*parts: Tensor) -> Tensor:
        return gru.update_with_message(cell, *parts)

    example = called(update, plainly, before, other, features, encoded)
    return Example(example.fast, example.plain, [encoded, *cell.parameters()])


def of_gru_without_a_message(size: Sizes, draw: Draw) -> Example:
    cell = nn.GRUCell(size.time, size.dim).to(draw(0).dtype)
    before = draw(size.rows, size.dim)
    nothing = before.new_zeros(size.rows, size.time)
    return Example(lambda: [gru.update_without_message(cell, before)], lambda: [cell(nothing, before)])


# -- Transformer -------------------------------------------------------------------------------------


def dropped_plainly(x: Tensor) -> Tensor:
    return dropping.drop_plainly(x, SHARE, dropping.draw_seed())


def of_dropout(size: Sizes, draw: Draw) -> Example:
    return called(lambda x: dropping.dropout(x, SHARE, True), dropped_plainly, draw(size.rows, 9, leaf=True))


def of_add_dropped(size: Sizes, draw: Draw) -> Example:
    return called(
        lambda x, y: dropping.add_dropped(x, y, SHARE, True),
        lambda x, y: x + dropped_plainly(y),
        draw(size.rows, size.dim, leaf=True),
        draw(size.rows, size.dim, leaf=True),
    )


def of_feed_forward(share: float) -> Callable[[Sizes, Draw], Example]:
    def make(size: Sizes, draw: Draw) -> Example:
        x = draw(size.rows, size.dim, leaf=True)
        first, second = nn.Linear(size.dim, 4 * size.dim).to(x), nn.Linear(4 * size.dim, size.dim).to(x)
        ways = (mlp.feed_forward, mlp.feed_forward_plainly)
        example = called(*ways, x, first, second, share)
        return Example(example.fast, example.plain, [x, *first.parameters(), *second.parameters()])

    return make


def of_attend_dropping(masked: bool) -> Callable[[Sizes, Draw], Example]:
    def make(size: Sizes, draw: Draw) -> Example:
        n, dim = size.slots, size.heads * size.dim
        pieces = [draw(size.rows, n, dim, leaf=True), draw(size.rows, n, 2 * dim, leaf=True)]
        length = 1 + whole(n, size.rows, 1)
        mask = (torch.arange(n) < length)[:, None, None] if masked else None

        def drop(weights: Tensor) -> Tensor:
            return dropping.dropout(weights, SHARE, True)

        example = called(
            lambda: token_attention.attend_dropping(pieces, mask, size.heads, SHARE),
            lambda: token_attention.attend_plainly(pieces, mask, size.heads, drop),
        )
        return Example(example.fast, example.plain, pieces)

    return make


# -- sequences ---------------------------------------------------------------------------------------


def of_sequences(fading: bool) -> Callable[[Sizes, Draw], Example]:
    """Counts or sums of weights, of each sequence with itself and with others."""

    def make(size: Sizes, draw: Draw) -> Example:  # noqa: ARG001
        patch, rng = 2, np.random.default_rng(0)
        length = rng.integers(1, 1 + 2 * size.slots, size.rows)
        patches = -(-length // patch)
        first = np.concatenate((np.zeros(1, np.int64), np.cumsum(patches)))
        start = patch * first[:-1]
        node = np.full(patch * int(first[-1]), -1)
        for begin, number in zip(start, length, strict=True):
            node[begin : begin + number] = rng.integers(0, 5 * size.rows, number)
        sequences = sequence_counts.PackedSequences(start, start + length, first, node, patch)
        left, right = (rng.integers(0, max(size.rows, 1), 2 * size.rows) for _ in range(2))
        tokens = int((patches[left] + patches[right]).sum())
        psi = rng.random((len(node), 3)).astype(np.float32)

        def counts(own: Any, cross: Any) -> Sequence[Tensor]:
            return [
                torch.from_numpy(part) for part in (own(sequences), *cross(sequences, left, right, tokens))
            ]

        def sums(own: Any, cross: Any) -> Sequence[Tensor]:
            row, shared, _ = sequence_counts.count_cross(sequences, left, right, tokens)
            parts = own(sequences, psi), cross(sequences, psi, left, right, row, len(shared))
            return [torch.from_numpy(part) for part in parts]

        run, told = (sums, "sum") if fading else (counts, "count")
        ways = [[f"{told}_{part}{way}" for part in ("own", "cross")] for way in ("", "_plainly")]
        fast, plain = ([getattr(sequence_counts, name) for name in pair] for pair in ways)
        return Example(lambda: run(*fast), lambda: run(*plain))

    return make


OPERATIONS: dict[str, Callable[[Sizes, Draw], Example]] = {
    "cosine": of_cosine,
    "cosine and sine": of_cosine_and_sine,
    "mix edges": of_mix_edges,
    "attend at all times, no ψ": of_attend_at_all_times(False, False),
    "attend at all times, ψ on nodes": of_attend_at_all_times(True, False),
    "attend at all times, ψ on edges": of_attend_at_all_times(False, True),
    "attend at all times, ψ on both": of_attend_at_all_times(True, True),
    "turn to all times": of_turn_to_all_times,
    "score pairs": of_score_pairs,
    "relu dot": of_relu_dot,
    "relu dot of both": of_relu_dot_both,
    "relu dot with a slope": of_relu_dot_sloped,
    "write messages": of_write_messages,
    "GRU": of_gru,
    "GRU with a message": of_gru_with_a_message,
    "GRU without a message": of_gru_without_a_message,
    "dropout": of_dropout,
    "add dropped": of_add_dropped,
    "feed forward": of_feed_forward(0.0),
    "feed forward, dropping": of_feed_forward(SHARE),
    "attend dropping": of_attend_dropping(masked=False),
    "attend dropping, masked": of_attend_dropping(masked=True),
    "counts of sequences": of_sequences(fading=False),
    "sums of sequences": of_sequences(fading=True),
}
