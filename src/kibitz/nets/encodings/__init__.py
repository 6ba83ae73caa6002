"""What networks see and say: position -> **encoding** -> network. Compiled, without torch.

`leaves.py` is the batch every evaluator is given; `planes.py` names planes and policy indices;
features of positions and of moves, packed forms and mirrors are in modules of their own. How many
features moves have stands here, where the sizes of networks read it without loading a compiler.
"""

from __future__ import annotations

PIECES = 6
TAKEN, GAINS, LOSSES = 6, 10, 4  # how many of each an exchange feature tells apart
CHECKS, THREATS, REACHES, LOST, HELPS = 3, 3, 3, 2, 3  # and a threat feature
EXCHANGE_FEATURES = PIECES * TAKEN * GAINS * LOSSES + 1  # castling is the last
THREAT_FEATURES = PIECES * CHECKS * THREATS * REACHES * LOST * HELPS + 1
MOVE_FEATURES = EXCHANGE_FEATURES + THREAT_FEATURES
