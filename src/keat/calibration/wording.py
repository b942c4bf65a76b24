"""What a number beside a score is, in a few words."""

from __future__ import annotations

from keat.calibration.fitting import Calibration
from keat.calibration.temperature import Temperature


def about(calibration: Calibration | None) -> str:
    """For the caption of a table of destinations."""
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
