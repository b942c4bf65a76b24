"""Where keat keeps data, and what it says when it cannot."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

import platformdirs

from keat.disk import expanded
from keat.errors import CacheError


def data_folder() -> Path:
    """Where datasets are kept: ``KEAT_DATA``, or the platform's cache folder."""
    chosen = os.environ.get("KEAT_DATA")
    return expanded(chosen) if chosen else Path(platformdirs.user_cache_dir("keat"))


@contextlib.contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turn a failure to write under ``folder`` into a `CacheError` that says what to do."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            advice = "free some space, or set KEAT_DATA to a folder on another disk, and try again"
        else:
            advice = "make it writable, or set KEAT_DATA to a folder that is"
        raise CacheError(
            f"Cannot write to the data folder {folder} ({error.strerror or error}); {advice}."
        ) from error
