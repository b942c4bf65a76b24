"""TGB's link files, element by element against py-tgb's own dataset class on the same file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from raw_files import JODIE_HEADER, interactions, pairs, write_csv

from keat.datasets import jodie, tgbl
from keat.datasets.dataset_entries import dataset_info
from keat.datasets.dataset_info import DatasetInfo
from keat.errors import InputError
from keat.events import EventStream

Rows = list[tuple[Any, ...]]


def weighted(rng: np.random.Generator) -> tuple[str, Rows]:
    weights = rng.choice([0.0, 1.0, 2.0, 800.0, 1e-7, 123456.789], 60)
    return "ts,src,dst,w", [(*p, w) for p, w in zip(pairs(rng, 60), weights, strict=True)]


def comments(rng: np.random.Generator) -> tuple[str, Rows]:
    extra = rng.integers(-9, 6000, (60, 2)).tolist()
    return "ts,src,dst,num_words,score", [(*p, *e) for p, e in zip(pairs(rng, 60), extra, strict=True)]


def flights(rng: np.random.Generator) -> tuple[str, Rows]:
    signs = ["", "BAW1", "dlh44c", "N", "ABCDEFGH", "0123!", "x-y z"]
    types = ["", "A320", "b77w", "ABCDEFGH", "much-too-long", "9"]
    picks = zip(rng.choice(signs, 60).tolist(), rng.choice(types, 60).tolist(), strict=True)
    return "day,src,dst,callsign,typecode", [(*p, *x) for p, x in zip(pairs(rng, 60), picks, strict=True)]


def wiki_like(features: int) -> Callable[[np.random.Generator], tuple[str, Rows]]:
    return lambda rng: (JODIE_HEADER, interactions(rng, 60, features))


CASES = [
    ("tgbl-coin", weighted, tgbl.read_weighted),
    ("tgbl-review", weighted, tgbl.read_weighted),
    ("tgbl-comment", comments, tgbl.read_comments),
    ("tgbl-flight", flights, tgbl.read_flights),
    ("tgbl-wiki", wiki_like(172), jodie.read_interactions),
    ("tgbl-uci", wiki_like(1), jodie.read_interactions),
    ("tgbl-lastfm", wiki_like(2), jodie.read_interactions),
]

# 6 types and 5 continents: py-tgb has room for exactly 11. North America is "NA".
AIRPORTS = [
    (code, kind, continent, region, lng, -lng / 2)
    for code, kind, continent, region, lng in zip(
        ["n1", "n2", "elsewhere", "n3", "NA", "0x27", "n5", "n1", "7", "null"],
        ["large", "small", "never-used", "heli", "medium", "closed", "sea", "small", "large", "large"],
        ["NA", "EU", "AN", "AS", "AF", "OC", "EU", "NA", "AS", "EU"],
        ["US-CA", "DE-BY", "AQ-U-A", "JP-13", "ZA-GP", "AU-NSW", "GB-ENG", "US-0101", "", "FR-75C"],
        [-118.4, 11.78, 0.0, 139.7, 28.2, 151.1, -0.46, 1.25, 3.5, 2.55],
        strict=True,
    )
]


def py_tgb(info: DatasetInfo, home: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """py-tgb's dataset, made to look for its files under ``home``."""
    module = pytest.importorskip("tgb.linkproppred.dataset")
    monkeypatch.setattr(module, "PROJ_DIR", f"{home}/")
    return module.LinkPropPredDataset(name=info.name, root="sets", download=False)


