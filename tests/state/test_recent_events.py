"""The ring of recent events: one by one and at once, the same."""

from __future__ import annotations

import pytest
import torch

from keat.state.recent_events import RecentEvents


@pytest.mark.parametrize("batch", [1, 7, 60])
def test_in_order_and_at_once_agree(batch: int) -> None:
    """Batches in which nodes occur once, more than K times, and in events with themselves."""
    generator = torch.Generator().manual_seed(0)
    ends = torch.randint(0, 6, (300, 2), generator=generator)
    one, other = RecentEvents(8, 4), RecentEvents(8, 4)
    for event in torch.split(torch.arange(300), batch):
        src, dst = ends[event].T.contiguous()
        one.insert(src, dst, event)
        other._insert_at_once(src, dst, event)
        assert torch.equal(one.ring, other.ring)
        assert torch.equal(one.inserted, other.inserted)
    assert (one.of(torch.tensor([6, 7])) == -1).all()
