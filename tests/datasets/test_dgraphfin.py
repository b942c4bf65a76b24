"""dgraphfin.npz against PyG's own reader."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keat.datasets.dataset_entries import dataset_info
from keat.datasets.dgraphfin import read_contacts, read_node_labels
from keat.datasets.labelled_graph import open_labelled_graph
from keat.errors import InputError

INFO = dataset_info("dgraphfin")


def arrays(nodes: int = 40, edges: int = 90) -> dict[str, Any]:
    rng = np.random.default_rng(7)
    parts = np.split(rng.permutation(nodes)[:30], [15, 22])
    return {
        "x": rng.choice([-1.0, 0.5, 2.0], (nodes, 17)),
        "y": rng.integers(0, 4, nodes),
        "edge_index": rng.integers(0, nodes, (edges, 2)),
        "edge_type": rng.integers(1, 12, edges),
        "edge_timestamp": rng.integers(1, 30, edges),  # unsorted, with ties
        "train_mask": parts[0],
        "valid_mask": parts[1],
        "test_mask": parts[2],
    }


def test_equals_pyg(tmp_path: Path) -> None:
    datasets = pytest.importorskip("torch_geometric.datasets")
    raw = tmp_path / "raw"
    raw.mkdir()
    np.savez(raw / "dgraphfin.npz", **arrays())
    with zipfile.ZipFile(raw / "DGraphFin.zip", "w") as archive:
        archive.write(raw / "dgraphfin.npz", "dgraphfin.npz")
    ours = read_node_labels(raw, INFO, read_contacts(raw, INFO))
    theirs = datasets.DGraphFin(str(tmp_path))[0]
    order = np.argsort(theirs.edge_time.numpy(), kind="stable")
    stream = ours.stream
    np.testing.assert_array_equal(np.stack([stream.src, stream.dst]), theirs.edge_index[:, order])
    np.testing.assert_array_equal(stream.t, theirs.edge_time[order])
    np.testing.assert_array_equal(stream.features[:, 0], theirs.edge_type[order])
    np.testing.assert_array_equal(stream.node_features, theirs.x)
    np.testing.assert_array_equal(ours.y, theirs.y)
    for part, mask in (
        (ours.train, theirs.train_mask),
        (ours.valid, theirs.val_mask),
        (ours.test, theirs.test_mask),
    ):
        np.testing.assert_array_equal(np.sort(part), np.flatnonzero(mask.numpy()))
    assert stream.num_nodes == 40


def test_opens_from_the_zip_put_there_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEAT_DATA", str(tmp_path))
    raw = tmp_path / "dgraphfin" / "raw"
    raw.mkdir(parents=True)
    np.savez(tmp_path / "dgraphfin.npz", **arrays())
    with zipfile.ZipFile(raw / "DGraphFin.zip", "w") as archive:
        archive.write(tmp_path / "dgraphfin.npz", "DGraphFin/dgraphfin.npz")
    opened = open_labelled_graph("dgraphfin")
    again = open_labelled_graph("dgraphfin")
    assert len(opened.stream) == len(again.stream) == 90
    np.testing.assert_array_equal(opened.y, arrays()["y"])
    np.testing.assert_array_equal(again.test, arrays()["test_mask"])


def test_an_array_of_objects_is_never_unpickled(tmp_path: Path) -> None:
    np.savez(tmp_path / "dgraphfin.npz", **arrays() | {"x": np.array([{"a": 1}], dtype=object)})
    with pytest.raises(InputError, match="no readable array 'x'"):
        read_contacts(tmp_path, INFO)


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 cut off"])
def test_a_broken_file_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "dgraphfin.npz").write_bytes(content)
    with pytest.raises(InputError, match=r"dgraphfin\.npz is not a readable \.npz file"):
        read_contacts(tmp_path, INFO)


def test_a_missing_array_is_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "dgraphfin.npz", x=np.zeros((2, 17)))
    with pytest.raises(InputError, match="no readable array 'edge_index'"):
        read_contacts(tmp_path, INFO)


@pytest.mark.parametrize(
    ("member", "array", "message"),
    [
        ("edge_index", np.zeros((90, 3), int), r"'edge_index' .* is int64 of shape \(90, 3\), .*\(…, 2\)"),
        ("edge_index", np.zeros((90, 2)), "'edge_index' of .* is float64 of shape"),
        ("edge_index", np.full((90, 2), 40), "names node 40 but is said to have 40 nodes"),
        ("edge_timestamp", np.zeros(89, int), r"'edge_timestamp' of .* is int64 of shape \(89,\)"),
        ("edge_timestamp", np.full(90, -1), "'t' of dgraphfin is -1"),
        ("edge_type", np.array(["a"] * 90), "'edge_type' of .* is <U1 of shape"),
        ("x", np.zeros(40), r"'x' of .* is float64 of shape \(40,\)"),
        ("y", np.zeros(39, int), r"'y' of .* is int64 of shape \(39,\), where numbers of shape \(40\)"),
        ("train_mask", np.array([3, 40]), "'train_mask' of .* names nodes that are not among its 40"),
        ("test_mask", np.array([-1]), "'test_mask' of .* names nodes that are not among its 40"),
        ("valid_mask", np.zeros(40, bool), "'valid_mask' of .* is bool of shape"),
    ],
)
def test_arrays_of_another_shape_are_named(member: str, array: Any, message: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "dgraphfin.npz", **arrays() | {member: array})
    with pytest.raises(InputError, match=message):
        read_node_labels(tmp_path, INFO, read_contacts(tmp_path, INFO))


def test_one_array_alone_is_no_graph(tmp_path: Path) -> None:
    with (tmp_path / "dgraphfin.npz").open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(InputError, match=r"not a readable \.npz file"):
        read_contacts(tmp_path, INFO)
