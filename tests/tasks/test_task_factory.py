"""Which task and which negatives a dataset gets, by itself and on request."""

from __future__ import annotations

import dataclasses
import pickle
import shutil
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from conftest import FindFile, MakeStream
from keat.datasets.dataset_entries import DATASETS
from keat.datasets.loading import Dataset, load
from keat.errors import InputError, Notice, UnknownNameError
from keat.events import EventStream
from keat.tasks import task_factory
from keat.tasks.candidates import OwnCandidates, SharedCandidates
from keat.tasks.link import LinkClassification, LinkRanking
from keat.tasks.task_factory import make_task
from keat.tasks.task_spec import TaskSpec


@pytest.fixture
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KEAT_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def own(random_stream: MakeStream) -> Dataset:
    return Dataset(random_stream(0, events=600, times=400))


def named(stream: EventStream, name: str) -> Dataset:
    """A small stream that passes for a dataset of the registry."""
    return Dataset(dataclasses.replace(stream, name=name), DATASETS[name])


def ranking(task: object) -> LinkRanking:
    assert isinstance(task, LinkRanking)
    return task


def kept(task: object) -> OwnCandidates:
    candidates = ranking(task).candidates
    assert isinstance(candidates, OwnCandidates)
    return candidates


def test_own_data_is_ranked_against_all_destinations(own: Dataset) -> None:
    task = ranking(make_task(own))
    assert isinstance(task.candidates, SharedCandidates)
    np.testing.assert_array_equal(task.candidates.catalogue, np.unique(own.stream.dst))
    assert len(task) == len(own.test)
    assert len(task.history) == own.test.offset
    assert len(make_task(own, "val")) == len(own.val)


def test_many_destinations_are_sampled(own: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_factory, "LARGEST_CATALOGUE", 11)
    monkeypatch.setattr(task_factory, "SAMPLED", 5)
    task = ranking(make_task(own))
    assert isinstance(task.candidates, OwnCandidates)
    assert task.candidates.negatives.shape == (len(own.test), 5)


def test_a_sample_keeps_negatives_of_its_own_positives_alone(own: Dataset) -> None:
    whole, some = (
        TaskSpec(kind="link-ranking", number=4, sample=sample, sample_seed=3).make(own, "test")
        for sample in (None, 9)
    )
    assert np.array_equal(ranking(some).asked, ranking(whole).sample(9, 3).asked)
    assert np.array_equal(kept(some).negatives, kept(whole).negatives[ranking(some).asked])
    assert len(kept(TaskSpec(number=4, sample=10**6).make(own, "test")).negatives) == len(own.test)


def test_a_number_asks_for_sampling(own: Dataset) -> None:
    task = ranking(make_task(own, number=4))
    assert isinstance(task.candidates, OwnCandidates)
    assert task.width == 5
    with pytest.raises(InputError, match="'all' negatives are not sampled, so 4 of them cannot be asked for"):
        make_task(own, negatives="all", number=4)
    with pytest.raises(InputError, match="link-classification has one negative a positive"):
        make_task(own, kind="link-classification", number=4)
    with pytest.raises(InputError, match="At least one negative is needed, not 0"):
        make_task(own, number=0)


def test_names_that_do_not_fit(own: Dataset) -> None:
    def make(**options: str) -> None:
        make_task(own, **cast(dict[str, Any], options))

    with pytest.raises(UnknownNameError, match="did you mean 'link-ranking'"):
        make(kind="link-rankin")
    with pytest.raises(UnknownNameError, match="did you mean 'hist-rnd'"):
        make(negatives="hist_rnd")
    with pytest.raises(InputError, match="link-ranking has no 'inductive' negatives; use all, hist-rnd"):
        make(negatives="inductive")
    with pytest.raises(
        InputError, match="link-classification has no 'all' negatives; use random, historical"
    ):
        make(kind="link-classification", negatives="all")
    with pytest.raises(InputError, match="has no official negatives"):
        make(negatives="official")
    with pytest.raises(InputError, match="has no node labels over time"):
        make(kind="node-property")


def test_each_family_has_its_own_protocol(random_stream: MakeStream, data_folder: Path) -> None:
    stream = random_stream(1, events=600, times=400)
    wiki = ranking(make_task(named(stream, "tgbl-wiki")))
    assert isinstance(wiki.candidates, SharedCandidates)
    coin = ranking(make_task(named(stream, "tgbl-coin")))
    assert isinstance(coin.candidates, OwnCandidates)
    assert coin.candidates.negatives.shape[1] == 12  # 20 are asked for; there are 12 destinations in all
    assert isinstance(make_task(named(stream, "jodie-wiki")), LinkClassification)
    assert ranking(make_task(named(stream, "jodie-wiki"), kind="link-ranking")).width == 12
    with pytest.raises(InputError, match="labels nodes once and for all, not over time"):
        make_task(named(stream, "dgraphfin"))
    assert [path.name for path in data_folder.iterdir()] == ["tgbl-coin"]  # its negatives


def test_tgb_ranks_against_the_whole_id_range(random_stream: MakeStream) -> None:
    made = random_stream(2, events=600, times=400)
    holes = EventStream.from_arrays(made.src, 2 * made.dst, made.t)  # every other id is no destination
    official = ranking(make_task(named(holes, "tgbl-wiki")))
    assert official.width == holes.dst.max() - holes.dst.min() + 1
    assert ranking(make_task(Dataset(holes))).width == len(np.unique(holes.dst))


