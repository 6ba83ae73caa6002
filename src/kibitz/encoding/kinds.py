"""How many kinds of moves are told apart; numbers for movekinds.py and for the sizes of networks.

Apart from the kernels, so that a network's size can be read without loading a compiler.
"""

from __future__ import annotations

PIECES = 6
TAKEN, GAINS, LOSSES = 6, 10, 4  # how many of each a deed tells apart
CHECKS, THREATS, REACHES, LOST, HELPS = 3, 3, 3, 2, 3  # and an effect
DEEDS = PIECES * TAKEN * GAINS * LOSSES + 1  # castling is the last
EFFECTS = PIECES * CHECKS * THREATS * REACHES * LOST * HELPS + 1
KINDS = DEEDS + EFFECTS
