"""Monte Carlo tree search, compiled.

`tree` is the data, `rules` choose moves, `playout` is one visit from the root to a leaf and back,
`searcher` runs them within limits; `statistics` and `report` read what they found, `choose` picks
the move, `proving` brings in what tablebases and the mate search know.
"""
