"""The engine: a network, a searcher and options; what uci, web, match and programs of yours share.

`engine` is what programs use, `running` a search under way, `options` what can be set beside the
search's own, and the network that is loaded for it; `levels` limits its strength.

Importing this room is cheap: networks and compiled kernels are loaded by the first search.
"""

from kibitz.engine.engine import Engine

__all__ = ["Engine"]
