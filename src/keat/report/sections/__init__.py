"""Sections of reports: words, charts and tables on one question."""
