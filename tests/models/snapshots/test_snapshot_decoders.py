"""Ranking from a table against the same decoder, pair by pair."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from keat.models.snapshots.snapshot_decoders import (
    AdditiveDecoder,
    DistanceDecoder,
    ProductDecoder,
    TableDecoder,
)

DIM, NODES = 6, 20
DECODERS: dict[str, Callable[[], TableDecoder]] = {
    "additive": lambda: AdditiveDecoder(DIM),
    "product": lambda: ProductDecoder(DIM, 0.2),
    "distance": DistanceDecoder,
}


@pytest.fixture(params=DECODERS)
def decoder(request: pytest.FixtureRequest) -> TableDecoder:
    torch.manual_seed(2)
    return DECODERS[request.param]().eval()


def test_ranking_is_decoding_pair_by_pair(decoder: TableDecoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """For lists that all share and for lists of their own, with duplicates and with the source itself."""
    monkeypatch.setattr("keat.models.snapshots.snapshot_decoders.PAIRS_AT_ONCE", 7)
    z = torch.randn(NODES, DIM)
    src = torch.tensor([3, 3, 0, 19])
    own = torch.randint(0, NODES, (4, 9))
    own[:, 0], own[:, 5] = src, own[:, 4]
    with torch.no_grad():
        table = decoder.project(z)
        for dst in (own, own[0]):
            ranked = decoder.rank(table, src, dst)
            assert ranked.shape == (4, 9)
            for i, row in enumerate(dst.expand(4, 9).tolist()):
                for j, node in enumerate(row):
                    alone = decoder.pairs(z[[int(src[i]), node]], torch.tensor([0]), torch.tensor([[1]]))
                    torch.testing.assert_close(ranked[i, j], alone[0, 0])


def test_the_product_and_the_distance_do_not_ask_who_is_the_source() -> None:
    z, one, other = torch.randn(NODES, DIM), torch.arange(10), torch.arange(10, 20)
    for made in (ProductDecoder(DIM, 0.0), DistanceDecoder()):
        table = made.project(z)
        torch.testing.assert_close(
            made.decode(table[one], table[other]), made.decode(table[other], table[one])
        )


def test_a_node_is_as_likely_to_meet_itself_as_fermi_and_dirac_say() -> None:
    decoder, z = DistanceDecoder(), torch.randn(NODES, DIM)
    logits = decoder.decode(decoder.project(z), decoder.project(z))
    torch.testing.assert_close(torch.sigmoid(logits), torch.full((NODES,), 0.880797), atol=1e-6, rtol=0)
