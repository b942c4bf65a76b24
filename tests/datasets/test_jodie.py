"""JODIE's files against PyG's own reader."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from raw_files import JODIE_HEADER, interactions, write_csv

from keat.datasets.dataset_entries import DATASETS, dataset_info
from keat.datasets.dataset_info import DatasetInfo
from keat.datasets.jodie import read_interactions
from keat.errors import InputError, Notice

JODIE = [info for info in DATASETS.values() if info.family == "jodie"]


@pytest.mark.parametrize("info", JODIE, ids=lambda info: info.name)
def test_equals_pyg(info: DatasetInfo, tmp_path: Path) -> None:
    datasets = pytest.importorskip("torch_geometric.datasets")
    assert info.msg_dim is not None
    stem = info.raw_files[0].removesuffix(".csv")
    raw = tmp_path / stem / "raw"
    write_csv(raw / info.raw_files[0], JODIE_HEADER, interactions(np.random.default_rng(3), 90, info.msg_dim))
    ours = read_interactions(raw, info)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = datasets.JODIEDataset(str(tmp_path), stem)[0]
    np.testing.assert_array_equal(ours.src, theirs.src)
    np.testing.assert_array_equal(ours.dst, theirs.dst)
    np.testing.assert_array_equal(ours.t, theirs.t)
    np.testing.assert_array_equal(ours.labels, theirs.y)
    np.testing.assert_array_equal(ours.features, theirs.msg)
    assert ours.feature_dim == info.msg_dim
    assert np.any(ours.t[1:] == ours.t[:-1])


def test_unsorted_rows_are_sorted_and_said(tmp_path: Path) -> None:
    info = dataset_info("jodie-wiki")
    write_csv(tmp_path / info.raw_files[0], JODIE_HEADER, [(0, 0, 5.9, 0, 0.5), (1, 0, 2.0, 1, 0.25)])
    with pytest.warns(Notice, match="not in time order"):
        stream = read_interactions(tmp_path, info)
    assert stream.t.tolist() == [2, 5]
    assert stream.src.tolist() == [1, 0]
    assert stream.labels is not None
    assert stream.labels.tolist() == [1, 0]


BAD = {
    "too few columns": ("u,i\n1,2\n", "has 2 columns"),
    "no rows": (JODIE_HEADER + "\n", "has no rows"),
    "user not whole": (JODIE_HEADER + "\n0,0,0,0,1\n1.5,0,0,0,1\n", r"the user 1\.5 in line 3"),
    "ragged": (JODIE_HEADER + "\n0,0,0,0,1\n1,0,0,0\n", "Row #3: Expected 5 columns, got 4"),
}


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD.keys())
def test_a_bad_file_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "wikipedia.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        read_interactions(tmp_path, dataset_info("jodie-wiki"))
