"""`keat.patch` is manual scaling of the edge part, to the bit; `keat.unpatch` leaves no trace."""

from __future__ import annotations

import copy
import math
import pickle
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import keat
from keat.errors import InputError
from keat.kernels import KERNELS, RBF, Kernel, Laplacian, LearnableLaplacian, Mixture, create_kernel
from patched_models import LAYERS, NODES, OneLayer, assert_same, gradients, graph, pyg, traces

tgn = pytest.importorskip("torch_geometric.nn.models.tgn", reason="keat.patch is for torch_geometric")

PAGE = Path(__file__).parents[1] / "docs" / "use" / "patch.md"


@pytest.fixture(params=LAYERS)
def model(request: pytest.FixtureRequest) -> OneLayer:
    torch.manual_seed(0)
    return OneLayer(LAYERS[request.param]())


@pytest.fixture
def transformer() -> OneLayer:
    torch.manual_seed(0)
    return OneLayer(LAYERS["transformer"]())


@pytest.mark.parametrize("kernel", [Laplacian(80_000.0), RBF(80_000.0, width=2.0)], ids=["laplacian", "rbf"])
def test_a_patch_is_manual_scaling(model: OneLayer, kernel: Kernel) -> None:
    inputs = graph()
    psi = kernel(inputs["age"])
    plain_out, _ = gradients(model, inputs)
    by_hand, grads_by_hand = gradients(model, {**inputs, "edge_attr": psi * inputs["edge_attr"]})
    grads_by_hand["edge_attr"] = psi * grads_by_hand["edge_attr"]
    patched, grads = gradients(keat.patch(model, kernel, delta="age"), inputs)
    assert torch.equal(patched, by_hand)
    assert not torch.allclose(patched, plain_out, atol=1e-4)
    assert_same(grads, grads_by_hand)


@pytest.mark.parametrize("name", ["laplacian", "rbf", "identity"])
def test_an_infinite_width_is_the_plain_model(model: OneLayer, name: str) -> None:
    inputs = graph()
    out, grads = gradients(model, inputs)
    patched, patched_grads = gradients(
        keat.patch(model, create_kernel(name, 1.0, math.inf), delta="age"), inputs
    )
    assert torch.equal(patched, out)
    assert_same(patched_grads, grads)


def test_the_logit_is_node_part_plus_psi_times_edge_part(transformer: OneLayer) -> None:
    """The paper's formula, computed without PyG's message passing: q·(k_j + ψe) and v_j + ψe."""
    inputs, kernel, conv = graph(), Laplacian(80_000.0), transformer.layer
    assert isinstance(conv, pyg.TransformerConv)
    x, (source, target) = inputs["x"], inputs["edge_index"]
    edge = (kernel(inputs["age"]) * conv.lin_edge(inputs["edge_attr"])).view(-1, 2, 4)
    query, key, value = (lin(x).view(-1, 2, 4) for lin in (conv.lin_query, conv.lin_key, conv.lin_value))
    weight = ((query[target] * (key[source] + edge)).sum(-1) / 2).exp()  # √4 = 2
    total = torch.zeros(NODES, 2).index_add(0, target, weight)
    message = (weight / total[target]).unsqueeze(-1) * (value[source] + edge)
    expected = torch.zeros(NODES, 2, 4).index_add(0, target, message).flatten(1) + conv.lin_skip(x)
    torch.testing.assert_close(keat.patch(transformer, kernel, delta="age")(**inputs), expected)


def test_self_loops_are_made_of_faded_evidence() -> None:
    """GAT fills a loop with the mean of what comes in: of ψe, or old evidence would come back through it."""
    edge_index, edge_attr = torch.tensor([[0, 1], [2, 2]]), torch.tensor([[4.0], [8.0]])
    conv = pyg.GATConv(3, 2, edge_dim=1)
    x, ancient = torch.randn(3, 3), torch.tensor([10**9, 10**9])
    keat.patch(conv, Laplacian(1.0), delta=lambda: ancient)
    assert torch.equal(conv(x, edge_index, edge_attr), keat.unpatch(conv)(x, edge_index, 0 * edge_attr))


