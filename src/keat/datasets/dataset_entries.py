"""The datasets keat knows by name, an entry for each.

Statistics are those of the paper and of TGB's site unless a note says otherwise. A test compares addresses,
versions, metrics and class counts with py-tgb's own tables, so that drift is noticed.
"""

from __future__ import annotations

from typing import Any

from keat.datasets.dataset_info import DatasetInfo, Reader
from keat.datasets.dgraphfin import read_contacts
from keat.datasets.jodie import read_interactions
from keat.datasets.tgbl import read_comments, read_flights, read_weighted
from keat.datasets.tgbn import read_genres, read_subreddits, read_tokens, read_trade
from keat.errors import unknown_name

_TGB_FILES = "https://object-arbutus.alliancecan.ca/swift/v1/14c95234f6cd4a21a47deafe20cce2a7/tgb/"
_JODIE_FILES = "http://snap.stanford.edu/jodie/"

_LOG2_WEIGHT = "The feature is log2(weight); it was an all-zero column in py-tgb ≤ 2.0, as in the paper."
_JODIE_MADE = (
    "Statistics are the published ones of the JODIE graph it is made of, not recounted on this file."
)
_PERSON_TWICE = (
    "py-tgb shifts receivers behind senders, so a person has two ids and `nodes` counts people; its one "
    "feature is the running row number. Statistics are the published ones of the graph it is made of."
)


def _tgbl(
    name: str,
    statistics: tuple[int, int, int, float | None],
    *,
    reader: Reader = read_interactions,
    version: int = 1,
    more_files: tuple[str, ...] = (),
    **more: Any,
) -> DatasetInfo:
    suffix = f"_v{version}" if version > 1 else ""
    archive = f"{name}-v{version}.zip" if version > 1 else f"{name}.zip"
    return DatasetInfo(
        name=name,
        family="tgbl",
        task="link-ranking",
        metric="mrr",
        url=_TGB_FILES + archive,
        homepage="https://tgb.complexdatalab.com/docs/linkprop/",
        version=version,
        raw_files=(f"{name}_edgelist{suffix}.csv", *(f"{stem}{suffix}.csv" for stem in more_files)),
        negative_files=(f"{name}_val_ns{suffix}.pkl", f"{name}_test_ns{suffix}.pkl"),
        archive=archive,
        reader=reader,
        catalogue="ids",
        **_named(*statistics),
        **more,
    )


def _tgbn(
    name: str, statistics: tuple[int, int, int, float], reader: Reader, *, msg_dim: int = 1, **more: Any
) -> DatasetInfo:
    return DatasetInfo(
        name=name,
        family="tgbn",
        task="node-property",
        metric="ndcg",
        msg_dim=msg_dim,
        paper_msg_dim=msg_dim,
        url=f"{_TGB_FILES}{name}.zip",
        homepage="https://tgb.complexdatalab.com/docs/nodeprop/",
        raw_files=(f"{name}_edgelist.csv", f"{name}_node_labels.csv"),
        archive=f"{name}.zip",
        reader=reader,
        **_named(*statistics),
        **more,
    )


def _jodie(
    name: str, file: str, statistics: tuple[int, int, int], msg_dim: int, notes: str = ""
) -> DatasetInfo:
    return DatasetInfo(
        name=name,
        family="jodie",
        task="link-classification",
        metric="ap",
        msg_dim=msg_dim,
        paper_msg_dim=msg_dim,
        negatives=("random", 1),
        url=_JODIE_FILES + file,
        homepage=_JODIE_FILES,
        raw_files=(file,),
        notes=notes,
        reader=read_interactions,
        catalogue="ids of the split",  # as PyG draws them
        **_named(*statistics),
    )


def _named(nodes: int, edges: int, steps: int, surprise: float | None = None) -> dict[str, Any]:
    return {"nodes": nodes, "edges": edges, "steps": steps, "surprise": surprise}