@pytest.mark.parametrize(("name", "make", "read"), CASES, ids=[case[0] for case in CASES])
def test_equals_py_tgb(
    name: str,
    make: Callable[[np.random.Generator], tuple[str, Rows]],
    read: Callable[[Path, DatasetInfo], EventStream],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    info = dataset_info(name)
    raw = tmp_path / "sets" / name.replace("-", "_")
    write_csv(raw / info.raw_files[0], *make(np.random.default_rng(5)))
    if name == "tgbl-flight":
        header = "airport_code,type,continent,iso_region,longitude,latitude"
        write_csv(raw / info.raw_files[1], header, AIRPORTS)
    ours = read(raw, info)
    theirs = py_tgb(info, tmp_path, monkeypatch)
    full = theirs.full_data
    np.testing.assert_array_equal(ours.src, full["sources"])
    np.testing.assert_array_equal(ours.dst, full["destinations"])
    np.testing.assert_array_equal(ours.t, full["timestamps"])
    np.testing.assert_array_equal(ours.features, full["edge_feat"].astype(np.float32))
    if theirs.node_feat is None:
        assert ours.node_features is None
    else:
        np.testing.assert_array_equal(ours.node_features, theirs.node_feat.astype(np.float32))
        assert np.any(theirs.node_feat[:, :11])


def test_ids_keep_the_names_of_the_file(tmp_path: Path) -> None:
    info = dataset_info("tgbl-coin")
    rows: Rows = [(1, "b", "NA", 2.0), (1, "", "b", 4.0), (2, "NA", "NA", 8.0)]
    write_csv(tmp_path / info.raw_files[0], "ts,src,dst,w", rows)
    stream = tgbl.read_weighted(tmp_path, info)
    assert [stream.ids.label(node) for node in range(stream.num_nodes)] == ["b", "NA", ""]
    assert [stream.ids.label(int(node)) for node in stream.src] == ["b", "", "NA"]
    np.testing.assert_array_equal(stream.features[:, 0], [1, 2, 3])


def features_of(tmp_path: Path, sign: str, kind: str) -> npt.NDArray[np.float32]:
    info = dataset_info("tgbl-flight")
    write_csv(tmp_path / info.raw_files[0], "day,src,dst,callsign,typecode", [(1, "a", "b", sign, kind)])
    write_csv(tmp_path / info.raw_files[1], "airport_code,…", [("a", "t", "c", "r", 1, 2)])
    features: npt.NDArray[np.float32] = tgbl.read_flights(tmp_path, info).features[0]
    return features


def test_a_call_sign_too_long_for_py_tgb_is_padding(tmp_path: Path) -> None:
    spelled = features_of(tmp_path, "ABCDEFGHI", "A1")
    np.testing.assert_array_equal(spelled, [-1] * 8 + [30, 1] + [-1] * 6)


def test_a_code_outside_ascii_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="The code 'Ä1' is not plain ASCII"):
        features_of(tmp_path, "BAW1", "Ä1")


def test_the_features_are_the_message_of_the_registry(tmp_path: Path) -> None:
    assert features_of(tmp_path, "", "").shape == (dataset_info("tgbl-flight").msg_dim,)


BAD = {
    "negative weight": ("ts,s,d,w\n1,a,b,2\n1,a,b,-3\n", "negative weight -3.0 in line 3"),
    "time not a number": ("ts,s,d,w\n1,a,b,2\n2019-01-01,a,b,3\n", "Row #3.*invalid value '2019-01-01'"),
    "no weight": ("ts,s,d,w\n1,a,b,2\n1,a,b,\n", "no number in column 4 of line 3"),
    "NaN weight": ("ts,s,d,w\n1,a,b,nan\n", "no number in column 4 of line 2"),
    "a column short": ("ts,s,d\n1,a,b\n", "at least 4 columns"),
    "a row short": ("ts,s,d,w\n1,a,b,2\n1,a\n", "Row #3: Expected 4 columns, got 2"),
    "no rows": ("ts,s,d,w\n", "not the CSV file expected"),
    "empty": ("", "not the CSV file expected"),
}


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD.keys())
def test_a_bad_file_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    info = dataset_info("tgbl-coin")
    (tmp_path / info.raw_files[0]).write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        tgbl.read_weighted(tmp_path, info)
    assert info.raw_files[0] in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"tgbl-coin_edgelist_v2\.csv does not exist"):
        tgbl.read_weighted(tmp_path, dataset_info("tgbl-coin"))
