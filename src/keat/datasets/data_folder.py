"""Where keat keeps data, and what it says when it cannot."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from pathlib import Path

import platformdirs

from keat import disk

OTHERWISE = "set KEAT_DATA to a folder on another disk"


def data_folder() -> Path:
    """Where datasets are kept: ``KEAT_DATA``, or the platform's cache folder."""
    chosen = os.environ.get("KEAT_DATA")
    return disk.expanded(chosen) if chosen else Path(platformdirs.user_cache_dir("keat"))


def writing(path: Path) -> AbstractContextManager[None]:
    """Failures to write in the data folder, and what to do about them."""
    return disk.writing(path, OTHERWISE)
