"""Words: the sentences of a comment and of a game's story, in several languages."""