def test_a_constant_fill_value_has_no_age() -> None:
    conv = pyg.GATv2Conv(3, 2, edge_dim=1, fill_value=0.7)
    x, edge_index, edge_attr = (
        torch.randn(3, 3),
        torch.tensor([[0, 1], [2, 2]]),
        torch.ones(2),
    )  # (E,) is allowed
    ancient = torch.tensor([10**9, 10**9])
    keat.patch(conv, Laplacian(1.0), delta=lambda: ancient)
    patched, (loops, alpha) = conv(x, edge_index, edge_attr, return_attention_weights=True)
    keat.unpatch(conv)
    plain, (_, plain_alpha) = conv(x, edge_index, torch.zeros(2), return_attention_weights=True)
    assert loops.shape == (2, 5)
    assert torch.equal(patched, plain)
    assert torch.equal(alpha, plain_alpha)


def test_nothing_of_the_callers_is_changed(transformer: OneLayer) -> None:
    inputs = graph()
    before = {name: value.clone() for name, value in inputs.items()}
    keat.patch(transformer, Laplacian(80_000.0), delta="age")(**inputs)
    assert_same(inputs, before)


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_in_a_patched_model(transformer: OneLayer, name: str) -> None:
    inputs, kernel = graph(), create_kernel(name, 80_000.0)
    with torch.no_grad():
        by_hand = transformer(**{**inputs, "edge_attr": kernel(inputs["age"]) * inputs["edge_attr"]})
    keat.patch(transformer, kernel, delta="age")
    assert torch.equal(transformer(**inputs), by_hand)


# -- state -------------------------------------------------------------------------------------------------


def test_the_state_dict_of_a_model_stays_as_it_is(model: OneLayer, tmp_path: Path) -> None:
    before = {name: value.clone() for name, value in model.state_dict().items()}
    parameters = [id(one) for one in model.parameters()]
    keat.patch(model, Laplacian(80_000.0), delta="age")
    assert list(model.state_dict()) == list(before)
    assert_same(model.state_dict(), before)
    assert [id(one) for one in model.parameters()] == parameters
    torch.save(model.state_dict(), tmp_path / "model.pt")
    fresh = OneLayer(copy.deepcopy(keat.unpatch(model)).layer)
    fresh.load_state_dict(torch.load(tmp_path / "model.pt", weights_only=True))
    assert_same(fresh.state_dict(), before)


@pytest.mark.parametrize("kernel", [Laplacian(80_000.0), Mixture(80_000.0)], ids=["fixed", "learned"])
def test_unpatch_leaves_no_trace(model: OneLayer, kernel: Kernel) -> None:
    inputs = graph()
    out, grads = gradients(model, inputs)
    before = traces(model)
    keat.patch(model, kernel, delta="age")(**inputs)
    assert traces(model) != before
    assert keat.unpatch(model) is model
    model.zero_grad()
    assert traces(model) == before
    restored, restored_grads = gradients(model, inputs)
    assert torch.equal(restored, out)
    assert_same(restored_grads, grads)
    assert keat.patch(model, kernel, delta="age") is model  # and it can be patched again


def test_a_learned_kernel_is_found_by_optimizers_and_checkpoints(transformer: OneLayer) -> None:
    inputs = graph()
    before = list(transformer.state_dict())
    kernel = LearnableLaplacian(80_000.0)
    keat.patch(transformer, kernel, delta="age")
    assert set(transformer.state_dict()) - set(before) == {"keat_kernel.log_width", "keat_kernel.sigma"}
    optimizer = torch.optim.SGD(transformer.parameters(), lr=0.1)
    transformer(**inputs).square().sum().backward()
    optimizer.step()
    assert kernel.log_width.item() != 0.0
    keat.unpatch(transformer)
    assert list(transformer.state_dict()) == before


