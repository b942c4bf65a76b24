"""Features of nodes from a file: found by name, zeros where there are none, everything odd told."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from keat.datasets.loading import load
from keat.disk import typed
from keat.errors import InputError, Notice
from keat.events import Reading, read_events
from keat.events.splitting import split

NAMES = pa.table({"src": ["a", "b", "a"], "dst": ["x", "y", "y"], "t": [1, 2, 3]})
NUMBERS = pa.table({"src": [3, 4], "dst": [5, 3], "t": [1, 2]})
SIDES = pa.table({"src": [0, 1], "dst": [0, 2], "t": [1, 2]})


def write(folder: Path, text: str) -> Path:
    path = folder / "nodes.csv"
    path.write_text(text)
    return path


def of(stream: Any) -> dict[Any, list[float]]:
    return {stream.ids.label(node): stream.node_features[node].tolist() for node in range(stream.num_nodes)}


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_nodes_are_found_by_name(kind: str, tmp_path: Path) -> None:
    path = write(tmp_path, "age,node,rich\n30,y,1\n40, a,0\n50,b,1\n60,x,0\n")
    if kind == "parquet":
        path = tmp_path / "nodes.parquet"
        table = pa.table({"node": ["y", "a", "b", "x"], "age": [30, 40, 50, 60], "rich": [True, False] * 2})
        pq.write_table(table, path)
    stream = read_events(NAMES, node_features=path)
    assert of(stream) == {"a": [40, 0], "x": [60, 0], "b": [50, 1], "y": [30, 1]}
    assert stream.node_features is not None
    assert stream.node_features.dtype == np.float32


def test_the_first_column_names_the_node(tmp_path: Path) -> None:
    path = write(tmp_path, "account;age\n3;1.5\n4;2.5\n5;3.5\n")
    assert of(read_events(NUMBERS, node_features=path, delimiter=";")) == {3: [1.5], 4: [2.5], 5: [3.5]}


def test_nodes_without_a_row_get_zeros_and_strangers_are_left_out(tmp_path: Path) -> None:
    path = write(tmp_path, "node,age\n3,1\n03,9\n77,9\nsomebody,9\n5,2\n")
    with pytest.warns(Notice) as told:
        stream = read_events(NUMBERS, node_features=path, name="few")
    assert of(stream) == {3: [1], 4: [0], 5: [2]}
    said = [str(each.message) for each in told]
    assert said[0].endswith(f"nodes in {path} do not occur in few and are left out (the first is '03').")
    assert said[0].startswith("3 of the 5")
    assert said[1] == f"1 of the 3 nodes of few have no row in {path}; their features are zeros."


def test_two_kinds_of_node(tmp_path: Path) -> None:
    path = write(tmp_path, "node,side,age\n0,src,1\n1,src,2\n0,dst,3\n2,dst,4\n")
    stream = read_events(SIDES, node_features=path, bipartite=True)
    assert stream.node_features is not None
    assert stream.node_features.tolist() == [[1], [2], [3], [4]]
    write(tmp_path, "node,age\n1,2\n2,4\n")
    with pytest.warns(Notice, match="2 of the 4 nodes of pairs have no row"):
        found = read_events(SIDES, node_features=path, bipartite=True, name="pairs")
    assert found.node_features is not None
    assert found.node_features.tolist() == [[0], [2], [0], [4]]


BAD = [
    ("not there", None, r"nodes\.csv does not exist"),
    ("alone", "node\n3\n4\n", r"nodes\.csv has no column beside 'node', which names the nodes; add numbers"),
    ("text", "node,age\n3,old\n4,1\n", r"column 'age', data row 1: 'old' is not a number; features of nodes"),
    ("missing", "node,age\n3,1\n4,\n", r"column 'age', data row 2: the value is missing"),
    ("infinite", "node,age\n3,1\n4,inf\n", r"column 'age', data row 2: inf is not a finite float32"),
    (
        "twice",
        "node,age\n3,1\n4,1\n5,1\n3,2\n",
        r"data row 4: the node '3' has a row already; keep one of the",
    ),
    (
        "nobody",
        "node,size\n30,1\n40,1\n",
        r"None of the 2 nodes in column 'node' of .*nodes\.csv occurs in few",
    ),
    ("one name", "node,a,a\n3,1,1\n", r"nodes\.csv has two columns of one name"),
    ("no rows", "node,age\n", r"nodes\.csv has columns but no rows; give at least one node"),
    ("empty", "", r"nodes\.csv is empty"),
]


@pytest.mark.parametrize(("text", "message"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
def test_what_is_wrong_is_one_sentence(text: str | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "nodes.csv" if text is None else write(tmp_path, text)
    with pytest.raises(InputError, match=message) as raised:
        read_events(NUMBERS, node_features=path, name="few")
    assert str(raised.value).endswith(".")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("node,age\n0,1\n", "'0' is a source and a destination, .* add a column 'side' that says src or dst"),
        ("node,side,age\n0,left,1\n", "column 'side', data row 1: 'left' is neither src nor dst"),
    ],
)
def test_sides_must_be_clear(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        read_events(SIDES, node_features=write(tmp_path, text), bipartite=True)


def test_scales_of_nodes_come_from_those_in_training(tmp_path: Path) -> None:
    """Nodes 0 to 4 meet in training, 5 and 6 only later; 4 has no row."""
    src = np.where(np.arange(100) < 80, np.arange(100) % 4, 5)
    table = pa.table({"src": src, "dst": np.where(np.arange(100) < 80, 4, 6), "t": np.arange(100)})
    assert {*split(read_events(table)).train.src} == {0, 1, 2, 3}
    rows = "".join(f"{node},{age}\n" for node, age in ((0, 1), (1, 3), (2, 5), (3, 7), (5, 4000), (6, 4)))
    with pytest.warns(Notice, match="1 of the 7 nodes"):
        data = load(table, node_features=write(tmp_path, "node,age\n" + rows), scale=True)
    assert data.stream.node_features is not None
    expected = (np.array([1, 3, 5, 7, 4, 4000, 4]) - 4) / np.sqrt(5)
    np.testing.assert_allclose(data.stream.node_features[:, 0], expected, rtol=1e-6)
    assert data.reading is not None
    assert typed(Reading, asdict(data.reading)) == data.reading


def test_large_features_of_nodes_are_told_of(tmp_path: Path) -> None:
    path = write(tmp_path, "node,income\n3,50000\n4,1\n5,1\n")
    with pytest.warns(Notice, match="column 'income': values reach 50,000 and are not scaled"):
        read_events(NUMBERS, node_features=path)
