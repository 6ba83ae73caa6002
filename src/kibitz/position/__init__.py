"""The rules of chess, compiled: squares, bits, attacks, state, moves, play, keys, outcome, perft.

`board.py` is the Python face of the room; the other modules are kernels and their dtypes.
"""
