"""Ages in standard deviations from the usual gap, for models that take them so: JODIE and CTAN."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from keat.bandwidth import node_gaps
from keat.clock import Clock


class GapScale(nn.Module):
    """(Δ - μ)/s, where μ and s are mean and standard deviation of the gaps between events of the same node in
    the training split, in the unit of the model's clock. A node's first gap is measured from the first event
    of all. (The references measure it from time 0, which at Unix times swamps all others.)

    Until a split is looked at, μ = 0 and s = ``sigma``. Both are kept with the parameters.
    """

    mean: Tensor  # ()
    std: Tensor  # ()

    def __init__(self, sigma: float) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros((), dtype=torch.float64))
        self.register_buffer("std", torch.tensor(sigma, dtype=torch.float64))

    def look_at(self, nodes: npt.NDArray[np.integer], t: npt.NDArray[np.int64], clock: Clock) -> None:
        """Take μ and s from appearances of nodes in the order of time."""
        if len(t) == 0:
            return
        _, first = np.unique(nodes, return_index=True)
        gaps, _ = node_gaps(nodes, t)
        all_gaps = clock.measure(np.concatenate((t[first] - t[0], gaps)))
        self.mean.fill_(float(np.mean(all_gaps)))
        spread = float(np.std(all_gaps))
        if spread > 0:
            self.std.fill_(spread)

    def forward(self, age: Tensor) -> Tensor:
        """(...) → (...), float64 until the division is done."""
        return ((age.double() - self.mean) / self.std).float()

    def extra_repr(self) -> str:
        return f"mean={float(self.mean):g}, std={float(self.std):g}"
