"""Commentary: what is true of a move and worth saying, in plain English.

    position + search -> facts -> claims -> **words**

`facts` and `motifs` look, claims prove themselves, `judge` labels, `choice` picks, `words` speaks,
`annotate` does a game.
"""
