"""Products with a snapshot's adjacency against dense matrices, and their gradients."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from keat.kernels import create_kernel
from keat.models.snapshots.snapshot_graph import SnapshotGraph
from keat.state import SnapshotEdges

NODES, DIM = 6, 4
PAIRS = [(0, 1, 2.0), (0, 2, 5.0), (1, 2, 0.0), (1, 2, 9.0), (3, 4, 1.0)]  # node 5 has none


def edges() -> SnapshotEdges:
    both = sorted([(a, b, age) for a, b, age in PAIRS] + [(b, a, age) for a, b, age in PAIRS])
    node, other, age = (torch.tensor(column) for column in zip(*both, strict=True))
    return SnapshotEdges(torch.searchsorted(node, torch.arange(NODES + 1)), node, other, age.double())


def dense(weight: Tensor, loops: bool) -> Tensor:
    known = edges()
    a = torch.zeros(NODES, NODES).index_put((known.node, known.other), weight, accumulate=True)
    if loops:
        a = a + torch.eye(NODES)
        scale = a.abs().sum(1).rsqrt()
    else:
        scale = a.abs().sum(1).clamp(min=1).rsqrt()
    return scale[:, None] * a * scale


@pytest.mark.parametrize("kernel", ["identity", "laplacian", "learnable", "mlp-unbounded"])
@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("asked", [None, [4, 0, 0, 5]])
def test_products_and_gradients_are_those_of_the_matrix(
    kernel: str, loops: bool, asked: list[int] | None
) -> None:
    torch.manual_seed(1)
    psi, x = create_kernel(kernel, 3.0), torch.randn(NODES, DIM, requires_grad=True)
    rows = None if asked is None else torch.tensor(asked)
    learned = [x, *psi.parameters()]

    def ours() -> Tensor:
        graph = SnapshotGraph.of(edges(), psi)
        return graph.with_loops(x, rows) if loops else graph.without_loops(x, rows)

    def plainly() -> Tensor:
        product = dense(psi(edges().age)[:, 0], loops) @ x
        return product if rows is None else product[rows]

    torch.testing.assert_close(ours(), plainly())
    gradients = [torch.autograd.grad(way().square().sum(), learned) for way in (ours, plainly)]
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other)


def test_evidence_that_has_faded_is_gone_also_where_all_has() -> None:
    """Without loops a plain degree would divide a common decay away."""
    x = torch.randn(NODES, DIM)
    old = edges()._replace(age=torch.full((2 * len(PAIRS),), 50.0, dtype=torch.float64))
    faded = SnapshotGraph.of(old, create_kernel("laplacian", 0.1))
    torch.testing.assert_close(faded.without_loops(x), torch.zeros_like(x))
    torch.testing.assert_close(faded.with_loops(x), x)


def test_strangers_have_no_edges() -> None:
    graph, x = SnapshotGraph.of(edges(), create_kernel("identity", 1.0), 2), torch.randn(NODES + 2, DIM)
    torch.testing.assert_close(graph.with_loops(x)[NODES:], x[NODES:])
    known = SnapshotGraph.of(edges(), create_kernel("identity", 1.0)).with_loops(x[:NODES])
    assert torch.equal(graph.with_loops(x)[:NODES], known)


def test_a_graph_without_edges() -> None:
    nothing = torch.zeros(0, dtype=torch.int64)
    empty = SnapshotEdges(torch.zeros(NODES + 1, dtype=torch.int64), nothing, nothing, nothing.double())
    graph, x = SnapshotGraph.of(empty, create_kernel("laplacian", 1.0)), torch.randn(NODES, DIM)
    assert torch.equal(graph.with_loops(x), x)
    assert torch.equal(graph.without_loops(x, torch.tensor([1, 1])), torch.zeros(2, DIM))
