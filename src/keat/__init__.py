"""keat: kernelized edge attention and sound evaluation for streams of timestamped edges.

import keat

run = keat.train("keat-rank", "orders.csv", src="customer", dst="shop", time="when")
run.observe("today.csv")                           # rows since; new nodes join
print(run.rank("C-037", top=3))                    # a table
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.1.0"

# Names are listed once, in the stub that type checkers read, and loaded when first used, so that `import
# keat` and `keat --help` do not wait for torch.
_STUB = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
_HOME = {
    name: module for module, name in re.findall(r"^from ([\w.]+) import \w+ as (\w+)", _STUB, re.MULTILINE)
}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'keat' has no attribute '{name}'")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
