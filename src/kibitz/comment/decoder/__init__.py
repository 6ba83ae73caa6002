"""Comments in the words of a transformer, of which only what is proved is shown.

`corpus` -> training of `transformer` -> `file` -> **`comments`** (by `spelling` and `verify`)
"""
