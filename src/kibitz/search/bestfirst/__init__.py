"""Batch-First: best-first zero-window search over a list of open nodes, for evaluators in batches.

`nodes` and `table` know the list and no chess; `expand` brings the rules of chess; `worker` makes
passes; `searcher` bisects, and is what engines see.
"""
