"""What the studies share: reading a ledger, the commit they ran at, and numbers as text."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from keat.experiments import statistics


def read(ledger: Path) -> list[dict[str, Any]]:
    """The lines of a study, which are not those of `keat reproduce`."""
    return [json.loads(line) for line in ledger.read_text().splitlines()] if ledger.exists() else []


def append(ledger: Path, line: dict[str, Any]) -> None:
    with ledger.open("a") as file:
        file.write(json.dumps(line) + "\n")


def commit() -> str:
    answer = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return answer.stdout.strip()


def spread(numbers: Sequence[float]) -> str:
    """Mean ± standard deviation."""
    return str(statistics.spread(numbers))


def interval(differences: npt.NDArray[np.float64]) -> str:
    """The mean of paired differences with its 95 % interval."""
    paired = dict(enumerate(differences.tolist()))
    found = statistics.paired_difference(paired, dict.fromkeys(paired, 0.0))
    return "" if found is None else str(found)
