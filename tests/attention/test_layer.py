from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from operator import itemgetter
from typing import get_args

import pytest
import torch
from torch import Tensor

from keat.attention import KernelizedAttention, Modulate, NeighborFeatures
from keat.errors import KeatError, UnknownNameError
from keat.ops import mix_slots
from keat.time_encoding import Cosine

N, K, M, E, D, T, R, OUT, HEADS = 14, 6, 40, 50, 8, 5, 4, 12, 3
MODULATIONS: tuple[Modulate, ...] = get_args(Modulate)


def layer(modulate: Modulate = "edge", shared: bool = True, dropout: float = 0.0) -> KernelizedAttention:
    torch.manual_seed(1)
    return KernelizedAttention(D, T + R, OUT, HEADS, dropout, modulate, shared_edge_weights=shared)


def example(
    psi_heads: int = 1, dtype: torch.dtype = torch.float32, seed: int = 0
) -> tuple[Tensor, NeighborFeatures]:
    """Seeds with 0 to K neighbours, the first two with none."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)

    degree = torch.randint(0, K + 1, (N, 1), generator=generator)
    degree[:2] = 0
    near = NeighborFeatures(
        x=normal(M, D),
        index=torch.randint(0, M, (N, K), generator=generator),
        time=normal(N, K, T),
        mask=torch.arange(K).expand(N, K) < degree,
        psi=torch.rand(N, K, psi_heads, generator=generator, dtype=torch.float64).to(dtype),
        message=normal(E, R),
        event=torch.randint(0, E, (N, K), generator=generator),
    )
    return normal(N, D), near


def messages(near: NeighborFeatures) -> Tensor:
    """The message in each slot, (N, K, R)."""
    assert near.message is not None
    assert near.event is not None
    return near.message[near.event]


def kernel_weights(near: NeighborFeatures) -> Tensor:
    assert near.psi is not None
    return near.psi


def on_slots(near: NeighborFeatures, change: Callable[[Tensor], Tensor]) -> NeighborFeatures:
    """The same tables with every (N, K, …) tensor changed."""
    assert near.event is not None
    return replace(
        near,
        index=change(near.index),
        time=change(near.time),
        mask=change(near.mask),
        psi=change(kernel_weights(near)),
        event=change(near.event),
    )


def with_gradients(seeds: Tensor, near: NeighborFeatures) -> list[Tensor]:
    """The tensors a model may have learned, made leaves; messages stay data."""
    return [tensor.requires_grad_() for tensor in (seeds, near.x, near.time, kernel_weights(near))]


def by_loop(attention: KernelizedAttention, seeds: Tensor, near: NeighborFeatures) -> Tensor:
    """The definition, one seed, head and neighbour at a time."""
    c, all_psi, all_messages = OUT // HEADS, kernel_weights(near), messages(near)
    edge_value = attention.lin_edge_value or attention.lin_edge
    rows = []
    for n in range(len(seeds)):
        heads = []
        for h in range(HEADS):
            part = slice(h * c, (h + 1) * c)
            query = attention.lin_query(seeds[n])[part]
            logits, values = [], []
            for k in range(K):
                if near.mask[n, k]:
                    x = near.x[near.index[n, k]]
                    a = torch.cat([near.time[n, k], all_messages[n, k]])
                    psi = all_psi[n, k, min(h, all_psi.shape[2] - 1)]
                    on_node = psi if attention.modulate in ("node", "both") else 1.0
                    on_edge = psi if attention.modulate in ("edge", "both") else 1.0
                    key = on_node * attention.lin_key(x)[part] + on_edge * attention.lin_edge(a)[part]
                    logits.append(query @ key / math.sqrt(c))
                    values.append(on_node * attention.lin_value(x)[part] + on_edge * edge_value(a)[part])
            if logits:
                alpha = torch.stack(logits).softmax(0)
                heads.append((alpha.unsqueeze(1) * torch.stack(values)).sum(0))
            else:
                heads.append(torch.zeros(c, dtype=seeds.dtype))
        rows.append(torch.cat(heads) + attention.lin_skip(seeds[n]))
    return torch.stack(rows)


def assert_same_with_gradients(
    ours: Tensor, theirs: Tensor, our_leaves: list[Tensor], their_leaves: list[Tensor], tolerance: float
) -> None:
    torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)
    upstream = torch.randn(ours.shape, generator=torch.Generator().manual_seed(5), dtype=torch.float64).to(
        ours
    )
    pairs = [
        torch.autograd.grad(
            out, leaves, upstream, retain_graph=True, allow_unused=True, materialize_grads=True
        )
        for out, leaves in ((ours, our_leaves), (theirs, their_leaves))
    ]
    for mine, reference in zip(*pairs, strict=True):
        torch.testing.assert_close(mine, reference, rtol=10 * tolerance, atol=10 * tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("psi_heads", [1, HEADS])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("modulate", MODULATIONS)
def test_equals_the_definition_with_gradients(
    modulate: Modulate, shared: bool, psi_heads: int, dtype: torch.dtype
) -> None:
    attention = layer(modulate, shared).to(dtype)
    seeds, near = example(psi_heads, dtype)
    leaves = [*with_gradients(seeds, near), *attention.parameters()]
    out, expected = attention(seeds, near), by_loop(attention, seeds, near)
    assert_same_with_gradients(out, expected, leaves, leaves, 1e-5 if dtype == torch.float32 else 1e-11)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("seed", range(3))
def test_equals_transformer_conv_with_scaled_edge_features(dtype: torch.dtype, seed: int) -> None:
    conv_class = pytest.importorskip("torch_geometric.nn").TransformerConv
    conv = conv_class(D, OUT // HEADS, heads=HEADS, edge_dim=T + R).to(dtype)
    attention = layer().to(dtype)
    attention.load_state_dict(conv.state_dict())
    seeds, near = example(dtype=dtype, seed=seed)
    leaves = with_gradients(seeds, near)

    n, k = near.mask.nonzero(as_tuple=True)
    edge = torch.cat([near.time[n, k], messages(near)[n, k]], dim=1) * kernel_weights(near)[n, k]
    towards_seed = torch.stack([near.index[n, k] + N, n])  # neighbour → seed, seeds numbered first
    expected = conv(torch.cat([seeds, near.x]), towards_seed, edge)[:N]

    names = [name for name, _ in attention.named_parameters()]
    theirs = dict(conv.named_parameters())
    assert_same_with_gradients(
        attention(seeds, near),
        expected,
        [*leaves, *attention.parameters()],
        [*leaves, *(theirs[name] for name in names)],
        2e-5 if dtype == torch.float32 else 1e-11,
    )


def test_dropout_falls_on_alpha_and_keeps_its_gradient() -> None:
    attention = layer("both").double()
    seeds, near = example(HEADS, torch.float64)
    keep = torch.nn.functional.dropout(torch.ones(N, HEADS, K, dtype=torch.float64), 0.4)
    leaves = with_gradients(seeds, near)
    probe = attention.probe(seeds)
    mixed = mix_slots(probe, near, near.psi, near.psi, keep)

    psi = kernel_weights(near).transpose(1, 2)
    present = near.mask.unsqueeze(1)
    x, edge = near.x[near.index], torch.cat([near.time, messages(near)], -1)
    node_logit = torch.einsum("nhd,nkd->nhk", probe.node, x) + probe.constant.unsqueeze(-1)
    logit = psi * (node_logit + torch.einsum("nhe,nke->nhk", probe.edge, edge))
    alpha = logit.masked_fill(~present, -1e300).softmax(-1) * present
    weight = psi * alpha * keep
    for ours, expected in (
        (mixed.node, torch.einsum("nhk,nkd->nhd", weight, x)),
        (mixed.mass, weight.sum(-1)),
        (mixed.edge, torch.einsum("nhk,nke->nhe", weight, edge)),
    ):
        assert_same_with_gradients(ours, expected, leaves, leaves, 1e-11)


def test_dropout_only_in_training() -> None:
    attention = layer(dropout=0.5)
    seeds, near = example()
    out = attention.eval()(seeds, near)
    assert torch.equal(out, attention(seeds, near))
    assert torch.equal(out, layer(dropout=0.0)(seeds, near))
    assert not torch.allclose(out, attention.train()(seeds, near))


@pytest.mark.parametrize("modulate", MODULATIONS)
def test_psi_of_one_is_the_unmodulated_model_bit_for_bit(modulate: Modulate) -> None:
    seeds, near = example(HEADS)
    plain = layer("none")(seeds, replace(near, psi=None))
    ones = torch.ones_like(kernel_weights(near))
    assert torch.equal(layer(modulate)(seeds, replace(near, psi=ones)), plain)
    assert torch.equal(layer(modulate)(seeds, replace(near, psi=ones[..., :1])), plain)
    assert torch.equal(layer("none")(seeds, near), plain)


def test_absent_slots_have_no_influence() -> None:
    attention = layer()
    seeds, near = example()
    assert near.event is not None
    absent = ~near.mask
    poisoned = replace(
        near,
        x=torch.cat([near.x, torch.full((1, D), math.nan)]),
        index=near.index.masked_fill(absent, M),
        time=near.time.masked_fill(absent.unsqueeze(-1), -1e30),
        psi=kernel_weights(near).masked_fill(absent.unsqueeze(-1), 1e30),
        event=near.event.masked_fill(absent, -1),
    )
    clean_leaves, leaves = with_gradients(seeds, near), with_gradients(seeds, poisoned)
    clean, out = attention(seeds, near), attention(seeds, poisoned)
    assert torch.equal(out, clean)
    gradients = torch.autograd.grad(out.square().sum(), leaves)
    for ours, clean_gradient in zip(
        gradients, torch.autograd.grad(clean.square().sum(), clean_leaves), strict=True
    ):
        assert torch.equal(ours[: len(clean_gradient)], clean_gradient)
        assert (ours[len(clean_gradient) :] == 0).all()


def test_slots_outside_the_tables_are_refused() -> None:
    seeds, near = example()
    assert near.event is not None
    for wrong in (replace(near, index=near.index + M), replace(near, event=near.event - E)):
        with pytest.raises(IndexError):
            layer()(seeds, wrong)


def test_seeds_without_neighbours_get_the_skip_only() -> None:
    attention = layer()
    seeds, near = example()
    alone = ~near.mask.any(1)
    assert alone.sum() >= 2
    assert torch.equal(attention(seeds, near)[alone], attention.lin_skip(seeds)[alone])


def test_before_the_first_event_there_is_nothing_to_attend_to() -> None:
    attention = layer()
    seeds, near = example()
    assert near.message is not None
    nothing = replace(near, x=near.x[:0], message=near.message[:0], mask=torch.zeros_like(near.mask))
    assert torch.equal(attention(seeds, nothing), attention.lin_skip(seeds))


def test_no_seeds_at_all() -> None:
    seeds, near = example()
    assert layer()(seeds[:0], on_slots(near, lambda slots: slots[:0])).shape == (0, OUT)


def test_order_of_neighbours_does_not_matter() -> None:
    attention = layer()
    seeds, near = example(HEADS)
    order = torch.randperm(K)
    shuffled = on_slots(near, lambda slots: slots[:, order])
    torch.testing.assert_close(attention(seeds, shuffled), attention(seeds, near), rtol=1e-5, atol=1e-6)


def test_edge_and_node_features_reach_the_seeds() -> None:
    # An edge list turned round once left the attention of a published library without effect for a year.
    attention = layer()
    seeds, near = example()
    assert near.message is not None
    has_neighbours = near.mask.any(1)
    out = attention(seeds, near)
    for silenced in (
        replace(near, time=torch.zeros_like(near.time)),
        replace(near, message=torch.zeros_like(near.message)),
        replace(near, psi=torch.zeros_like(near.time[..., :1])),
        replace(near, x=torch.zeros_like(near.x)),
    ):
        change = (attention(seeds, silenced) - out).abs().amax(1)
        assert (change[has_neighbours] > 1e-3).all()
        assert (change[~has_neighbours] == 0).all()


@pytest.mark.parametrize("modulate", MODULATIONS)
def test_explanation_recomposes_the_output(modulate: Modulate) -> None:
    attention = layer(modulate)
    seeds, near = example(HEADS)
    out, parts = attention.explain(seeds, near)
    assert torch.equal(out, attention(seeds, near))
    for tensor in (parts.node_logit, parts.edge_logit, parts.psi, parts.alpha):
        assert tensor.shape == (N, K, HEADS)
        assert (tensor[~near.mask] == 0).all()

    on_node = parts.psi if modulate in ("node", "both") else torch.ones_like(parts.psi)
    on_edge = parts.psi if modulate in ("edge", "both") else torch.ones_like(parts.psi)
    logit = on_node * parts.node_logit + on_edge * parts.edge_logit
    logit = logit.masked_fill(~near.mask.unsqueeze(-1), -math.inf)
    torch.testing.assert_close(parts.alpha, logit.softmax(1).nan_to_num(0))

    value = attention.lin_value(near.x)[near.index].unflatten(-1, (HEADS, -1))
    edge = torch.cat([near.time, messages(near)], -1)
    edge_value = attention.lin_edge(edge).unflatten(-1, (HEADS, -1))
    mixed = on_node.unsqueeze(-1) * value + on_edge.unsqueeze(-1) * edge_value
    total = (parts.alpha.unsqueeze(-1) * mixed).sum(1).flatten(1)
    torch.testing.assert_close(attention.lin_skip(seeds) + total, out, rtol=1e-4, atol=1e-5)


def test_explanation_leaves_dropout_out_of_alpha() -> None:
    attention = layer(dropout=0.5).train()
    seeds, near = example()
    _, parts = attention.explain(seeds, near)
    expected = near.mask.any(1).float().unsqueeze(1).expand(-1, HEADS)
    torch.testing.assert_close(parts.alpha.sum(1), expected)


def test_messages_are_optional_and_default_to_slot_order() -> None:
    seeds, near = example()
    assert near.message is not None
    in_slots = replace(near, message=messages(near).flatten(0, 1), event=None)
    assert torch.equal(layer()(seeds, in_slots), layer()(seeds, near))

    without = replace(near, message=None, event=None)
    narrow = KernelizedAttention(D, T, OUT, HEADS, dropout=0.0)
    wide = layer()
    wide.load_state_dict(
        {**narrow.state_dict(), "lin_edge.weight": torch.cat([narrow.lin_edge.weight, torch.ones(OUT, R)], 1)}
    )
    silent = replace(near, message=torch.zeros_like(near.message))
    torch.testing.assert_close(narrow(seeds, without), wide(seeds, silent))
    assert torch.equal(narrow(seeds, replace(near, message=near.message[:, :0])), narrow(seeds, without))


def test_learned_messages_get_their_gradient() -> None:
    seeds, near = example()
    assert near.message is not None
    near.message.requires_grad_()
    attention = layer()
    (gradient,) = torch.autograd.grad(attention(seeds, near).sum(), near.message)
    assert gradient.abs().sum() > 0


def test_a_seed_scores_the_same_alone_and_in_company() -> None:
    attention = layer()
    seeds, near = example()
    out = attention(seeds, near)
    for n in range(N):
        alone = on_slots(near, itemgetter(slice(n, n + 1)))
        torch.testing.assert_close(attention(seeds[n : n + 1], alone), out[n : n + 1], rtol=1e-5, atol=1e-6)


@pytest.mark.usefixtures("bfloat16")
def test_runs_in_bfloat16_autocast() -> None:
    attention = layer()
    seeds, near = example()
    leaves = with_gradients(seeds, near)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = attention(seeds, near)
    torch.testing.assert_close(out.float(), attention(seeds, near), rtol=0.1, atol=0.1)
    assert all(gradient.isfinite().all() for gradient in torch.autograd.grad(out.float().sum(), leaves))


def test_parameter_count_of_the_paper() -> None:
    attention = KernelizedAttention(node_dim=100, edge_dim=272, out_dim=100)
    count = sum(p.numel() for p in attention.parameters())
    assert count == 67_600
    assert count + sum(p.numel() for p in Cosine(100).parameters()) == 67_800
    separate = KernelizedAttention(100, 272, 100, shared_edge_weights=False)
    assert sum(p.numel() for p in separate.parameters()) == 67_600 + 27_200


def test_mistakes_are_named() -> None:
    with pytest.raises(KeatError, match="3 heads cannot share 100"):
        KernelizedAttention(100, 272, 100, heads=3)
    with pytest.raises(UnknownNameError, match="did you mean 'edge'"):
        KernelizedAttention(100, 272, 100, modulate="edges")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("x", lambda x: x[:, 1:]),
        ("index", lambda index: index[:, 1:]),
        ("event", lambda event: event[1:]),
        ("time", lambda time: time[..., 1:]),
        ("psi", lambda psi: psi.expand(-1, -1, 2)),
    ],
)
def test_wrong_shapes_are_named(field: str, change: Callable[[Tensor], Tensor]) -> None:
    seeds, near = example()
    wrong = {field: change(getattr(near, field))}
    with pytest.raises(ValueError, match=f"`{field}` has shape"):
        layer()(seeds, replace(near, **wrong))
    with pytest.raises(ValueError, match="`seeds` has shape"):
        layer()(seeds[1:], near)
