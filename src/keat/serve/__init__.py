"""`keat serve`: a run behind a log. Events are scored before they are observed, and none is lost.

    gateway    HTTP: requests are checked, put into micro-batches, answered
    engine     the one owner of log, ids and state: scores a batch, commits it with its answers, observes it
    log        SQLite: one row a micro-batch, each checksummed with all before it
    live_state the model with what it has seen, and the events of the last time, which wait
    snapshots  the state in a file, from which a restart goes on

A restart is the newest sound snapshot and the rows of the log after it.
"""
