"""From a named or local source to an event stream."""