def test_sampled_negatives_of_a_named_dataset_are_kept(
    random_stream: MakeStream, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = named(random_stream(3, events=600, times=400), "tgbl-coin")
    first = ranking(make_task(data, number=4, seed=7)).candidates
    assert isinstance(first, OwnCandidates)
    (kept,) = (data_folder / "tgbl-coin" / "negatives").iterdir()  # one folder, whole, nothing beside it
    assert kept.name.startswith("test-hist-rnd-4-seed7-")
    other = named(random_stream(9, events=600, times=400), "tgbl-coin")  # the same name, other data
    assert len(ranking(make_task(other, number=4, seed=7))) == len(other.test)
    monkeypatch.setattr(task_factory, "sample_negatives", None)  # now they have to come from the folder
    again = ranking(make_task(data, number=4, seed=7)).candidates
    assert isinstance(again, OwnCandidates)
    assert isinstance(again.negatives.base, np.memmap)
    np.testing.assert_array_equal(first.negatives, again.negatives)


def test_official_negatives_need_trust(random_stream: MakeStream, data_folder: Path) -> None:
    data = named(random_stream(4, events=600, times=400), "tgbl-coin")
    raw = data_folder / "tgbl-coin" / "raw"
    raw.mkdir(parents=True)
    table = {
        (int(u), int(v), int(t)): np.array([8, 9])
        for u, v, t in zip(data.test.src, data.test.dst, data.test.t, strict=True)
    }
    (raw / "tgbl-coin_test_ns_v2.pkl").write_bytes(pickle.dumps(table))
    with pytest.raises(InputError, match="is a pickle file, which can run any code when opened"):
        make_task(data, negatives="official")
    task = ranking(make_task(data, negatives="official", trust_pickle=True))
    assert isinstance(task.candidates, OwnCandidates)
    assert np.asarray(task.candidates.negatives).tolist() == [[8, 9]] * len(data.test)
    assert ranking(make_task(data, trust_pickle=True)).candidates.width == 3  # at hand and trusted: used
    with pytest.warns(Notice, match="for the leaderboard's own.* say that you trust it"):
        assert ranking(make_task(data)).candidates.width == 13


@pytest.mark.parametrize("damage", ["node", "cut", "gone", "file"])
def test_damaged_negatives_are_drawn_again(damage: str, random_stream: MakeStream, data_folder: Path) -> None:
    data = named(random_stream(3, events=600, times=400), "tgbl-coin")
    first = np.array(kept(make_task(data, number=4)).negatives)
    (folder,) = (data_folder / "tgbl-coin" / "negatives").iterdir()
    matrix = folder / "negatives.npy"
    if damage == "node":
        np.save(matrix, np.where(first == first.max(), 10**6, first))
    elif damage == "cut":
        matrix.write_bytes(matrix.read_bytes()[:300])
    else:
        shutil.rmtree(folder)
        if damage == "file":
            folder.write_text("in the way")
        else:
            folder.mkdir()
    with pytest.warns(Notice, match=r"The negatives in .* are damaged \(.*\) and are drawn again"):
        again = kept(make_task(data, number=4))
    np.testing.assert_array_equal(again.negatives, first)
    np.testing.assert_array_equal(kept(make_task(data, number=4)).negatives, first)  # and without a word


def test_negatives_stay_in_the_folder_of_their_dataset(random_stream: MakeStream, data_folder: Path) -> None:
    stream = dataclasses.replace(random_stream(3, events=600, times=400), name="../../escaped")
    data = Dataset(stream, DATASETS["tgbl-coin"])
    make_task(data, number=4)
    assert [entry.name for entry in data_folder.iterdir()] == ["tgbl-coin"]
    assert not list(data_folder.parent.glob("*escaped*"))


def test_a_folder_that_cannot_be_written_costs_only_memory(
    random_stream: MakeStream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("KEAT_DATA", str(tmp_path / "file"))
    data = named(random_stream(3, events=600, times=400), "tgbl-coin")
    with pytest.warns(Notice, match="kept in memory instead"):
        assert ranking(make_task(data, number=4)).candidates.width == 5


def test_the_datasets_own_number_goes_with_its_own_strategy(
    random_stream: MakeStream, data_folder: Path
) -> None:
    data = named(random_stream(3, events=900, destinations=60, times=400), "tgbl-coin")
    assert data_folder.exists()
    assert ranking(make_task(data, negatives="hist-rnd")).candidates.width == 21
    with pytest.raises(InputError, match=r"put tgbl-coin_test_ns_v2.pkl, .* into .*raw"):
        make_task(data, negatives="official")


def test_positives_without_a_rival_are_pointed_out() -> None:
    """Ten times everybody meets everybody; in the second stream, the last meeting does not take place."""
    everybody = [(a, b) for a in range(3) for b in range(3, 7)]
    src, dst = np.tile(np.array(everybody).T, 10)
    t = np.repeat(np.arange(10), 12)
    with pytest.raises(InputError, match=r"nothing to rank in .*: no positive has a negative"):
        make_task(Dataset(EventStream.from_arrays(src, dst, t)))
    with pytest.warns(Notice, match=r"8 of 11 positives have no negative.* they count as rank 1"):
        make_task(Dataset(EventStream.from_arrays(src[:-1], dst[:-1], t[:-1])))


def test_wikipedia_has_999_negatives_but_for_two_events_of_each_split(shared_file: FindFile) -> None:
    data = load(str(shared_file("wikipedia.parquet")))
    for split in ("val", "test"):
        counts = ranking(make_task(data, split)).candidates.negatives_per_positive()
        assert np.unique(counts, return_counts=True)[0].tolist() == [998, 999]
        assert np.count_nonzero(counts == 998) == 2
