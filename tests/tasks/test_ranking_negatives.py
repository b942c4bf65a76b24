from pathlib import Path

import numpy as np
import pytest
import torch
from tgb.linkproppred.negative_generator import NegativeEdgeGenerator
from tgb.utils.utils import load_pkl
from torch_geometric.data import TemporalData

from conftest import MakeStream
from keat.errors import InputError
from keat.events import EventStream
from keat.events.splitting import split
from keat.tasks import ranking_negatives
from keat.tasks.ranking_negatives import sample_negatives

CATALOGUE = np.arange(8, 20, dtype=np.int32)


def sets_of(train: EventStream, events: EventStream, row: int) -> tuple[set[int], set[int]]:
    """P and H of the docstring."""
    same = (events.src == events.src[row]) & (events.t == events.t[row])
    return set(events.dst[same].tolist()), set(train.dst[train.src == events.src[row]].tolist())


@pytest.mark.parametrize("number", [1, 4, 7, 12, 50])
@pytest.mark.parametrize("events", [40, 300])
def test_each_row_is_what_the_definition_says(number: int, events: int, random_stream: MakeStream) -> None:
    parts = split(random_stream(number, events=events))
    made = sample_negatives(parts.train, parts.test, CATALOGUE, number)
    for row in range(len(parts.test)):
        true, seen = sets_of(parts.train, parts.test, row)
        own = made.negatives[row, : made.lengths[row]].tolist()
        assert len(set(own)) == len(own)
        assert not set(own) & true
        historical = min(number // 2, len(seen - true))
        random = min(number - historical, len(set(CATALOGUE.tolist()) - true - seen))
        assert sum(v in seen for v in own) == historical
        assert len(own) == historical + random
        assert set(made.negatives[row].tolist()) <= set(CATALOGUE.tolist())


def test_random_only_ignores_history(random_stream: MakeStream) -> None:
    parts = split(random_stream(1))
    made = sample_negatives(parts.train, parts.test, CATALOGUE, 20, historical_share=0)
    for row in range(len(parts.test)):
        true, _ = sets_of(parts.train, parts.test, row)
        assert set(made.negatives[row, : made.lengths[row]].tolist()) == set(CATALOGUE.tolist()) - true


def test_catalogue_with_holes_is_respected(random_stream: MakeStream) -> None:
    parts = split(random_stream(2))
    catalogue = np.unique(np.append(random_stream(2).dst, [25, 31])).astype(np.int32)
    made = sample_negatives(parts.train, parts.test, catalogue, 5)
    assert set(made.negatives.ravel().tolist()) <= set(catalogue.tolist())
    assert {25, 31} & set(made.negatives.ravel().tolist())


def test_same_procedure_as_tgbs_own_generator(random_stream: MakeStream, tmp_path: Path) -> None:
    """Row by row the same number of historical and random negatives, and over many rows the same
    frequency of each destination."""
    parts = split(random_stream(3, events=4000, sources=60, destinations=40, times=3000))
    as_tgb = [
        TemporalData(
            src=torch.from_numpy(p.src.copy()),
            dst=torch.from_numpy(p.dst.copy()),
            t=torch.from_numpy(p.t.copy()),
        )
        for p in (parts.train, parts.test)
    ]
    generator = NegativeEdgeGenerator(
        "tgbl-wiki", 60, 99, num_neg_e=10, strategy="hist_rnd", historical_data=as_tgb[0]
    )
    generator.generate_negative_samples(as_tgb[1], "test", str(tmp_path))
    theirs = load_pkl(str(next(tmp_path.glob("*.pkl"))))
    ours = sample_negatives(parts.train, parts.test, np.arange(60, 100, dtype=np.int32), 10)
    frequency = np.zeros((2, 100))
    for row in range(len(parts.test)):
        key = (parts.test.src[row], parts.test.dst[row], parts.test.t[row])
        expected = theirs[key].astype(int)
        assert len(expected) == ours.lengths[row]
        frequency[0, expected] += 1
        frequency[1, ours.negatives[row, : ours.lengths[row]]] += 1
    share = frequency / frequency.sum(axis=1, keepdims=True)
    assert np.abs(share[0] - share[1]).max() < 0.015  # five standard errors


def test_duplicates_share_their_negatives_and_seeds_matter(random_stream: MakeStream) -> None:
    parts = split(random_stream(4, events=400, sources=2, destinations=12, times=30))
    catalogue = np.arange(2, 14, dtype=np.int32)
    made = sample_negatives(parts.train, parts.test, catalogue, 4)
    rows: dict[tuple[int, int, int], list[int]] = {}
    repeated = 0
    for row in range(len(parts.test)):
        key = (int(parts.test.src[row]), int(parts.test.dst[row]), int(parts.test.t[row]))
        repeated += key in rows
        assert rows.setdefault(key, made.negatives[row].tolist()) == made.negatives[row].tolist()
    assert repeated > 0
    again = sample_negatives(parts.train, parts.test, catalogue, 4)
    other = sample_negatives(parts.train, parts.test, catalogue, 4, seed=1)
    assert np.array_equal(made.negatives, again.negatives)
    assert not np.array_equal(made.negatives, other.negatives)


def test_a_file_holds_the_same_matrix_memory_mapped(random_stream: MakeStream, tmp_path: Path) -> None:
    parts = split(random_stream(5))
    in_memory = sample_negatives(parts.train, parts.test, CATALOGUE, 4)
    mapped = sample_negatives(parts.train, parts.test, CATALOGUE, 4, file=tmp_path / "negatives.npy")
    assert isinstance(mapped.negatives, np.memmap)
    assert np.array_equal(np.load(tmp_path / "negatives.npy"), in_memory.negatives)


def test_no_negatives_is_refused(random_stream: MakeStream) -> None:
    parts = split(random_stream(6))
    with pytest.raises(InputError, match="At least one negative"):
        sample_negatives(parts.train, parts.test, CATALOGUE, 0)


def test_some_positives_have_the_negatives_they_have_among_all(
    random_stream: MakeStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking_negatives, "CELLS_AT_ONCE", 120)  # ten rows at once, so there are many blocks
    parts = split(random_stream(4, events=400, sources=2, destinations=12, times=30))
    catalogue = np.arange(2, 14, dtype=np.int32)
    whole = sample_negatives(parts.train, parts.test, catalogue, 4)
    for only in (np.array([0, 7, 30, 31, len(parts.test) - 1]), np.arange(len(parts.test)), np.array([5])):
        some = sample_negatives(parts.train, parts.test, catalogue, 4, only=only)
        assert np.array_equal(some.negatives, whole.negatives[only])
        assert np.array_equal(some.lengths, whole.lengths[only])
        asked = only[::2]
        assert np.array_equal(some.queries(asked).candidates, whole.queries(asked).candidates)
        scores = torch.randn(len(asked), 5, generator=torch.Generator().manual_seed(1))
        assert torch.equal(some.ranks(asked, scores), whole.ranks(asked, scores))
    with pytest.raises(ValueError, match="other positives"):
        some.queries(np.array([6]))
