"""Puzzles: positions that a short look gets wrong and a long one right, found in games and solved.

    games -> `find` (look, prove) -> `collect` (journal, duplicates) -> `formats` -> `solve`

`themes` says what is in a solution with the motifs of the commentary.
"""
