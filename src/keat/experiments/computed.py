"""Tables and figures that need no training: counted or computed whenever they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from torch import nn

from keat.analysis.novelty import surprise
from keat.datasets.dataset_entries import DATASETS
from keat.datasets.loading import Dataset, load
from keat.errors import InputError
from keat.experiments.published import paper
from keat.experiments.ranking import ranking
from keat.models.tgn import TGN, TGNConfig
from keat.report.figures.data_figures import gap_densities, spectral_densities
from keat.report.figures.made import Made
from keat.report.figures.theory import kernel_shapes, moment_decay

Make = Callable[[Mapping[str, str], Path, Path], Made]  # (sources, picture, ledger)


@dataclass(frozen=True, slots=True)
class Computed:
    """A table or figure that needs no training: how it is made, and what it needs."""

    title: str
    paper: str
    make: Make
    datasets: tuple[str, ...] = ()  # that the paper has it of
    needs_data: bool = False  # whether nothing can be made without a dataset
    reads_ledger: bool = False


TGBL = ("tgbl-wiki", "tgbl-review", "tgbl-coin", "tgbl-comment", "tgbl-flight")
TGBN = ("tgbn-trade", "tgbn-genre", "tgbn-reddit", "tgbn-token")
JODIE = ("jodie-wiki", "jodie-reddit", "jodie-mooc", "jodie-lastfm")
SIZES_CAPTION = (
    "The paper's sizes of jodie-reddit are those of the docstring of PyTorch Geometric's loader, "
    "not those of the file."
)

# What the paper's table of parameter counts calls the time encodings, and what they are called here.
ENCODINGS = {
    "GraphMixer": "fixed",
    "TGN/TGAT": "cosine",
    "LeTE-Fourier": "lete-fourier",
    "LeTE-Spline": "lete-spline",
    "LeTE-50/50": "lete",
}


def parameter_counts(*_: object) -> Made:
    """Counted on the model of tgbl-wiki's sizes (172 edge features)."""
    rows, totals = [], paper("parameters")
    for label, encoder in ENCODINGS.items():
        counts = counts_by_part(TGN(10, 172, 1.0, TGNConfig(time_encoder=encoder)))
        rows.append({"encoding": label, **counts, "paper's total": totals[label]})
    return Made(rows)


def counts_by_part(model: TGN) -> dict[str, int]:
    """Trainable parameters by part, as the paper counts them: memory and attention each with the time
    encoding they share, the total with it once."""

    def count(module: nn.Module) -> int:
        return sum(p.numel() for p in module.parameters() if p.requires_grad)

    encoding = count(model.time_encoder)
    parts = {
        "memory": count(model.memory),
        "attention": count(model.attention) + count(model.kernel) + encoding,
        "predictor": count(model.predictor),
    }
    return parts | {"time encoding": encoding, "total": sum(parts.values()) - encoding}


def dataset_statistics(sources: Mapping[str, str], *_: object) -> Made:
    """Counted where the data are here; for the others what their publishers say."""
    sizes = paper("sizes")
    rows: list[dict[str, object]] = []
    for name, source in sources.items():
        data = load(source)
        stream = data.stream
        rows.append(
            {
                "dataset": name,
                "nodes": stream.num_nodes,
                "edges": len(stream),
                "steps": int((stream.t[1:] != stream.t[:-1]).sum()) + 1,
                "surprise": round(surprise(stream, data.test), 3),
                "counted": "here",
            }
        )
    rows += [
        {
            "dataset": name,
            "nodes": info.nodes,
            "edges": info.edges,
            "steps": info.steps,
            "surprise": info.surprise,
            "counted": "by its publisher",
        }
        for name, info in DATASETS.items()
        if name not in sources
    ]
    for row in rows:
        row["paper's nodes"], row["paper's edges"] = sizes.get(str(row["dataset"]), (None, None))
    return Made(rows, caption=SIZES_CAPTION)


def _of_datasets(draw: Callable[[Mapping[str, Dataset], Path], Made]) -> Make:
    def make(sources: Mapping[str, str], path: Path, _: Path) -> Made:
        if not sources:
            raise InputError("This figure is of data: name one or more, each as NAME=FILE.")
        return draw({name: load(source) for name, source in sources.items()}, path)

    return make


COMPUTED: dict[str, Computed] = {
    "table-params": Computed("Parameters of TGN on tgbl-wiki", "tab:param-count", parameter_counts),
    "table-data": Computed(
        "Statistics of the datasets",
        "tab:tgbl_stats, tab:jodie-stats, tab:tgbn_stats, tab:dgraphfin-stats",
        dataset_statistics,
        tuple(paper("sizes")),
    ),
    "table-ranking": Computed("Ranks over datasets", "tab:ranking_penalty", ranking, reads_ledger=True),
    "figure-kernels": Computed("Shapes of kernels", "fig:kernels", lambda _, path, __: kernel_shapes(path)),
    "figure-moments": Computed(
        "Decay of moments", "fig:moment_decay", lambda _, path, __: moment_decay(path)
    ),
    "figure-gaps": Computed(
        "p(Δt) by split",
        "fig:12_dataset_dist",
        _of_datasets(gap_densities),
        TGBL + TGBN + JODIE,
        needs_data=True,
    ),
    "figure-spectral": Computed(
        "Spectral entropy of nodes",
        "fig:spectral_density",
        _of_datasets(spectral_densities),
        TGBL,
        needs_data=True,
    ),
}
