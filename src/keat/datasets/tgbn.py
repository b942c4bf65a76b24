"""TGB's node-property files: an edge list, and labels ``time,node,class,weight`` over time.

In all but tgbn-trade a class (a genre, a subreddit, a token) is a node too: classes are numbered
0 … C-1 and users follow from C on, both in the order of their first appearance, as in py-tgb.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from keat.datasets.dataset_info import DatasetInfo
from keat.datasets.raw_csv import FLOAT, INT, NAME, look_up, number_names, read_columns, refuse_first
from keat.errors import InputError
from keat.events import EventStream, IdMap, NodeLabels


def read_trade(raw: Path, info: DatasetInfo) -> EventStream:
    """tgbn-trade, ``year,nation,nation,value``: the classes are the nations, the feature is the value."""
    columns = read_columns(raw / info.raw_files[0], {0: INT, 1: NAME, 2: NAME, 3: FLOAT})
    (src, dst), nations = number_names(columns[1], columns[2])
    return EventStream.from_arrays(
        src,
        dst,
        columns[0].to_numpy(),
        columns[3].to_numpy().astype(np.float32)[:, None],
        num_nodes=len(nations),
        unit=info.unit,
        node_labels=_read_labels(raw / info.raw_files[1], nations, nations, 0, len(nations)),
        ids=IdMap(nations),
        name=info.name,
    )


def read_genres(raw: Path, info: DatasetInfo) -> EventStream:
    """tgbn-genre, ``time,user,genre,weight``: the feature is the weight."""
    columns = read_columns(raw / info.raw_files[0], {0: INT, 1: NAME, 2: NAME, 3: FLOAT})
    return _bipartite(raw, info, columns, [columns[3].to_numpy()])


def read_subreddits(raw: Path, info: DatasetInfo) -> EventStream:
    """tgbn-reddit, ``time,user,subreddit,words,score``: the feature is the score."""
    columns = read_columns(raw / info.raw_files[0], {0: FLOAT, 1: NAME, 2: NAME, 4: INT})
    return _bipartite(raw, info, columns, [columns[4].to_numpy()])


def read_tokens(raw: Path, info: DatasetInfo) -> EventStream:
    """tgbn-token, ``time,user,token,value,is-sender``: the features are log(value) and is-sender.

    py-tgb takes the logarithm only when it loads its cached file, not on the run that first reads the
    CSV, so its first run trains on raw values up to 1e30; here it is always taken.
    """
    path = raw / info.raw_files[0]
    columns = read_columns(path, {0: FLOAT, 1: NAME, 2: NAME, 3: FLOAT, 4: FLOAT})
    value = columns[3].to_numpy()
    refuse_first(value <= 0, value, path, "value", "which has no logarithm")
    return _bipartite(raw, info, columns, [np.log(value), columns[4].to_numpy()])


def _bipartite(
    raw: Path,
    info: DatasetInfo,
    columns: dict[int, pa.ChunkedArray],
    features: list[npt.NDArray[np.float64]],
) -> EventStream:
    (user,), users = number_names(columns[1])
    (cls,), classes = number_names(columns[2])
    num_classes = info.num_classes or len(classes)
    if len(classes) > num_classes:
        raise InputError(
            f"{raw / info.raw_files[0]} has {len(classes)} classes, {info.name} has {num_classes}."
        )
    labels = _read_labels(raw / info.raw_files[1], users, classes, num_classes, num_classes)
    return EventStream.from_arrays(
        user + np.int32(num_classes),
        cls,
        columns[0].to_numpy().astype(np.int64, copy=False),
        np.stack(features, axis=1, dtype=np.float32, casting="unsafe"),
        num_nodes=num_classes + len(users),
        unit=info.unit,
        node_labels=labels,
        ids=_names(classes, users, num_classes),
        name=info.name,
    )


def _read_labels(
    path: Path, nodes: pa.Array, classes: pa.Array, first_node: int, num_classes: int
) -> NodeLabels:
    columns = read_columns(path, {0: INT, 1: NAME, 2: NAME, 3: FLOAT})
    return NodeLabels.from_long(
        columns[0].to_numpy(),
        look_up(columns[1], nodes, path, "node") + np.int32(first_node),
        look_up(columns[2], classes, path, "class"),
        columns[3].to_numpy().astype(np.float32),
        num_classes,
    )


def _names(classes: pa.Array, users: pa.Array, num_classes: int) -> IdMap:
    """Names by node number. A user who is called like a class gets the prefix ``user:``, and a class
    number that no edge uses is called ``class:`` and its number, so that every name is one node's."""
    unused = pa.array([f"class:{number}" for number in range(len(classes), num_classes)], pa.string())
    taken = pc.is_in(users, value_set=classes)
    renamed = pc.if_else(taken, pc.binary_join_element_wise("user", users, ":"), users)
    return IdMap(pa.concat_arrays([classes, unused, renamed]))
