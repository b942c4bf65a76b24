"""Recipes of runs, a runner that never repeats one, a ledger of what was measured, tables of it."""
