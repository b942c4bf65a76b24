"""Numbers of a whole run: how far attention responds to time, how logits vary, whether it is faithful.

The model is brought to several places of the test split, as in evaluation, and looked at there.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import torch
from torch import Tensor

from keat.analysis.blur import Blur, blur_meter
from keat.analysis.faithfulness import deletion_curves
from keat.analysis.logit_variance import LogitVariance, is_guaranteed, measure
from keat.analysis.what_if import attend, past_of
from keat.datasets.loading import Dataset
from keat.explain.asker import Asker
from keat.explain.explanation import tgn_of
from keat.explain.subject import Subject
from keat.models.tgn import TGN
from keat.tasks.script import TGB_BATCH

PLACES = 5  # in the test split
PAIRS = 8  # a place, whose events are taken away one by one


@dataclass(frozen=True, slots=True)
class RunMeasures:
    """What was found of one run."""

    model: str
    kernel: str
    blur: Blur
    blur_without_kernel: Blur  # the same weights with ψ = 1
    variance: LogitVariance
    faithfulness: float

    def to_json(self) -> dict[str, Any]:
        moments = self.variance.moments
        closed = {
            "plain": moments.plain(),
            "modulated": moments.modulated(),
            "modulated_by_a_constant": moments.modulated_by_a_constant(),
            "guaranteed": is_guaranteed(moments.sigma_x, moments.sigma_y, moments.mean_psi),
        }
        return asdict(self) | {
            "blur": asdict(self.blur) | {"meter": self.blur.meter},
            "blur_without_kernel": asdict(self.blur_without_kernel)
            | {"meter": self.blur_without_kernel.meter},
            "variance": asdict(self.variance)
            | {
                "ratio": self.variance.ratio,
                "ratio_within": self.variance.ratio_within,
                "closed_form": closed,
            },
        }


def measure_run(subject: Subject, data: Dataset) -> RunMeasures:
    """Look at a run at `PLACES` places of the test split."""
    asker = Asker(subject, data)
    stream, first = data.stream, data.test.offset
    blocks = -(-len(data.test) // TGB_BATCH)
    chosen = np.unique(np.linspace(0, blocks - 1, min(PLACES, blocks)).round().astype(int))
    starts = [first + TGB_BATCH * int(block) for block in chosen]
    blurs: list[Blur] = []
    plain: list[Blur] = []
    logits: list[dict[str, Tensor]] = []
    moved = np.zeros(2)
    for start, _ in zip(starts, asker.states(data, starts), strict=True):
        model, part = tgn_of(asker.model), stream[start : start + TGB_BATCH]
        ends = torch.from_numpy(np.concatenate((part.src, part.dst))).long()
        t = torch.from_numpy(np.concatenate((part.t, part.t)))
        known = ends < model.state.num_nodes  # a node the model has no room for has no past either
        blurs.append(blur_meter(model, ends[known], t[known]))
        plain.append(blur_meter(model, ends[known], t[known], kernel=False))
        logits.append(_logits(model, ends[known], t[known]))
        for place in range(0, len(part), max(1, len(part) // PAIRS)):
            pair = [past_of(model, ends[[place + side]], t[[place]]) for side in (0, len(part))]
            curves = deletion_curves(model, pair[0], pair[1])
            moved += curves.moved_by_attention, curves.moved_by_chance
    return RunMeasures(
        model=subject.name,
        kernel=subject.kernel,
        blur=_together(blurs),
        blur_without_kernel=_together(plain),
        variance=_variance(logits),
        faithfulness=float(moved[0] / moved[1]) if moved[1] > 0 else float("nan"),
    )


def _logits(model: TGN, nodes: Tensor, t: Tensor) -> dict[str, Tensor]:
    """Node logit, edge logit and ψ of every present event and head, and whose they are."""
    past = past_of(model, nodes, t)
    _, seen = attend(model, past)
    present = past.mask[..., None].expand_as(seen.psi)
    owner = torch.arange(present[:, 0].numel()).view(len(nodes), 1, -1).expand_as(present)
    columns = {"x": seen.node_logit, "y": seen.edge_logit, "psi": seen.psi, "group": owner}
    return {name: column[present] for name, column in columns.items()}


def _variance(places: list[dict[str, Tensor]]) -> LogitVariance:
    """Of all places together; a neighbourhood of one place is another at the next."""
    step = 1 + max(int(place["group"].max()) for place in places)
    group = torch.cat([place["group"] + step * k for k, place in enumerate(places)])
    x, y, psi = (torch.cat([place[name] for place in places]).double().numpy() for name in ("x", "y", "psi"))
    return measure(x, y, psi, group.numpy())


def _together(parts: list[Blur]) -> Blur:
    """The mean over all neighbourhoods."""
    weight = np.array([part.neighborhoods for part in parts])
    means = {
        field.name: float(np.average([getattr(part, field.name) for part in parts], weights=weight))
        for field in fields(Blur)
        if field.name != "neighborhoods"
    }
    return Blur(**means, neighborhoods=int(weight.sum()))
