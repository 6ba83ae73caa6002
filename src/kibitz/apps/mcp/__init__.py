"""Tools for language models over the Model Context Protocol, on its official SDK.

a client's call -> **server** -> `calls` (arguments, an engine) -> a tool of `searches` or `lookups`
-> the library; resources are the coach's annotated games (`lookups`)
"""
