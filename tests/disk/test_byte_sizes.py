"""Amounts of memory as people write them."""

from __future__ import annotations

import pytest

from keat.disk import bytes_of
from keat.errors import InputError


@pytest.mark.parametrize(
    ("text", "size"),
    [("2GB", 2 * 10**9), ("2g", 2 * 10**9), ("1.5 GB", 15 * 10**8), ("500MB", 5 * 10**8), ("1GiB", 1 << 30)],
)
def test_amounts(text: str, size: int) -> None:
    assert bytes_of(text) == size
    assert bytes_of(str(size)) == size


@pytest.mark.parametrize("text", ["", "much", "-1GB", "GB", "1e9", "2 G B", "nan"])
def test_what_is_none(text: str) -> None:
    with pytest.raises(InputError, match="is no amount of memory; write it like 2GB or 500MB"):
        bytes_of(text)
