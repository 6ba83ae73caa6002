"""Judges what others say of a game: their sentences are read as statements, and these are proved.

text -> `grammar` sentences -> `readers` -> `statements` -> `verdict` true, false, not checkable;
`judgements` are the statements that a search decides
"""
