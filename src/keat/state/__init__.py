"""What a model remembers of the past."""
