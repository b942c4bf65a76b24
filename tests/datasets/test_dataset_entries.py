"""The registry, against py-tgb's and PyG's own tables."""

from __future__ import annotations

import pytest

from keat.datasets.dataset_entries import DATASETS, dataset_info
from keat.datasets.dataset_info import DatasetInfo
from keat.errors import UnknownNameError

ALL = list(DATASETS.values())
TGB = [info for info in ALL if info.family in ("tgbl", "tgbn")]


def test_every_dataset_of_the_paper_and_the_newer_ones_are_there() -> None:
    links = ["wiki", "review", "coin", "comment", "flight", "uci", "enron", "lastfm", "subreddit"]
    nodes = ["trade", "genre", "reddit", "token"]
    jodie = ["wiki", "reddit", "mooc", "lastfm"]
    expected = {f"tgbl-{n}" for n in links} | {f"tgbn-{n}" for n in nodes} | {f"jodie-{n}" for n in jodie}
    assert set(DATASETS) == expected | {"dgraphfin"}
    assert all(name == info.name for name, info in DATASETS.items())


@pytest.mark.parametrize("info", TGB, ids=lambda info: info.name)
def test_address_version_metric_and_classes_are_those_of_py_tgb(info: DatasetInfo) -> None:
    tgb = pytest.importorskip("tgb.utils.info")
    assert info.url == tgb.DATA_URL_DICT[info.name]
    assert info.version == tgb.DATA_VERSION_DICT[info.name]
    assert info.metric == tgb.DATA_EVAL_METRIC_DICT[info.name]
    assert info.num_classes == tgb.DATA_NUM_CLASSES.get(info.name)
    assert (info.negatives is not None) == (info.name in tgb.DATA_NS_STRATEGY_DICT)


@pytest.mark.parametrize("info", TGB, ids=lambda info: info.name)
def test_file_names_are_those_py_tgb_looks_for(info: DatasetInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    """py-tgb names the file it misses; for the rest of its names there is no other way in."""
    kind = "linkproppred" if info.family == "tgbl" else "nodeproppred"
    module = pytest.importorskip(f"tgb.{kind}.dataset")
    cls = module.LinkPropPredDataset if info.family == "tgbl" else module.NodePropPredDataset
    seen: dict[str, str] = {}

    def stop(self: object) -> None:
        seen.update({k: str(v).rsplit("/")[-1] for k, v in vars(self)["meta_dict"].items()})
        raise InterruptedError

    monkeypatch.setattr(cls, "download", stop)
    with pytest.raises(InterruptedError):
        cls(name=info.name)
    assert seen["fname"] == info.raw_files[0]
    if info.family == "tgbl":
        assert (seen["val_ns"], seen["test_ns"]) == info.negative_files
    if len(info.raw_files) > 1:
        assert seen["nodefile"] == info.raw_files[1]


def test_jodie_addresses_are_those_of_pyg() -> None:
    jodie = pytest.importorskip("torch_geometric.datasets").JODIEDataset
    urls = {info.url for info in ALL if info.family == "jodie"}
    assert urls == {jodie.url.format(name) for name in jodie.names}


def test_dgraphfin_comes_from_where_pyg_says() -> None:
    dgraph = pytest.importorskip("torch_geometric.datasets").DGraphFin
    info = dataset_info("dgraphfin")
    assert info.url is None
    assert info.homepage == dgraph.url
    assert info.archive == dgraph.raw_file_names.fget(None)
    assert info.num_classes == dgraph.num_classes.fget(None)


def test_negatives_of_the_protocol() -> None:
    assert {name: info.negatives for name, info in DATASETS.items() if info.family == "tgbl"} == {
        "tgbl-wiki": ("all", None),
        "tgbl-lastfm": ("all", None),
        "tgbl-review": ("hist-rnd", 100),
        "tgbl-coin": ("hist-rnd", 20),
        "tgbl-comment": ("hist-rnd", 20),
        "tgbl-flight": ("hist-rnd", 20),
        "tgbl-uci": ("hist-rnd", 1000),
        "tgbl-enron": ("hist-rnd", 1000),
        "tgbl-subreddit": ("hist-rnd", 1000),
    }
    assert all(info.negatives == ("random", 1) for info in ALL if info.family == "jodie")


@pytest.mark.parametrize("info", ALL, ids=lambda info: info.name)
def test_an_entry_is_whole(info: DatasetInfo) -> None:
    assert info.raw_files
    assert info.homepage.startswith("http")
    assert info.url is None or info.url.endswith(info.download_name)
    assert (info.num_classes is not None) == (info.task in ("node-property", "node-label"))
    assert info.edges is not None
    assert info.nodes is not None


def test_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Unknown dataset 'tgbl-wikki'; did you mean 'tgbl-wiki'"):
        dataset_info("tgbl-wikki")
