"""Words: the sentences of a comment and of a game's story, and every text they are made of."""
