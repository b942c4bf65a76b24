"""Names of nodes: strangers get numbers of their own."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from keat.errors import Notice
from keat.runs.node_names import NodeNames

LABELS = pa.array(["ann", "bob", "shop", "ann"], pa.large_string())


def test_strangers_of_the_two_sides_are_different_nodes() -> None:
    names = NodeNames(LABELS, np.array([0, 0, 1, 1], dtype=np.int8))
    with pytest.warns(Notice, match="answered about as a stranger"):
        src, dst = names.ends_written(["eve", "ann", "eve", "bob"], ["kiosk", "kiosk", "shop", "eve"])
    assert src.tolist() == [4, 0, 4, 1]
    assert dst.tolist() == [5, 5, 2, 6]  # a shop called eve is not the customer called so


def test_without_sides_a_stranger_is_one_node_on_either_end() -> None:
    names = NodeNames(LABELS[:3])
    with pytest.warns(Notice, match="'eve' and 1 more are new to this run"):
        src, dst = names.ends_written(["eve", "ann"], ["bob", "kim"])
    assert (src.tolist(), dst.tolist()) == ([3, 0], [1, 4])
    with pytest.warns(Notice, match="'eve' is new"):
        src, dst = names.ends_written(["eve"], ["eve"])
    assert src.tolist() == dst.tolist() == [3]


def test_labels_of_many_nodes_are_those_of_each() -> None:
    names = NodeNames(LABELS)
    nodes = np.array([3, 0, 2], dtype=np.int32)
    assert names.labels_of(nodes).to_pylist() == [names.label(node) for node in nodes.tolist()]
