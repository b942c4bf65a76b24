"""Explanations as pages and pictures."""
