"""Tools for language models over the Model Context Protocol, on its official SDK.

a client's call -> **server** -> `tools` (checked arguments) -> the library, on engines of `calls`
"""
