"""TGB's pickled negatives: the same rows as py-tgb's sampler, and no code run on opening."""

from __future__ import annotations

import os
import pickle
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from keat.datasets.official_negatives import load_official_negatives
from keat.errors import CacheError, InputError, Notice

Column = npt.NDArray[np.int64]
load_negatives = partial(load_official_negatives, num_nodes=40)


def events(count: int, seed: int) -> tuple[Column, Column, Column]:
    """Sources 0-9, destinations 10-39, with ties in time and repeated events."""
    rng = np.random.default_rng(seed)
    return (
        rng.integers(0, 10, count),
        rng.integers(10, 40, count),
        np.sort(rng.integers(0, count // 3, count)),
    )


@pytest.fixture
def official(tmp_path: Path) -> Path:
    """A file made by py-tgb's own generator: rows of float64, of different lengths."""
    torch = pytest.importorskip("torch")
    temporal = pytest.importorskip("torch_geometric.data").TemporalData
    generator = pytest.importorskip("tgb.linkproppred.negative_generator").NegativeEdgeGenerator

    def part(count: int, seed: int) -> Any:
        src, dst, t = map(torch.from_numpy, events(count, seed))
        return temporal(src=src, dst=dst, t=t)

    made = generator(
        "tiny", 10, 39, num_neg_e=28, strategy="hist_rnd", rnd_seed=42, historical_data=part(120, 0)
    )
    made.generate_negative_samples(part(80, 1), "val", str(tmp_path))
    return tmp_path / "tiny_val_ns.pkl"


def test_equals_py_tgbs_sampler(official: Path) -> None:
    sampler = pytest.importorskip("tgb.linkproppred.negative_sampler").NegativeEdgeSampler("tiny", 10, 39)
    sampler.load_eval_set(str(official), "val")
    src, dst, t = events(80, 1)
    expected = sampler.query_batch(src, dst, t, split_mode="val")
    matrix, lengths = load_negatives(official, src, dst, t, trust_pickle=True)
    assert matrix.dtype == lengths.dtype == np.int32
    assert matrix.shape == (80, max(map(len, expected)))
    assert len(set(lengths.tolist())) > 1
    for row, length, theirs in zip(matrix, lengths, expected, strict=True):
        assert row[:length].tolist() == theirs
        assert set(row[length:].tolist()) <= {theirs[0]}


def test_afterwards_no_pickle_is_opened(official: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    positives = events(80, 1)
    first, lengths = load_negatives(official, *positives, trust_pickle=True)
    monkeypatch.setattr("keat.datasets.official_negatives._unpickle", None)
    second, again = load_negatives(official, *positives)
    assert isinstance(second.base, np.memmap)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(lengths, again)


def test_other_positives_are_not_answered_from_the_old_matrix(official: Path) -> None:
    src, dst, t = events(80, 1)
    whole, _ = load_negatives(official, src, dst, t, trust_pickle=True)
    with pytest.raises(InputError, match="trust-pickle"):
        load_negatives(official, src[::-1], dst[::-1], t[::-1])
    turned, _ = load_negatives(official, src[::-1], dst[::-1], t[::-1], trust_pickle=True)
    np.testing.assert_array_equal(turned, whole[::-1])


def test_many_blocks_are_as_one(official: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    src, dst, t = events(80, 1)
    whole, lengths = load_negatives(official, src, dst, t, trust_pickle=True)
    official.touch()
    monkeypatch.setattr("keat.datasets.official_negatives._BLOCK_ROWS", 7)
    blocks, block_lengths = load_negatives(official, src, dst, t, trust_pickle=True)
    np.testing.assert_array_equal(whole, blocks)
    np.testing.assert_array_equal(lengths, block_lengths)


def test_not_without_being_told(official: Path) -> None:
    with pytest.raises(InputError, match=r"can run any code when opened.*trust-pickle"):
        load_negatives(official, *events(80, 1))


class Evil:
    def __init__(self, call: Any, argument: str) -> None:
        self.call, self.argument = call, argument

    def __reduce__(self) -> Any:
        return self.call, (self.argument,)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("call", [os.mkdir, os.system, eval, np.load])
def test_a_malicious_pickle_runs_nothing_even_when_trusted(tmp_path: Path, call: Any, protocol: int) -> None:
    mark = tmp_path / "mark"
    argument = {os.mkdir: str(mark), np.load: str(tmp_path / "x.npy")}.get(
        call, f"__import__('os').mkdir('{mark}')"
    )
    path = tmp_path / "evil_ns.pkl"
    path.write_bytes(pickle.dumps({(0, 10, 0): Evil(call, argument)}, protocol))
    with pytest.raises(InputError, match=r"is not a table of negatives .*asks for"):
        load_negatives(path, *(np.array([n]) for n in (0, 10, 0)), trust_pickle=True)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["evil_ns.pkl"]


ONE = tuple(np.array([number]) for number in (0, 10, 0))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not a pickle",
        b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f.",
        pickle.dumps([1, 2]),
        pickle.dumps({}),
        pickle.dumps({(0, 10, 0): 7}),
        pickle.dumps({(0, 10, 0): "ab"}),
        pickle.dumps({(0, 10, 0): ["a", "b"]}),
        pickle.dumps({(0, 10, 0): [[1], [2]]}),
        pickle.dumps({(0, 10, 0): [1, 40]}),
        pickle.dumps({(0, 10, 0): [-1]}),
        pickle.dumps({(0, 10, 0): [2**40]}),
        pickle.dumps({(0, 10, 0): [float("nan")]}),
    ],
)
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.pkl"
    path.write_bytes(content)
    with pytest.raises(InputError, match="is not a table of negatives"):
        load_negatives(path, *ONE, trust_pickle=True)
    assert [entry.name for entry in tmp_path.iterdir()] == ["other.pkl"]


@pytest.mark.parametrize(
    ("file", "new", "message"),
    [
        ("negatives.npy", np.array([[7, 40]], "i4"), "names node 40 of 40"),
        ("negatives.npy", np.array([[-1, 7]], "i4"), "names node -1 of 40"),
        ("negatives.npy", np.array([[7, 8], [7, 8]], "i4"), r"int32 of shape \(2, 2\) for 1 positives"),
        ("negatives.npy", np.array([7, 8], "i4"), r"int32 of shape \(2,\) for 1"),
        ("negatives.npy", np.array([[7, 8]], "f4"), "float32 of shape"),
        ("lengths.npy", np.array([3], "i4"), "counts 3 negatives at row 1"),
        ("lengths.npy", np.array([-1], "i4"), "counts -1 negatives at row 1"),
        ("lengths.npy", np.array([2], "i8"), "int64 of shape"),
        ("lengths.npy", None, "lengths.npy is missing"),
    ],
)
def test_what_is_kept_is_checked_and_made_again(tmp_path: Path, file: str, new: Any, message: str) -> None:
    path = tmp_path / "other.pkl"
    path.write_bytes(pickle.dumps({(0, 10, 0): [7, 8]}))
    load_negatives(path, *ONE, trust_pickle=True)
    (folder,) = (entry for entry in tmp_path.iterdir() if entry.is_dir())
    (folder / file).unlink()
    if new is not None:
        np.save(folder / file, new)
    with pytest.raises(InputError, match=rf"are damaged \(.*{message}.*say that you trust the pickle"):
        load_negatives(path, *ONE)
    with pytest.warns(Notice, match=rf"are damaged \(.*{message}.* and are made again"):
        matrix, lengths = load_negatives(path, *ONE, trust_pickle=True)
    assert (matrix.tolist(), lengths.tolist()) == ([[7, 8]], [2])
    load_negatives(path, *ONE)


def test_an_event_without_negatives_is_named(official: Path) -> None:
    src, dst, t = events(80, 1)
    t = t.copy()
    t[5] = 999
    with pytest.raises(InputError, match=rf"no negatives for the event .* = \({src[5]}, {dst[5]}, 999\)"):
        load_negatives(official, src, dst, t, trust_pickle=True)
    assert [path.name for path in official.parent.iterdir()] == [official.name]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.pkl does not exist"):
        load_negatives(tmp_path / "gone.pkl", *events(3, 0))


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs an ordinary POSIX user")
def test_a_read_only_folder_is_said(official: Path) -> None:
    official.parent.chmod(0o500)
    try:
        with pytest.raises(CacheError, match="Cannot write"):
            load_negatives(official, *events(80, 1), trust_pickle=True)
    finally:
        official.parent.chmod(0o700)
