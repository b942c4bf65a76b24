from __future__ import annotations

import dataclasses
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from keat.errors import CacheError, InputError, Notice
from keat.events import EventStream, IdMap, NodeLabels

COLUMNS = ("src", "dst", "t", "features", "labels", "node_features")
PARTS = ("t", "node", "indptr", "classes", "weights")


def full_stream() -> EventStream:
    """Six events among four named nodes, with everything a stream can have."""
    return EventStream.from_arrays(
        [0, 1, 2, 0, 1, 3],
        [1, 2, 3, 2, 0, 0],
        [1, 1, 2, 5, 5, 9],
        np.arange(12, dtype=np.float32).reshape(6, 2),
        unit="ms",
        labels=[0, 1, 0, 0, 1, 1],
        node_features=np.ones((4, 3), dtype=np.float32),
        node_labels=NodeLabels.from_long(
            np.array([1, 5, 9]),
            np.array([0, 1, 0], dtype=np.int32),
            np.array([2, 0, 1], dtype=np.int32),
            np.array([0.5, 1.0, 1.0], dtype=np.float32),
            num_classes=3,
        ),
        ids=IdMap(pa.array(["a", "b", "c", "d"])),
        name="full",
    )


def assert_same(one: EventStream, other: EventStream) -> None:
    for column in COLUMNS:
        np.testing.assert_array_equal(getattr(one, column), getattr(other, column))
    about = ("num_nodes", "unit", "name", "offset", "ids")
    assert [getattr(one, name) for name in about] == [getattr(other, name) for name in about]
    assert (one.node_labels is None) == (other.node_labels is None)
    if one.node_labels is not None and other.node_labels is not None:
        assert one.node_labels.num_classes == other.node_labels.num_classes
        for part in PARTS:
            np.testing.assert_array_equal(getattr(one.node_labels, part), getattr(other.node_labels, part))


def names_in(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir()]


STREAMS = {
    "full": full_stream(),
    "slice": full_stream()[2:5],
    "plain": EventStream.from_arrays([0, 1], [1, 0], [3, 4]),
    "no events": EventStream.from_arrays([0, 1], [1, 0], [3, 4])[:0],
    "bipartite": dataclasses.replace(full_stream(), ids=IdMap(pa.array([1, 2, 1, 2]), boundary=2)),
}


@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS.keys())
def test_save_and_open(stream: EventStream, tmp_path: Path) -> None:
    stream.save(tmp_path / "saved")
    opened = EventStream.open(tmp_path / "saved")
    assert_same(opened, stream)
    assert isinstance(opened.t.base, np.memmap)
    assert names_in(tmp_path) == ["saved"]


def test_a_saved_stream_is_replaced_as_a_whole(tmp_path: Path) -> None:
    full_stream().save(tmp_path / "saved")
    opened = EventStream.open(tmp_path / "saved")
    STREAMS["plain"].save(tmp_path / "saved")
    assert_same(EventStream.open(tmp_path / "saved"), STREAMS["plain"])
    assert_same(opened, full_stream())  # what was mapped before is still what it was
    assert names_in(tmp_path) == ["saved"]


