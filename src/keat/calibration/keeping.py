"""A calibration as JSON, in the line of the epoch it belongs to. `dataclasses.asdict` writes it."""

from __future__ import annotations

from typing import Any

from keat.calibration.fitting import Calibration
from keat.calibration.probability import Isotonic, Platt
from keat.calibration.temperature import Temperature
from keat.errors import InputError

KINDS: dict[str, type[Calibration]] = {"temperature": Temperature, "platt": Platt, "isotonic": Isotonic}


def read_calibration(entry: object) -> Calibration | None:
    """What an epoch has under ``calibration``; None where it has nothing, as in runs of earlier versions."""
    if entry is None:
        return None
    kind = entry.get("kind") if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or not isinstance(kind, str) or kind not in KINDS:
        raise InputError("It is none of the kinds of calibration there are.")
    settings: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()
    }
    try:
        return KINDS[kind](**settings)
    except TypeError as error:
        raise InputError(f"A calibration has other settings ({error}).") from error
