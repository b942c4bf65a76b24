"""How many epochs a budget of processor time allows.

Seconds of the processor and not of the clock on the wall: on one thread, they are the same however busy the
machine is with other work. What was decided can be decided again from the reports of the epochs, so a run
that was stopped goes on as if it had not been.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def affordable_epochs(most: int, budget: float | None, seconds: Sequence[float]) -> int:
    """Epochs in all, of at most ``most``, after some that took so many ``seconds`` each. Another is expected
    to take as long as the last, and is not begun if that would exceed the budget; the first always is."""
    if budget is None or not seconds:
        return most
    left, last = budget - sum(seconds), max(seconds[-1], 1e-9)
    return min(most, len(seconds) + max(0, math.floor(min(left / last, most))))
