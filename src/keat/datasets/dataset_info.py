"""What is known of a public dataset: where it is, how it is read and asked, what is published of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from keat.events import EventStream, TimeUnit

Family = Literal["tgbl", "tgbn", "jodie", "dgraphfin"]
TaskKind = Literal["link-ranking", "link-classification", "node-property", "node-label", "edge-attribute"]
Metric = Literal["mrr", "ap", "ndcg", "auc"]
# Whom negatives are drawn from: destinations that occur, or every id between the lowest and the highest of
# the whole stream or of the split, which may be of nodes that never are a destination.
Catalogue = Literal["occurring", "ids", "ids of the split"]
Reader = Callable[[Path, "DatasetInfo"], EventStream]  # of the folder with the raw files


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetInfo:
    """One dataset. ``None`` means not established, never zero; ``url`` is None where the owner only hands the
    file out by hand."""

    name: str
    family: Family
    task: TaskKind
    metric: Metric
    nodes: int | None
    edges: int | None
    steps: int | None = None  # distinct timestamps
    surprise: float | None = None  # share of test edges never seen before, as published
    msg_dim: int | None  # edge features, as py-tgb ≥ 2.1 and PyG make them
    paper_msg_dim: int | None = None  # as they were when the paper was written; see notes
    unit: TimeUnit = "s"
    negatives: tuple[str, int | None] | None = (
        None  # (strategy, requested per positive); None: not a link task
    )
    num_classes: int | None = None
    url: str | None
    homepage: str
    version: int = 1
    raw_files: tuple[str, ...]  # what the reader reads
    negative_files: tuple[str, ...] = ()  # official negatives, validation then test
    archive: str | None = None  # the zip that holds the files; None: the address is the file itself
    sha256: str | None = None  # of what `url` serves; no publisher states one so far
    licence: str | None = None
    notes: str = ""
    reader: Reader = field(repr=False)
    catalogue: Catalogue = (
        "occurring"  # of its own task, and of training where it is that of the whole stream
    )

    @property
    def download_name(self) -> str:
        """Name of the file a download brings: the archive, or the only raw file."""
        return self.archive or self.raw_files[0]

    def to_json(self) -> dict[str, Any]:
        """All that is known, without the reader, which is code."""
        return {name: value for name, value in asdict(self).items() if name != "reader"}
