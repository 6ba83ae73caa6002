"""Comments in the words of a transformer, of which only what is proved is shown.

corpus -> training -> `file` -> `sampling` -> **`comments`** (by `spelling` and `verify`)
"""
