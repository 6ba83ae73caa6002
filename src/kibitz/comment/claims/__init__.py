"""Claims: small records of what is said of a move, each with the function that proves it.

facts -> **claims** (`claim` is what all have in common) -> select -> words
"""
