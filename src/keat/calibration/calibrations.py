"""The kinds of calibration: how one is read again from JSON, and what it makes of a score, in a few words."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from keat.calibration.probability import Floats, Isotonic, Platt
from keat.calibration.temperature import Temperature
from keat.errors import InputError

Calibration = Temperature | Platt | Isotonic
KINDS: dict[str, type[Calibration]] = {"temperature": Temperature, "platt": Platt, "isotonic": Isotonic}


def read_calibration(entry: object) -> Calibration | None:
    """What `dataclasses.asdict` made of a calibration, as the report of an epoch holds it. None where it
    has none, as in runs of earlier versions."""
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


def probabilities(calibration: Calibration | None, scores: npt.NDArray[np.floating]) -> Floats | None:
    """Probabilities of scores, each by itself. None where there is no calibration, or it makes shares, which
    only candidates of one question have."""
    if calibration is None or isinstance(calibration, Temperature):
        return None
    return calibration.probabilities(scores)


def about(calibration: Calibration | None) -> str:
    """What the number beside a score is, for the caption of a table of destinations."""
    if calibration is None:
        return "scores only compare candidates: this run has no calibration"
    if not isinstance(calibration, Temperature):
        return "probability is that of a true pair beside one false one, calibrated on validation"
    if calibration.sampled:
        return (
            "share is among all destinations so far, and rough: validation asked about "
            f"{calibration.candidates:,} of them at a time"
        )
    return "share is among all destinations so far, calibrated on validation"