_ALL = (
    _tgbl(
        "tgbl-wiki",
        (9_227, 157_474, 152_757, 0.108),
        msg_dim=172,
        paper_msg_dim=172,
        negatives=("all", None),
        version=2,
        licence="MIT",
        notes="999 negatives a positive; 998 for two of each split, whose user edits twice in a second.",
    ),
    _tgbl(
        "tgbl-review",
        (352_637, 4_873_540, 6_865, 0.987),
        reader=read_weighted,
        msg_dim=1,
        paper_msg_dim=1,
        negatives=("hist-rnd", 100),
        version=2,
        licence="Amazon review licence",
        notes=_LOG2_WEIGHT
        + " Days, in unix seconds. A v3 exists that mends the bipartition; v2 is the default.",
    ),
    _tgbl(
        "tgbl-coin",
        (638_486, 22_809_486, 1_295_720, 0.120),
        reader=read_weighted,
        msg_dim=1,
        paper_msg_dim=1,
        negatives=("hist-rnd", 20),
        version=2,
        licence="CC BY-NC",
        notes=_LOG2_WEIGHT,
    ),
    _tgbl(
        "tgbl-comment",
        (994_790, 44_314_507, 30_998_030, 0.823),
        reader=read_comments,
        msg_dim=3,
        paper_msg_dim=2,
        negatives=("hist-rnd", 20),
        licence="CC BY-NC",
        notes="Features: words/5000 twice, then the score, which py-tgb ≤ 2.0 left out.",
    ),
    _tgbl(
        "tgbl-flight",
        (18_143, 67_169_570, 1_385, 0.024),
        reader=read_flights,
        msg_dim=16,
        paper_msg_dim=16,
        negatives=("hist-rnd", 20),
        version=2,
        more_files=("airport_node_feat",),
        licence="OpenSky Network terms",
        notes="Days, in unix seconds of midnight in US Eastern time. 20 features an airport.",
    ),
    _tgbl(
        "tgbl-uci",
        (1_899, 59_835, 58_911, None),
        msg_dim=1,
        negatives=("hist-rnd", 1000),
        notes=_PERSON_TWICE,
    ),
    _tgbl(
        "tgbl-enron",
        (184, 125_235, 22_632, None),
        msg_dim=1,
        negatives=("hist-rnd", 1000),
        notes=_PERSON_TWICE + " 1000 is more than there are receivers: the negatives are all the others.",
    ),
    _tgbl(
        "tgbl-lastfm",
        (1_980, 1_293_103, 1_283_614, None),
        msg_dim=None,
        negatives=("all", None),
        notes=_JODIE_MADE + " py-tgb asks for 2000 negatives, more than there are songs.",
    ),
    _tgbl(
        "tgbl-subreddit",
        (10_984, 672_447, 669_065, None),
        msg_dim=None,
        negatives=("hist-rnd", 1000),
        notes=_JODIE_MADE,
    ),
    _tgbn(
        "tgbn-trade",
        (255, 468_245, 32, 0.023),
        read_trade,
        num_classes=255,
        unit="year",
        licence="MIT",
        notes="Classes are the nations themselves. Time is the year, so most gaps are 0 or 1.",
    ),
    _tgbn("tgbn-genre", (1_505, 17_858_395, 133_758, 0.005), read_genres, num_classes=513, licence="MIT"),
    _tgbn(
        "tgbn-reddit",
        (11_766, 27_174_118, 21_889_537, 0.013),
        read_subreddits,
        num_classes=698,
        licence="CC BY-NC",
    ),
    _tgbn(
        "tgbn-token",
        (61_756, 72_936_998, 2_036_524, 0.014),
        read_tokens,
        num_classes=1001,
        msg_dim=2,
        licence="CC BY-NC",
        notes="Features: log(value), is-sender. py-tgb takes the log only when it loads its own cache, "
        "not on the run that makes it; keat always does.",
    ),
    _jodie("jodie-wiki", "wikipedia.csv", (9_227, 157_474, 152_757), msg_dim=172, notes="As tgbl-wiki."),
    _jodie(
        "jodie-reddit",
        "reddit.csv",
        (10_984, 672_447, 669_065),
        msg_dim=172,
        notes="The paper prints 6,509 nodes and 25,470 edges, a slip in PyG's documentation.",
    ),
    _jodie("jodie-mooc", "mooc.csv", (7_144, 411_749, 345_600), msg_dim=4),
    _jodie("jodie-lastfm", "lastfm.csv", (1_980, 1_293_103, 1_283_614), msg_dim=2),
    DatasetInfo(
        name="dgraphfin",
        family="dgraphfin",
        task="node-label",
        metric="auc",
        nodes=3_700_550,
        edges=4_300_999,
        msg_dim=1,
        unit="day",
        num_classes=2,
        url=None,
        homepage="https://dgraph.xinye.com",
        raw_files=("dgraphfin.npz",),
        archive="DGraphFin.zip",
        reader=read_contacts,
        notes="Days 1 to 821, anonymized. 17 features a node, -1 where missing; the edge feature is its "
        "type, 1 to 11. Classes 2 and 3 are background nodes, never asked for.",
    ),
)

DATASETS: dict[str, DatasetInfo] = {info.name: info for info in _ALL}


def dataset_info(name: str) -> DatasetInfo:
    """The entry of ``name``; an unknown name is an error that says the nearest known one."""
    if name not in DATASETS:
        raise unknown_name("dataset", name, DATASETS)
    return DATASETS[name]
