"""Alpha-beta: principal-variation search, compiled, for evaluators that kernels call themselves.

`negamax.py` is the search of one position, `quiescence.py` what is below its last ply, `root.py`
what is different at the root. `order.py` and `history.py` say which moves come first, `table.py`
remembers positions. `thread.py` holds what one search thread works on, `deepening.py` searches
deeper and deeper, and `searcher.py` is what engines see: it looks after the threads and reports.
"""
