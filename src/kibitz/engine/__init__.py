"""The engine: a network, a searcher and options; what uci, web, match and programs of yours share.

Importing this room is cheap: networks and compiled kernels are loaded by the first search.
"""

from kibitz.engine.engine import Engine

__all__ = ["Engine"]
