"""Tables and figures that need no training: counted or computed whenever they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keat.analysis.novelty import surprise
from keat.datasets.loading import Dataset, load
from keat.datasets.registry import DATASETS
from keat.errors import InputError
from keat.models.tgn import TGN, TGNConfig
from keat.report.figures import gap_densities, kernel_shapes, moment_decay, spectral_densities

Make = Callable[[Mapping[str, str], Path], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Computed:
    """How to make it; the result has "rows" (a table) or a "picture", or both."""

    title: str
    paper: str
    make: Make


# What the paper's table of parameter counts calls the time encodings, and what they are called here.
ENCODINGS = {
    "GraphMixer": "fixed",
    "TGN/TGAT": "cosine",
    "LeTE-Fourier": "lete-fourier",
    "LeTE-Spline": "lete-spline",
    "LeTE-50/50": "lete",
}
PAPER_TOTALS = {
    "GraphMixer": 260_101,
    "TGN/TGAT": 260_301,
    "LeTE-Fourier": 360_401,
    "LeTE-Spline": 350_301,
    "LeTE-50/50": 308_151,
}


def parameter_counts(sources: Mapping[str, str], path: Path) -> dict[str, Any]:  # noqa: ARG001
    """Counted on the model of tgbl-wiki's sizes (172 edge features)."""
    rows = []
    for label, encoder in ENCODINGS.items():
        counts = TGN(10, 172, 1.0, TGNConfig(time_encoder=encoder)).parameter_counts()
        rows.append({"encoding": label, **counts, "paper's total": PAPER_TOTALS[label]})
    return {"rows": rows}


def dataset_statistics(sources: Mapping[str, str], path: Path) -> dict[str, Any]:  # noqa: ARG001
    """Counted where the data are here; for the others what their publishers say."""
    rows = []
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
    return {"rows": rows}


def _of_datasets(draw: Callable[[Mapping[str, Dataset], Path], dict[str, Any]]) -> Make:
    def make(sources: Mapping[str, str], path: Path) -> dict[str, Any]:
        if not sources:
            raise InputError("This figure is of data: give one or more of --data NAME=FILE.")
        return draw({name: load(source) for name, source in sources.items()}, path)

    return make


COMPUTED: dict[str, Computed] = {
    "table-params": Computed("Parameters of TGN on tgbl-wiki", "tab:param-count", parameter_counts),
    "table-data": Computed("Statistics of the datasets", "tab:tgbl_stats and others", dataset_statistics),
    "figure-kernels": Computed("Shapes of kernels", "kernel shapes", lambda _, path: kernel_shapes(path)),
    "figure-moments": Computed("Decay of moments", "moment ratio R_n", lambda _, path: moment_decay(path)),
    "figure-gaps": Computed("p(Δt) by split", "p(Δt) per split", _of_datasets(gap_densities)),
    "figure-spectral": Computed(
        "Spectral entropy of nodes", "fig:spectral_density", _of_datasets(spectral_densities)
    ),
}
