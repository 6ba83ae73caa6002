"""One playout from top to bottom: select, expand, evaluate, back up."""
