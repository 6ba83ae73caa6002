"""Alpha-beta: principal-variation search, compiled, for evaluators that kernels call themselves.

`root.py` searches the moves of the root, deeper and deeper, `negamax.py` a position below it and
the captures below the last ply, with the numbers of `constants.py`. `order.py` says which moves
come first, `pruning.py` which are left out, `table.py` remembers positions. `thread.py` holds what
one search thread works on; `searcher.py` is what engines see, with the threads and the reports.
"""
