"""The datasets keat knows by name: what they are, where they come from, what is published about them.

Statistics are those of the paper and of TGB's site unless a note says otherwise; ``None`` means not
established, never zero. A test compares addresses, versions, metrics and class counts with py-tgb's
own tables, so that drift is noticed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from keat.errors import unknown_name
from keat.events import TimeUnit

Family = Literal["tgbl", "tgbn", "jodie", "dgraphfin"]
Task = Literal["link-ranking", "link-classification", "node-property", "node-label"]
Metric = Literal["mrr", "ap", "ndcg", "auc"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetInfo:
    """One dataset. ``url`` is None where the owner only hands the file out by hand."""

    name: str
    family: Family
    task: Task
    metric: Metric
    nodes: int | None
    edges: int | None
    steps: int | None  # distinct timestamps
    surprise: float | None  # share of test edges never seen before, as published
    msg_dim: int | None  # edge features, as py-tgb ≥ 2.1 and PyG make them
    paper_msg_dim: int | None  # as they were when the paper was written; see notes
    unit: TimeUnit
    negatives: tuple[str, int | None] | None  # (strategy, requested per positive); None: not a link task
    num_classes: int | None = None
    url: str | None
    homepage: str
    version: int = 1
    raw_files: tuple[str, ...]  # what the parser reads
    negative_files: tuple[str, ...] = ()  # official negatives, validation then test
    archive: str | None = None  # the zip that holds the files; None: the address is the file itself
    sha256: str | None = None  # of what `url` serves; no publisher states one so far
    licence: str | None = None
    notes: str = ""

    @property
    def download_name(self) -> str:
        """Name of the file a download brings: the archive, or the only raw file."""
        return self.archive or self.raw_files[0]


_TGB_FILES = "https://object-arbutus.alliancecan.ca/swift/v1/14c95234f6cd4a21a47deafe20cce2a7/tgb/"
_JODIE_FILES = "http://snap.stanford.edu/jodie/"

_LOG2_WEIGHT = "The feature is log2(weight); it was an all-zero column in py-tgb ≤ 2.0, as in the paper. "
_JODIE_MADE = (
    "Statistics are the published ones of the JODIE graph it is made of, not recounted on this file. "
)
_PERSON_TWICE = (
    "py-tgb shifts receivers behind senders, so a person has two ids and `nodes` counts people; its one "
    "feature is the running row number. Statistics are the published ones of the graph it is made of. "
)


def _tgbl(
    name: str,
    *,
    stats: tuple[int, int, int, float | None],
    msg_dim: int | None,
    paper_msg_dim: int | None = None,
    negatives: tuple[str, int | None],
    version: int = 1,
    extra_files: tuple[str, ...] = (),
    licence: str | None = None,
    notes: str = "",
) -> DatasetInfo:
    suffix = f"_v{version}" if version > 1 else ""
    archive = f"{name}-v{version}.zip" if version > 1 else f"{name}.zip"
    nodes, edges, steps, surprise = stats
    return DatasetInfo(
        name=name,
        family="tgbl",
        task="link-ranking",
        metric="mrr",
        nodes=nodes,
        edges=edges,
        steps=steps,
        surprise=surprise,
        msg_dim=msg_dim,
        paper_msg_dim=paper_msg_dim,
        unit="s",
        negatives=negatives,
        url=_TGB_FILES + archive,
        homepage="https://tgb.complexdatalab.com/docs/linkprop/",
        version=version,
        raw_files=(f"{name}_edgelist{suffix}.csv", *(f"{stem}{suffix}.csv" for stem in extra_files)),
        negative_files=(f"{name}_val_ns{suffix}.pkl", f"{name}_test_ns{suffix}.pkl"),
        archive=archive,
        licence=licence,
        notes=notes.strip(),
    )


def _tgbn(
    name: str,
    *,
    stats: tuple[int, int, int, float],
    num_classes: int,
    msg_dim: int = 1,
    unit: TimeUnit = "s",
    licence: str,
    notes: str = "",
) -> DatasetInfo:
    nodes, edges, steps, surprise = stats
    return DatasetInfo(
        name=name,
        family="tgbn",
        task="node-property",
        metric="ndcg",
        nodes=nodes,
        edges=edges,
        steps=steps,
        surprise=surprise,
        msg_dim=msg_dim,
        paper_msg_dim=msg_dim,
        unit=unit,
        negatives=None,
        num_classes=num_classes,
        url=f"{_TGB_FILES}{name}.zip",
        homepage="https://tgb.complexdatalab.com/docs/nodeprop/",
        raw_files=(f"{name}_edgelist.csv", f"{name}_node_labels.csv"),
        archive=f"{name}.zip",
        licence=licence,
        notes=notes,
    )


def _jodie(
    name: str, file: str, *, stats: tuple[int, int, int], msg_dim: int, notes: str = ""
) -> DatasetInfo:
    nodes, edges, steps = stats
    return DatasetInfo(
        name=name,
        family="jodie",
        task="link-classification",
        metric="ap",
        nodes=nodes,
        edges=edges,
        steps=steps,
        surprise=None,
        msg_dim=msg_dim,
        paper_msg_dim=msg_dim,
        unit="s",
        negatives=("random", 1),
        url=_JODIE_FILES + file,
        homepage="http://snap.stanford.edu/jodie/",
        raw_files=(file,),
        notes=notes,
    )


_ALL = (
    _tgbl(
        "tgbl-wiki",
        stats=(9_227, 157_474, 152_757, 0.108),
        msg_dim=172,
        paper_msg_dim=172,
        negatives=("all", None),
        version=2,
        licence="MIT",
        notes="999 negatives a positive; 998 for two of each split, whose user edits twice in a second.",
    ),
    _tgbl(
        "tgbl-review",
        stats=(352_637, 4_873_540, 6_865, 0.987),
        msg_dim=1,
        paper_msg_dim=1,
        negatives=("hist-rnd", 100),
        version=2,
        licence="Amazon review licence",
        notes=_LOG2_WEIGHT
        + "Days, in unix seconds. A v3 exists that mends the bipartition; v2 is the default.",
    ),
    _tgbl(
        "tgbl-coin",
        stats=(638_486, 22_809_486, 1_295_720, 0.120),
        msg_dim=1,
        paper_msg_dim=1,
        negatives=("hist-rnd", 20),
        version=2,
        licence="CC BY-NC",
        notes=_LOG2_WEIGHT,
    ),
    _tgbl(
        "tgbl-comment",
        stats=(994_790, 44_314_507, 30_998_030, 0.823),
        msg_dim=3,
        paper_msg_dim=2,
        negatives=("hist-rnd", 20),
        licence="CC BY-NC",
        notes="Features: words/5000 twice, then the score, which py-tgb ≤ 2.0 left out.",
    ),
    _tgbl(
        "tgbl-flight",
        stats=(18_143, 67_169_570, 1_385, 0.024),
        msg_dim=16,
        paper_msg_dim=16,
        negatives=("hist-rnd", 20),
        version=2,
        extra_files=("airport_node_feat",),
        licence="OpenSky Network terms",
        notes="Days, in unix seconds of midnight in US Eastern time. 20 features an airport.",
    ),
    _tgbl(
        "tgbl-uci",
        stats=(1_899, 59_835, 58_911, None),
        msg_dim=1,
        negatives=("hist-rnd", 1000),
        notes=_PERSON_TWICE,
    ),
    _tgbl(
        "tgbl-enron",
        stats=(184, 125_235, 22_632, None),
        msg_dim=1,
        negatives=("hist-rnd", 1000),
        notes=_PERSON_TWICE + "1000 is more than there are receivers: the negatives are all the others.",
    ),
    _tgbl(
        "tgbl-lastfm",
        stats=(1_980, 1_293_103, 1_283_614, None),
        msg_dim=None,
        negatives=("all", None),
        notes=_JODIE_MADE + "py-tgb asks for 2000 negatives, more than there are songs.",
    ),
    _tgbl(
        "tgbl-subreddit",
        stats=(10_984, 672_447, 669_065, None),
        msg_dim=None,
        negatives=("hist-rnd", 1000),
        notes=_JODIE_MADE,
    ),
    _tgbn(
        "tgbn-trade",
        stats=(255, 468_245, 32, 0.023),
        num_classes=255,
        unit="year",
        licence="MIT",
        notes="Classes are the nations themselves. Time is the year, so most gaps are 0 or 1.",
    ),
    _tgbn("tgbn-genre", stats=(1_505, 17_858_395, 133_758, 0.005), num_classes=513, licence="MIT"),
    _tgbn("tgbn-reddit", stats=(11_766, 27_174_118, 21_889_537, 0.013), num_classes=698, licence="CC BY-NC"),
    _tgbn(
        "tgbn-token",
        stats=(61_756, 72_936_998, 2_036_524, 0.014),
        num_classes=1001,
        msg_dim=2,
        licence="CC BY-NC",
        notes="Features: log(value), is-sender. py-tgb takes the log only when it loads its own cache, "
        "not on the run that makes it; keat always does.",
    ),
    _jodie(
        "jodie-wiki", "wikipedia.csv", stats=(9_227, 157_474, 152_757), msg_dim=172, notes="As tgbl-wiki."
    ),
    _jodie(
        "jodie-reddit",
        "reddit.csv",
        stats=(10_984, 672_447, 669_065),
        msg_dim=172,
        notes="The paper prints 6,509 nodes and 25,470 edges, a slip in PyG's documentation.",
    ),
    _jodie("jodie-mooc", "mooc.csv", stats=(7_144, 411_749, 345_600), msg_dim=4),
    _jodie("jodie-lastfm", "lastfm.csv", stats=(1_980, 1_293_103, 1_283_614), msg_dim=2),
    DatasetInfo(
        name="dgraphfin",
        family="dgraphfin",
        task="node-label",
        metric="auc",
        nodes=3_700_550,
        edges=4_300_999,
        steps=None,
        surprise=None,
        msg_dim=1,
        paper_msg_dim=None,
        unit="day",
        negatives=None,
        num_classes=2,
        url=None,
        homepage="https://dgraph.xinye.com",
        raw_files=("dgraphfin.npz",),
        archive="DGraphFin.zip",
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
