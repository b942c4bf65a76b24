"""Parameters and Adam's state after an epoch, as tensors and back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from keat.runs.epochs import checking
from keat.state import Expected, check_state, like, parts_of


def load_training(
    folder: Path, tensors: dict[str, Tensor], model: nn.Module, optimizer: torch.optim.Optimizer
) -> int:
    """Parameters and optimizer as they were; returns how many steps it had taken."""
    with checking(folder, "last"):
        parameters, kept = parts_of(tensors, ("model.", "optimizer."))
        check_state(parameters, like(model.state_dict()))
        check_state(kept, _expected_of(optimizer, kept))
    model.load_state_dict(parameters)
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in kept.items():
        position, name = key.split(".", 1)
        state.setdefault(int(position), {})[name] = value
    optimizer.load_state_dict(optimizer.state_dict() | {"state": state})
    return max((int(entry["step"]) for entry in state.values()), default=0)


def _expected_of(optimizer: torch.optim.Optimizer, kept: Mapping[str, Tensor]) -> dict[str, Expected]:
    """What Adam keeps of the parameters that learn. One that no loss has reached yet has nothing kept."""
    reached = {name.split(".", 1)[0] for name in kept}
    expected: dict[str, Expected] = {}
    for position, parameter in enumerate(optimizer.param_groups[0]["params"]):
        if parameter.requires_grad and str(position) in reached:
            shape = tuple(parameter.shape)
            expected[f"{position}.step"] = Expected(torch.float32, ())
            expected[f"{position}.exp_avg"] = expected[f"{position}.exp_avg_sq"] = Expected(
                parameter.dtype, shape
            )
    return expected


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    state = optimizer.state_dict()["state"]
    return {f"optimizer.{i}.{name}": value for i, entry in state.items() for name, value in entry.items()}
