"""What models remember of the past. `__init__.pyi` lists what there is.

Each kind is a `State`: it observes events, is saved, loaded and cleared, and is read by methods of its own.
Models and everything above them ask; only the files of this package know how the past is kept.
"""

from __future__ import annotations

from keat.lazy import listed_names, loader

_HOME = listed_names(__file__)
__all__ = sorted(_HOME)
__getattr__ = loader(__name__, _HOME)


def __dir__() -> list[str]:
    return __all__
