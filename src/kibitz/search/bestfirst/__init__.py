"""Batch-First: best-first zero-window search over a list of open nodes, for evaluators in batches.

nodes, bins, table, finish know the list and no chess; expand and quiescence bring the rules of
chess; passes is the bisection; searcher is what engines see.
"""
