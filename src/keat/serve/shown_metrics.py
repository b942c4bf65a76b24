"""What `/metrics` tells of the engine beside requests."""

from __future__ import annotations

from keat.serve.batching import Batcher
from keat.serve.engine import Engine
from keat.serve.live_feed import memory, size_of_log
from keat.serve.service_metrics import Value
from keat.serve.state_snapshots import last_event_of_newest


def values_of(engine: Engine, batcher: Batcher) -> dict[str, Value]:
    """What the engine counts, and how it is."""
    counts = engine.counts
    return {
        "keat_events_total": ("counter", "Events taken.", counts.events),
        "keat_batches_total": ("counter", "Micro-batches committed.", counts.batches),
        "keat_late_events_total": ("counter", "Events too late for the window.", counts.late),
        "keat_reordered_events_total": ("counter", "Events out of order in the window.", counts.reordered),
        "keat_repeated_events_total": ("counter", "Events sent again.", counts.again),
        "keat_new_nodes_total": ("counter", "Nodes that joined.", counts.newcomers),
        "keat_queued_events": ("gauge", "Events that wait to be taken.", batcher.queued),
        "keat_unobserved_events": ("gauge", "Events whose time is not over.", len(engine.state.waiting)),
        "keat_nodes": ("gauge", "Nodes known.", len(engine.ids)),
        "keat_log_last_event": ("gauge", "Number of the last event.", engine.log.tail.event),
        "keat_last_snapshot_event": ("gauge", "Last in a snapshot.", last_event_of_newest(engine.folder)),
        "keat_log_bytes": ("gauge", "Size of the log on the disk.", size_of_log(engine.folder)),
        "keat_memory_bytes": ("gauge", "Memory of the process.", memory() or 0),
        "keat_ready": ("gauge", "Whether events are taken.", int(batcher.trouble is None)),
    }
