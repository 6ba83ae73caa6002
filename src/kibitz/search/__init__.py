"""Monte Carlo tree search, compiled: select, expand, evaluate, back up - one file for each verb.

`tree` is the data, `rules` the numbers of each selection rule, `playout` and `gather` the two
loops that drive the verbs, `searcher` the class that runs them within limits and reports.
"""
