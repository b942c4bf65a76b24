"""Tasks: questions, negatives and metrics."""
