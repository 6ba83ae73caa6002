"""Judges what others say of a game: their sentences are read as statements, and these are proved.

text -> `readers` sentences -> `grammar` -> `statements`, `judgements` -> `verdict` true, false, not
checkable. `grammar` has the ways to say something, `readers` what a word means, `judgements` what
is counted: material, pawns, files, bishops.
"""
