"""Models: one contract, one registry."""
