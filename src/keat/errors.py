"""Every error keat raises on purpose, named after the mistake.

The message is always one sentence a person can act on: what is wrong, where, and what to do.
The command line prints it as it is and exits with 1; no traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class KeatError(Exception):
    """Base of all errors that are the user's to mend."""


class InputError(KeatError):
    """A file, frame or array does not hold what an event stream needs."""


class UnknownNameError(KeatError):
    """A dataset, model or option name that keat does not know."""


class DownloadError(KeatError):
    """A file could not be fetched, or what arrived is not what was announced."""


class CacheError(KeatError):
    """The data folder cannot be written or holds something keat did not put there."""


class MissingExtraError(KeatError):
    """An optional package is needed and not installed."""


class Notice(UserWarning):
    """Something keat did on its own that the user may want to know (the stream was sorted, …)."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UnknownNameError:
    """An error that names the nearest known name, or all of them where none is near."""
    known = sorted(known)
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    hint = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(known)}."
    return UnknownNameError(f"Unknown {kind} '{name}'; {hint}")
