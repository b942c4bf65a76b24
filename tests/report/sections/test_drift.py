"""Shares of gaps, as they are drawn."""

from __future__ import annotations

import pytest

from conftest import MakeStream
from keat.datasets.loading import Dataset
from keat.report.sections.drift import gap_shares


def test_every_gap_is_in_the_picture_or_told_apart(random_stream: MakeStream) -> None:
    found = gap_shares(Dataset(random_stream(2, events=300)))
    for name, shares in found.shares.items():
        assert shares.sum() + found.none[name] + found.beyond[name] == pytest.approx(1)
