"""Judges what others say of a game: their sentences are read as statements, and these are proved.

text -> `text` sentences -> `grammar` -> `statements` -> `verdict` true, false, not checkable
"""
