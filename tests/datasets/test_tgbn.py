"""TGB's node-property files, element by element against py-tgb's own dataset class on the same files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from raw_files import pairs, write_csv

from keat.datasets import tgbn
from keat.datasets.dataset_entries import dataset_info
from keat.datasets.dataset_info import DatasetInfo
from keat.errors import InputError
from keat.events import EventStream

Rows = list[tuple[Any, ...]]
ROWS = 80

READERS: dict[str, Callable[[Path, DatasetInfo], EventStream]] = {
    "tgbn-trade": tgbn.read_trade,
    "tgbn-genre": tgbn.read_genres,
    "tgbn-reddit": tgbn.read_subreddits,
    "tgbn-token": tgbn.read_tokens,
}


def attributes(name: str, rng: np.random.Generator) -> list[tuple[Any, ...]]:
    if name == "tgbn-reddit":
        return [tuple(row) for row in rng.integers(-5, 900, (ROWS, 2)).tolist()]
    if name == "tgbn-token":
        return list(
            zip((10.0 ** rng.uniform(-3, 29, ROWS)).tolist(), rng.integers(0, 2, ROWS).tolist(), strict=True)
        )
    return [(w,) for w in rng.uniform(0, 1e6, ROWS).round(4).tolist()]


def write_set(name: str, raw: Path) -> DatasetInfo:
    """An edge list, and labels with repeated classes, nodes that come back, and rows out of order."""
    info, rng = dataset_info(name), np.random.default_rng(11)
    edges: Rows = [(*p, *a) for p, a in zip(pairs(rng, ROWS), attributes(name, rng), strict=True)]
    write_csv(raw / info.raw_files[0], "ts,user,class,…", edges)
    times = rng.integers(1_600_000_000, 1_600_000_004, 150).tolist()
    picks = rng.integers(0, ROWS, (150, 2)).tolist()
    weights = rng.uniform(0, 1, 150).tolist()
    labels: Rows = [
        (t, edges[a][1], edges[b][2], w) for t, (a, b), w in zip(times, picks, weights, strict=True)
    ]
    write_csv(raw / info.raw_files[1], "ts,user,class,weight", labels)
    return info


def py_tgb(info: DatasetInfo, home: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    module = pytest.importorskip("tgb.nodeproppred.dataset")
    monkeypatch.setattr(module, "PROJ_DIR", f"{home}/")
    return module.NodePropPredDataset(name=info.name, root="sets", download=False)


@pytest.mark.parametrize("name", READERS)
def test_equals_py_tgb(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = tmp_path / "sets" / name.replace("-", "_")
    info = write_set(name, raw)
    ours = READERS[name](raw, info)
    theirs = py_tgb(info, tmp_path, monkeypatch)
    if name == "tgbn-token":  # it takes the logarithm only when it loads what the first run has cached
        assert not np.allclose(ours.features, theirs.full_data["edge_feat"])
        theirs = py_tgb(info, tmp_path, monkeypatch)
    full = theirs.full_data
    np.testing.assert_array_equal(ours.src, full["sources"])
    np.testing.assert_array_equal(ours.dst, full["destinations"])
    np.testing.assert_array_equal(ours.t, full["timestamps"])
    np.testing.assert_array_equal(ours.features, full["edge_feat"].astype(np.float32))
    assert ours.feature_dim == info.msg_dim
    assert ours.unit == info.unit

    labels = ours.node_labels
    assert labels is not None
    expected = [
        (t, node, vector)
        for t, nodes in sorted(full["node_label_dict"].items())
        for node, vector in sorted(nodes.items())
    ]
    np.testing.assert_array_equal(labels.t, [t for t, _, _ in expected])
    np.testing.assert_array_equal(labels.node, [node for _, node, _ in expected])
    vectors = np.stack([vector for _, _, vector in expected]).astype(np.float32)
    dense = labels.dense()  # of the full width; py-tgb's small file has fewer classes
    np.testing.assert_array_equal(dense[:, : vectors.shape[1]], vectors)
    assert not dense[:, vectors.shape[1] :].any()


def test_classes_come_first_and_every_node_has_its_own_name(tmp_path: Path) -> None:
    info = dataset_info("tgbn-genre")
    write_csv(
        tmp_path / info.raw_files[0],
        "…",
        [(1, "ann", "rock", 1), (2, "rock", "jazz", 1), (3, "ann", "jazz", 1)],
    )
    write_csv(tmp_path / info.raw_files[1], "…", [(4, "rock", "jazz", 0.25)])
    stream = tgbn.read_genres(tmp_path, info)
    assert stream.num_nodes == 513 + 2
    names = [stream.ids.label(node) for node in range(stream.num_nodes)]
    assert names[:3] == ["rock", "jazz", "class:2"]
    assert names[513:] == ["ann", "user:rock"]
    assert len(set(names)) == len(names)
    assert stream.node_labels is not None
    assert stream.node_labels.num_classes == 513
    assert (stream.node_labels.node[0], stream.node_labels.classes[0]) == (514, 1)


def test_a_label_of_an_unknown_user_is_named(tmp_path: Path) -> None:
    info = dataset_info("tgbn-genre")
    write_csv(tmp_path / info.raw_files[0], "…", [(1, "ann", "rock", 1)])
    write_csv(tmp_path / info.raw_files[1], "…", [(4, "ann", "rock", 1), (4, "bob", "rock", 1)])
    with pytest.raises(InputError, match="names the node 'bob' in line 3"):
        tgbn.read_genres(tmp_path, info)


def test_too_many_classes_are_refused(tmp_path: Path) -> None:
    info = dataset_info("tgbn-genre")
    write_csv(tmp_path / info.raw_files[0], "…", [(i, "ann", f"g{i}", 1) for i in range(514)])
    with pytest.raises(InputError, match="has 514 classes, tgbn-genre has 513"):
        tgbn.read_genres(tmp_path, info)


def test_a_token_value_without_logarithm_is_named(tmp_path: Path) -> None:
    info = dataset_info("tgbn-token")
    write_csv(tmp_path / info.raw_files[0], "…", [(1, "a", "t", 2.0, 1), (2, "a", "t", 0.0, 1)])
    with pytest.raises(InputError, match=r"the value 0\.0 in line 3"):
        tgbn.read_tokens(tmp_path, info)
