"""Tools for language models over the Model Context Protocol, on its official SDK.

a client's call -> **server** -> `arguments` (checked) -> a tool of `searches` or `lookups` -> the
library, on engines of `calls`; `resources` are the coach's annotated games
"""
