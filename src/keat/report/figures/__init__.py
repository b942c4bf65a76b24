"""Pictures, one place for each."""
