"""Monte Carlo tree search, compiled.

`tree` is the data, `rules` choose moves, `playout` is one visit from the root to a leaf and back.
`driver` runs playouts, on threads or in batches, and `searcher` searches positions within
limits; `statistics` reads what they found, `answer` reports it and picks the move.
"""
