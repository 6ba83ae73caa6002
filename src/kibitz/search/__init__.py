"""Searching for the best move.

Here stands what every kind of search shares: limits and clock, proofs, reports, tablebases, mates
at their exact length, settings and presets. `method` is the seam: what engines ask of a search, and
opening one. `mcts` is Monte Carlo tree search.
"""
