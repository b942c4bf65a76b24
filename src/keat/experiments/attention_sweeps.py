"""The paper's pictures of attention over a shared age, of trained runs.

A run that is in the ledger but no longer in scratch is trained again: a picture has to look inside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch

from keat.analysis.what_if import Sweep, attention_over_age, past_of
from keat.datasets.loading import Dataset
from keat.errors import InputError
from keat.events.units import TimeUnit
from keat.experiments.reproduction import Reproduction
from keat.experiments.work import trained_run
from keat.models.contract import LinkModel
from keat.models.explainable import attention_of
from keat.models.tgn import TGN
from keat.report.figures.made import Made, PlainRow
from keat.runs.run_file import read_ids, read_run_file
from keat.runs.run_model import open_model

EXAMPLES = 3  # nodes
AGES, REACH = 41, 4  # of the sweep: so many ages from 0 to so many σ
Draw = Callable[[Sequence[Sweep], Sequence[int], TimeUnit, Path], None]


def attention_figure(found: Reproduction, path: Path, draw: Draw) -> Made:
    """A picture for each dataset and arm, in the state after validation."""
    rows: list[PlainRow] = []
    pictures: list[Path] = []
    for job, _ in found.results:
        data = job.open()
        assert isinstance(data, Dataset)
        folder = trained_run(job, data, found.scratch)
        file = read_run_file(folder)
        opened, ids = open_model(folder, file), read_ids(folder, file.facts.num_nodes)
        model = attention_of(opened) if isinstance(opened, LinkModel) else None
        if model is None:
            raise InputError(f"{job.model} has no attention over past events; the figure needs a TGN.")
        ages = np.linspace(0, REACH * model.sigma_in_ticks, AGES).astype(np.int64).tolist()
        sweeps = first_sweeps(model, data, ids.label, ages)
        alone = len(found.results) == 1
        pictures.append(path if alone else path.with_stem(f"{path.stem}-{job.data}"))
        draw(sweeps, ages, data.stream.unit, pictures[-1])
        rows += [{"dataset": job.data, **row} for sweep in sweeps for row in _numbers(sweep)]
    return Made(rows, pictures=pictures)


def first_sweeps(
    model: TGN, data: Dataset, label: Callable[[int], object], ages: Sequence[int]
) -> list[Sweep]:
    """Of the sources with the longest past, the first ones to act in the test split: nobody chose them."""
    sources, first = np.unique(data.test.src, return_index=True)
    nodes = torch.from_numpy(sources[np.argsort(first)].astype(np.int64))
    times = torch.full((len(nodes),), int(data.test.t[0]))
    events = past_of(model, nodes, times).mask.sum(dim=1)
    sweeps = []
    for place in torch.argsort(events, descending=True, stable=True)[:EXAMPLES].tolist():
        past = past_of(model, nodes[[place]], times[[place]])
        plain, modulated = (attention_over_age(model, past, ages, kernel=kernel) for kernel in (False, True))
        sweeps.append(Sweep(f"source {label(int(nodes[place]))}", plain, modulated))
    return sweeps


def _numbers(sweep: Sweep) -> list[PlainRow]:
    """Attention to each event with ψ = 1, which no age changes, and with the kernel at some ages."""
    columns = {f"at {multiple} σ": (AGES - 1) * multiple // REACH for multiple in (0, 1, REACH)}
    return [
        {"node": sweep.name, "event": k + 1, "ψ = 1": round(float(sweep.plain[k, 0]), 4)}
        | {name: round(float(sweep.modulated[k, at]), 4) for name, at in columns.items()}
        for k in range(len(sweep.plain))
    ]
