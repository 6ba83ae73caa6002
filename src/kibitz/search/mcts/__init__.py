"""Monte Carlo tree search: `tree` is the data, `rules` choose moves, `playout` is one visit."""
