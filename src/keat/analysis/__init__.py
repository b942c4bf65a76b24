"""Looking at data: how gaps between events are distributed, and how that drifts."""
