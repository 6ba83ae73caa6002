"""Judges what others say of a game: their sentences are read as statements, and these are proved.

text -> `text` sentences -> `grammar` -> statements -> `verdict` true, false, not checkable.

`forms` has the ways to say something, `readers` what their words mean, `statements` and
`judgements` what is proved. `castling`, `contacts` (who attacks, blocks, stands on a line),
`structure` (development, pawns), `material` (endings, openings, too) and `moves` have all three.
"""
