"""Games get values and best moves from a teacher: an engine, or numbers in a file.

`labels` says what centipawns are worth and reads CSV, `evaluating` has an engine evaluate one game,
`teaching` many.
"""
