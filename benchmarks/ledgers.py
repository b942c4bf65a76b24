"""What the studies share: reading a ledger, the commit they ran at, and numbers as text."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from keat.experiments import statistics
from keat.models.registry import ModelConfig
from keat.training.fit import FitConfig


def read(ledger: Path) -> list[dict[str, Any]]:
    """The lines of a study, which are not those of `keat reproduce`."""
    return [json.loads(line) for line in ledger.read_text().splitlines()] if ledger.exists() else []


def append(ledger: Path, line: dict[str, Any]) -> None:
    with ledger.open("a") as file:
        file.write(json.dumps(line) + "\n")


def commit() -> str:
    answer = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return answer.stdout.strip()


def config_hash(config: ModelConfig, fitting: FitConfig) -> str:
    """Of what a model is and how it is trained, but for how long."""
    how = {name: value for name, value in asdict(fitting).items() if name not in ("epochs", "patience")}
    text = json.dumps([asdict(config), how], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


def spread(numbers: Sequence[float]) -> str:
    """Mean ± standard deviation."""
    return str(statistics.spread(numbers))


def interval(differences: npt.NDArray[np.float64]) -> str:
    """The mean of paired differences with its 95 % interval."""
    paired = dict(enumerate(differences.tolist()))
    found = statistics.paired_difference(paired, dict.fromkeys(paired, 0.0))
    return "" if found is None else str(found)
