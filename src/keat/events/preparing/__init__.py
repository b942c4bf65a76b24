"""Logs larger than memory become a saved stream: sorted by time and with dense ids, from many files.

`inputs` reads files in pieces. `survey` looks at all of them once and finds what only the whole can tell:
types, ids, units, and times at which the log can be cut into buckets that fit the memory. `sorting` writes
rows into buckets and sorts each into the columns of the stream. `prepare` does one after the other;
`workplace` remembers what is done, so that an interrupted preparation continues.
"""

from keat.events.preparing.prepare import Prepared, prepare_events

__all__ = ["Prepared", "prepare_events"]