@contextmanager
def full_disk(limit: int = 2_000) -> Iterator[None]:
    """No file may grow beyond ``limit`` bytes, which fails a write as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("before", [None, "plain"])
def test_a_full_disk_leaves_things_as_they_were(before: str | None, tmp_path: Path) -> None:
    large = EventStream.from_arrays(*(np.arange(1_000),) * 3)
    if before is not None:
        STREAMS[before].save(tmp_path / "saved")
    with (
        full_disk(),
        pytest.raises(CacheError, match=r"^Cannot write .*saved \(.+\); free some space, or .*\.$"),
    ):
        large.save(tmp_path / "saved")
    assert names_in(tmp_path) == ([] if before is None else ["saved"])
    if before is not None:
        assert_same(EventStream.open(tmp_path / "saved"), STREAMS[before])


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(CacheError, match=r"Cannot write .*file.* \(.*\); choose another place"):
        full_stream().save(tmp_path / "file" / "saved")
    assert (tmp_path / "file").read_text() == "not a folder"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to read-only folders")
def test_a_read_only_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(CacheError, match=r"Cannot write .*saved \(Permission denied\)"):
        full_stream().save(tmp_path / "saved")
    assert names_in(tmp_path) == []


def test_somebody_elses_folder_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(CacheError, match="holds something other than a keat stream; choose another folder"):
        full_stream().save(tmp_path)
    assert names_in(tmp_path) == ["thesis.txt"]


@pytest.mark.parametrize("file", ["t.npy", "stream.json", "ids.parquet", "node_labels_t.npy"])
def test_a_damaged_folder_is_not_opened(file: str, tmp_path: Path) -> None:
    full_stream().save(tmp_path / "saved")
    path = tmp_path / "saved" / file
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(InputError, match=r"is damaged: .*; (delete it and load|make it again)"):
        EventStream.open(tmp_path / "saved")


def test_columns_that_do_not_belong_together_are_not_opened(tmp_path: Path) -> None:
    full_stream().save(tmp_path / "saved")
    np.save(tmp_path / "saved" / "src.npy", np.zeros(2, dtype=np.int32))
    with pytest.raises(InputError, match=r"saved is damaged: src does not have one row for each of the 6"):
        EventStream.open(tmp_path / "saved")


def test_a_slice_is_a_view_of_the_whole() -> None:
    stream = full_stream()
    part = stream[1:5][1:3]
    assert (len(part), part.offset, part.t.tolist(), part.span) == (2, 2, [2, 5], 3)
    for column in ("src", "dst", "t", "features", "labels"):
        assert np.shares_memory(getattr(part, column), getattr(stream, column))
    assert part.ids is stream.ids
    assert part.node_features is stream.node_features
    with pytest.raises(ValueError, match="steps of 1"):
        stream[::2]


def test_events_are_not_taken_one_by_one() -> None:
    stream: Any = full_stream()
    with pytest.raises(TypeError, match=r"a stream is sliced, as stream\[a:b\]"):
        stream[5]
    with pytest.raises(TypeError, match="not indexed or iterated"):
        list(stream)


def test_no_folder_at_all_is_not_opened(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"There is no folder .*nowhere; give one written by"):
        EventStream.open(tmp_path / "nowhere")


def test_a_slice_of_the_past_has_no_label_of_the_future() -> None:
    times = [(len(part), part.node_labels.t.tolist()) for part in full_stream().blocks(2) if part.node_labels]
    assert times == [(2, [1]), (2, [1, 5]), (2, [1, 5, 9])]
    empty = full_stream()[:0].node_labels
    assert empty is not None
    assert len(empty) == 0


def test_blocks_are_the_stream() -> None:
    blocks = list(full_stream().blocks(4))
    assert [(len(block), block.offset) for block in blocks] == [(4, 0), (2, 4)]
    np.testing.assert_array_equal(np.concatenate([block.t for block in blocks]), full_stream().t)


@pytest.mark.parametrize("column", COLUMNS)
def test_nothing_can_be_changed(column: str) -> None:
    stream = full_stream()
    with pytest.raises(ValueError, match="read-only"):
        getattr(stream, column)[0] = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(stream, column, None)


@pytest.mark.parametrize("part", PARTS)
def test_node_labels_cannot_be_changed(part: str) -> None:
    labels: Any = full_stream().node_labels
    with pytest.raises(ValueError, match="read-only"):
        getattr(labels, part)[0] = 0


def test_arrays_given_stay_the_callers_and_writable() -> None:
    t = np.array([1, 2])
    stream = EventStream.from_arrays([0, 1], [1, 0], t)
    assert np.shares_memory(stream.t, t)
    assert t.flags.writeable


def test_lists_will_do_for_every_array() -> None:
    stream = EventStream.from_arrays([0, 1], [1, 0], [1, 2], [[1], [2]], node_features=[[0.5], [1.5]])
    assert stream.features.dtype == np.float32
    assert stream.features.tolist() == [[1], [2]]
    assert stream.node_features is not None
    assert stream.node_features.dtype == np.float32


def test_no_events_are_a_stream_too() -> None:
    stream = EventStream.from_arrays([], [], [])
    assert (len(stream), stream.num_nodes, stream.features.shape) == (0, 0, (0, 0))


def test_unsorted_arrays_are_sorted_with_a_notice() -> None:
    with pytest.warns(Notice, match="log was not in time order .data row 2 is the first"):
        stream = EventStream.from_arrays([0, 1, 2], [1, 2, 0], [4, 3, 4], name="log")
    assert (stream.t.tolist(), stream.src.tolist()) == ([3, 4, 4], [1, 0, 2])


def test_repr_says_what_it_is() -> None:
    assert repr(full_stream()) == "EventStream(full: 6 events, 4 nodes, 2 features, time in ms)"
