"""Scores a person can use: shares of candidates, probabilities of labels, and how far they can be trusted."""