def test_a_copy_is_a_patched_model_of_its_own(transformer: OneLayer) -> None:
    inputs = graph()
    plain = transformer(**inputs)
    out = keat.patch(transformer, LearnableLaplacian(80_000.0), delta="age")(**inputs)
    twin = copy.deepcopy(transformer)
    assert torch.equal(twin(**inputs), out)
    with torch.no_grad():
        twin.get_parameter("keat_kernel.log_width").fill_(5.0)
    assert not torch.equal(twin(**inputs), out)
    assert torch.equal(transformer(**inputs), out)
    keat.unpatch(twin)
    assert torch.equal(twin(**inputs), plain)
    assert torch.equal(transformer(**inputs), out)


def test_a_patched_model_can_be_pickled_whole(transformer: OneLayer) -> None:
    inputs = graph()
    out = keat.patch(transformer, Laplacian(80_000.0), delta="age")(**inputs)
    again = pickle.loads(pickle.dumps(transformer))
    assert torch.equal(again(**inputs), out)
    keat.unpatch(again)


def test_layers_that_share_their_edge_projection_are_scaled_once_each() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = pyg.TransformerConv(6, 3, heads=2, edge_dim=5)
            self.second = pyg.TransformerConv(6, 3, heads=2, edge_dim=5)
            self.second.lin_edge = self.first.lin_edge
            self.again = self.first  # one layer under two names

        def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor, age: Tensor | None) -> Tensor:  # noqa: ARG002
            for layer in (self.first, self.second, self.again):
                x = layer(x, edge_index, edge_attr)
            return x

    torch.manual_seed(0)
    model, inputs, kernel = Two(), graph(), Laplacian(80_000.0)
    by_hand = model(**{**inputs, "edge_attr": kernel(inputs["age"]) * inputs["edge_attr"]})
    assert torch.equal(keat.patch(model, kernel, delta="age")(**inputs), by_hand)


# -- how the ages arrive -------------------------------------------------------------------------------------


def test_delta_may_be_any_function_of_forwards_arguments(transformer: OneLayer) -> None:
    inputs, kernel = graph(), Laplacian(80_000.0)
    expected = keat.patch(transformer, kernel, delta="age")(**inputs)
    positional = (inputs["x"], inputs["edge_index"], inputs["edge_attr"])
    clock = inputs["age"] + 7
    deltas: list[Callable[..., Tensor]] = [
        lambda age: age.unsqueeze(1),  # (E, 1) is as good as (E,)
        lambda age, edge_index, offset=0: age + 0 * edge_index[0] + offset,
        lambda: inputs["age"],
        lambda *, age, now=clock: now - (now - age),
    ]
    for delta in deltas:
        keat.patch(keat.unpatch(transformer), kernel, delta=delta)
        assert torch.equal(transformer(*positional, inputs["age"]), expected)
        assert torch.equal(transformer(*positional, age=inputs["age"]), expected)


def test_the_age_as_a_column_of_edge_attr_in_a_model_of_pygs() -> None:
    torch.manual_seed(0)
    model = pyg.GAT(6, 8, num_layers=2, heads=2, edge_dim=5).eval()
    inputs, kernel = graph(), Laplacian(1.0)
    x, edge_index, edge_attr = inputs["x"], inputs["edge_index"], inputs["edge_attr"].abs()
    by_hand = model(x, edge_index, edge_attr=kernel(edge_attr[:, -1]) * edge_attr)
    keat.patch(model, kernel, delta=lambda edge_attr: edge_attr[:, -1])
    assert torch.equal(model(x, edge_index, edge_attr=edge_attr), by_hand)


