"""Puzzles: positions that a short look gets wrong and a long one right, found in games and solved.

    games -> `find` (look, prove, keep) -> `formats` -> `solve`

The themes of a solution are the motifs of the commentary.
"""
