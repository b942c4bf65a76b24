"""The operations that models are made of, each compiled for the CPU and written plainly beside it.

`__init__.pyi` lists them by what they mean; everything outside of this package takes them from here:
``from keat.ops import mix_edges``. Every file is one operation: the function that models call, which takes
the compiled way where it can and the plain one otherwise (other devices, other precisions); the plain one,
``…_plainly``, a few lines of torch or numpy that say what is computed; and the loops that compute the same
faster. `tests/ops/test_equivalence.py` holds each to its plain form, values and gradients.
"""

from __future__ import annotations

from keat.lazy import listed_names, loader

_HOME = listed_names(__file__)
__all__ = sorted(_HOME)
__getattr__ = loader(__name__, _HOME)


def __dir__() -> list[str]:
    return __all__
