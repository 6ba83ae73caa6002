"""Searching for the best move.

Here stands what every kind of search shares: `limits` and `clock`, `proof`, `report`, `tablebase`,
`mate` for mates at their exact length, and `options`: the options of every search. `method` is the
seam: what engines ask of a search, and opening one; `searcher` is what all kinds have in common.
`alphabeta`, `mcts` (Monte Carlo tree search) and `bestfirst` (Batch-First) are the kinds.
"""
