"""Amounts of memory as people write them."""

from __future__ import annotations

import re

from keat.errors import InputError

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
UNITS |= {f"{letter}I": 1 << 10 * power for power, letter in enumerate("KMGT", 1)}


def bytes_of(text: str) -> int:
    """``2GB`` or ``2G`` is 2·10⁹ bytes, ``2GiB`` is 2·2³⁰, and ``2000000000`` is what it says."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([KMGT]I?)?B?", text.strip().upper())
    if found is None:
        raise InputError(f"'{text}' is no amount of memory; write it like 2GB or 500MB.")
    return int(float(found[1]) * UNITS[found[2] or ""])
