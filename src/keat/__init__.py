"""keat: kernelized edge attention and sound evaluation for streams of timestamped edges.

import keat

run = keat.train("keat-rank", "orders.csv", src="customer", dst="shop", time="when")
run.observe("today.csv")                           # rows since; new nodes join
print(run.rank("C-037", top=3))                    # a table
"""

from __future__ import annotations

from keat.lazy import listed_names, loader

__version__ = "0.1.0"

# Loaded when first used, so that `import keat` and `keat --help` do not wait for torch.
_HOME = listed_names(__file__)
__all__ = sorted(_HOME)
__getattr__ = loader(__name__, _HOME)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
