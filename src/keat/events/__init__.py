"""The event stream and everything that turns files and frames into one."""

from keat.events.ids import IdMap
from keat.events.node_labels import NodeLabels
from keat.events.reading import Reading, read_events
from keat.events.stream import EventStream
from keat.events.units import UNITS, TimeUnit, humanize

__all__ = ["UNITS", "EventStream", "IdMap", "NodeLabels", "Reading", "TimeUnit", "humanize", "read_events"]
