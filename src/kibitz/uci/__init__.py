"""The Universal Chess Interface: how chess programs, servers and people talk to the engine.

`loop` reads lines and obeys, `protocol` reads and sends them, `format` writes the engine's answers,
`options` what can be set, `console` what people type, `proxy` the same over TCP.
"""
