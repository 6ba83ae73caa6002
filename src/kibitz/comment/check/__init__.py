"""Judges what others say of a game: their sentences are read as statements, and these are proved.

text -> `text` sentences -> `grammar` -> statements -> `verdict` true, false, not checkable.

`forms` has the ways to say something, `readers` what their words mean, `statements` and
`judgements` what is proved. `contacts` (who attacks, takes, blocks), `kings` (castling, too),
`lines` (files, diagonals), `material` (endings, openings), `moves` and `structure` (development,
pawns) have all three. `games` finds the comments, and counts what became of them.
"""
