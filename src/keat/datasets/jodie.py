"""JODIE's interaction files, which TGB's wiki, uci, enron, lastfm and subreddit files share.

``user,item,time,label,feature,feature,…`` under a header that does not count the features.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from keat.datasets.dataset_info import DatasetInfo
from keat.datasets.raw_csv import FLOAT, count_columns, read_columns, refuse_first
from keat.errors import InputError
from keat.events import EventStream


def read_interactions(raw: Path, info: DatasetInfo) -> EventStream:
    """Users keep their numbers, items follow them (item + max user + 1), fractions of a second are cut
    off, and the state label becomes the event's label: what PyG's and py-tgb's readers do."""
    path = raw / info.raw_files[0]
    width = count_columns(path)
    if width < 4:
        raise InputError(f"{path} needs user, item, time and label, but has {width} columns; fetch it again.")
    columns = read_columns(path, dict.fromkeys(range(width), FLOAT))
    users = _whole(columns[0].to_numpy(), path, "user")
    items = _whole(columns[1].to_numpy(), path, "item") + int(users.max()) + 1
    features = np.empty((len(users), width - 4), dtype=np.float32)
    for position in range(4, width):
        features[:, position - 4] = columns[position].to_numpy()
    return EventStream.from_arrays(
        users,
        items,
        columns[2].to_numpy().astype(np.int64),
        features,
        unit=info.unit,
        labels=columns[3].to_numpy().astype(np.int64),
        name=info.name,
    )


def _whole(numbers: npt.NDArray[np.float64], path: Path, what: str) -> npt.NDArray[np.int64]:
    """Ids are written as 7 in some of these files and as 7.0 in others."""
    whole = numbers.astype(np.int64)
    refuse_first(whole != numbers, numbers, path, what, "not a whole number")
    return whole
