"""Claims: small records of what is said of a move, each with the function that proves it.

`tactical`, `positional`, `merits`, `faults`, `sacrifices`, `features` -> **`choice`** -> words
"""
