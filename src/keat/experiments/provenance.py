"""Where a result was measured: which source, which torch, which machine."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path
from typing import TypedDict

import torch

import keat


class Provenance(TypedDict):
    """What every line of a ledger says of where it comes from."""

    commit: str | None
    torch: str
    machine: str


def provenance() -> Provenance:
    """Of this process."""
    threads = torch.get_num_threads()
    machine = f"{platform.machine()}, {threads} thread{'' if threads == 1 else 's'}"
    return Provenance(commit=_commit(), torch=str(torch.__version__), machine=machine)


def _commit() -> str | None:
    """Of the source this runs from, where it is a checkout."""
    try:
        answer = subprocess.run(
            ["git", "-C", str(Path(keat.__file__).parent), "rev-parse", "--short", "HEAD"],
            capture_output=True,
            text=True,
        )
    except OSError:
        return None
    return answer.stdout.strip() or None