def test_pygs_sequential_and_forwards_that_take_any_name() -> None:
    inputs, kernel = graph(), Laplacian(80_000.0)
    conv = pyg.GATv2Conv(6, 4, edge_dim=5)
    row = pyg.Sequential("x, edge_index, edge_attr, age", [(conv, "x, edge_index, edge_attr -> x")])
    out = keat.patch(row, kernel, delta="age")(*inputs.values())
    keat.unpatch(row)

    class Wrapper(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = conv

        def forward(self, x: Tensor, edge_index: Tensor, **rest: Tensor) -> Tensor:
            result: Tensor = self.conv(x, edge_index, rest["edge_attr"])
            return result

    model = keat.patch(Wrapper(), kernel, delta="age")
    assert torch.equal(model(**inputs), out)
    with pytest.raises(InputError, match="Wrapper was called without 'age', which delta needs"):
        model(inputs["x"], inputs["edge_index"], edge_attr=inputs["edge_attr"])


def test_a_call_without_edge_attr_has_no_edge_part() -> None:
    inputs, model = graph(), OneLayer(pyg.GATConv(6, 4, edge_dim=5))
    no_edge_part = {**inputs, "edge_attr": None}
    plain = model(**no_edge_part)
    assert torch.equal(keat.patch(model, Laplacian(1.0), delta="age")(**no_edge_part), plain)


class GraphAttentionEmbedding(nn.Module):
    """The shape of PyG's TGN example: the age is made inside forward, and never reaches the layer."""

    def __init__(self, in_channels: int, out_channels: int, msg_dim: int, time_enc: nn.Module) -> None:
        super().__init__()
        self.time_enc = time_enc
        edge_dim = msg_dim + 8
        self.conv = pyg.TransformerConv(
            in_channels, out_channels // 2, heads=2, dropout=0.1, edge_dim=edge_dim
        )

    def edge_part(self, last_update: Tensor, edge_index: Tensor, t: Tensor, msg: Tensor) -> Tensor:
        age = last_update[edge_index[0]] - t
        return torch.cat([self.time_enc(age.to(msg.dtype)), msg], dim=-1)

    def forward(self, x: Tensor, last_update: Tensor, edge_index: Tensor, t: Tensor, msg: Tensor) -> Tensor:
        out: Tensor = self.conv(x, edge_index, self.edge_part(last_update, edge_index, t, msg))
        return out


class KernelizedEmbedding(GraphAttentionEmbedding):
    """The same, edited by hand as the authors of KEAT did it."""

    def edge_part(self, last_update: Tensor, edge_index: Tensor, t: Tensor, msg: Tensor) -> Tensor:
        age = last_update[edge_index[0]] - t
        return torch.exp(-age / 500.0).unsqueeze(-1) * super().edge_part(last_update, edge_index, t, msg)


def train_tgn(
    embedding: type[GraphAttentionEmbedding], patched: bool
) -> tuple[list[float], dict[str, Tensor]]:
    """Some steps of PyG's example: memory, last neighbours, embedding, score of true and random pairs."""
    nodes, msg_dim, channels = 20, 4, 8
    draw = torch.Generator().manual_seed(0)
    src, dst, other = torch.randint(0, nodes, (3, 120), generator=draw)
    t, msg = torch.arange(120) * 30, torch.randn(120, msg_dim, generator=draw)
    torch.manual_seed(1)
    message, aggregator = tgn.IdentityMessage(msg_dim, channels, 8), tgn.LastAggregator()
    memory = tgn.TGNMemory(nodes, msg_dim, channels, 8, message, aggregator)
    gnn = embedding(channels, channels, msg_dim, memory.time_enc)
    if patched:
        keat.patch(
            gnn, Laplacian(500.0), delta=lambda last_update, edge_index, t: last_update[edge_index[0]] - t
        )
    loader = tgn.LastNeighborLoader(nodes, size=5)
    optimizer = torch.optim.Adam({*memory.parameters(), *gnn.parameters()}, lr=0.01)
    losses: list[float] = []
    place = torch.empty(nodes, dtype=torch.long)
    for batch in torch.arange(120).view(6, 20):
        optimizer.zero_grad()
        n_id, edge_index, e_id = loader(torch.unique(torch.cat([src[batch], dst[batch], other[batch]])))
        place[n_id] = torch.arange(len(n_id))
        z, last_update = memory(n_id)
        z = gnn(z, last_update, edge_index, t[e_id], msg[e_id])
        own, true, false = (z[place[one[batch]]] for one in (src, dst, other))
        loss: Tensor = nn.functional.softplus((own * false).sum(-1) - (own * true).sum(-1)).mean()
        memory.update_state(src[batch], dst[batch], t[batch], msg[batch])
        loader.insert(src[batch], dst[batch])
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        memory.detach()
        losses.append(loss.item())
    return losses, dict(gnn.state_dict())


def test_pygs_tgn_example_without_a_change_to_its_code() -> None:
    losses, state = train_tgn(GraphAttentionEmbedding, patched=True)
    losses_by_hand, state_by_hand = train_tgn(KernelizedEmbedding, patched=False)
    plain_losses, _ = train_tgn(GraphAttentionEmbedding, patched=False)
    torch.testing.assert_close(losses, losses_by_hand)
    torch.testing.assert_close(state, state_by_hand)
    assert losses != pytest.approx(plain_losses, rel=1e-4)


def test_layers_that_see_other_edges_are_patched_by_themselves() -> None:
    """With trimming, PyG's later layers get fewer edges; each then reads the age from its own edge_attr."""
    torch.manual_seed(0)
    model = pyg.GAT(6, 8, num_layers=2, heads=2, edge_dim=5, add_self_loops=False).eval()
    inputs, kernel = graph(), Laplacian(1.0)
    ages = inputs["edge_attr"][:, 0].abs()
    edge_attr = torch.cat([ages.unsqueeze(1), inputs["edge_attr"][:, 1:]], dim=1)
    trimmed = {"num_sampled_nodes_per_hop": [4, 3, 2], "num_sampled_edges_per_hop": [25, 15]}
    edge_index = torch.stack([inputs["edge_index"][0], inputs["edge_index"][1] % 4])
    edge_index[0, :25] %= 7
    call = {"x": inputs["x"], "edge_index": edge_index, **trimmed}
    by_hand = model(edge_attr=kernel(ages) * edge_attr, **call)
    keat.patch(model, kernel, delta=lambda edge_attr: edge_attr[:, 0])
    with pytest.raises(
        InputError, match=r"with 25 edges, but delta gave 40 ages; .* patch each layer by itself"
    ):
        model(edge_attr=edge_attr, **call)
    keat.unpatch(model)
    for conv in model.convs:
        keat.patch(conv, kernel, delta=lambda edge_attr: edge_attr[:, 0])
    assert torch.equal(model(edge_attr=edge_attr, **call), by_hand)
    keat.unpatch(model)


def test_layers_without_edge_features_are_left_alone() -> None:
    class Mixed(OneLayer):
        def __init__(self) -> None:
            super().__init__(pyg.TransformerConv(6, 6, edge_dim=5))
            self.smooth = pyg.SAGEConv(6, 6)
            self.weigh = pyg.GCNConv(6, 6)

        def forward(
            self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, age: Tensor | None
        ) -> Tensor:
            x = self.weigh(self.smooth(x, edge_index), edge_index)
            return super().forward(x, edge_index, edge_attr, age)

    inputs, model, kernel = graph(), Mixed(), Laplacian(80_000.0)
    by_hand = model(**{**inputs, "edge_attr": kernel(inputs["age"]) * inputs["edge_attr"]})
    assert torch.equal(keat.patch(model, kernel, delta="age")(**inputs), by_hand)


def test_a_subclass_that_keeps_the_arithmetic_is_patched() -> None:
    class Narrow(pyg.GATConv):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(6, 1, edge_dim=5)

    assert keat.patch(Narrow(), Laplacian(1.0), delta=lambda edge_attr: edge_attr[:, 0])


def test_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    code = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.S | re.M)
    assert len(code) > 3
    names: dict[str, object] = {}  # the blocks of the page go on from each other
    for block in code:
        exec(compile(block, PAGE.name, "exec"), names)
    printed = capsys.readouterr().out.splitlines()
    promised = re.findall(r"print\(.*\)  # (.+)$", "\n".join(code), re.M)
    assert printed == promised
