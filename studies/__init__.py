"""Questions that were asked of models and data, each with its ledger and its page in docs/results."""
