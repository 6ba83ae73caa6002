"""Claims: small records of what is said of a move, each with the function that proves it.

    facts -> **claims** (`claim` is what all have in common) -> select -> words

Functions in tables, each for a plain fact; a new claim is usually one of them: `features` of
pieces, `structure` of pawns and of pieces that stay, `endings`, `ideas`. Classes: `tactical` (their
candidates come from `motifs`), `positional`, `sacrifices`, `merits` of good moves, `faults` of bad
ones and the `cover` they take away, `grades` (the marks), and the `lines` that a move leads to.
"""
