"""The Universal Chess Interface: how chess programs, servers and people talk to the engine.

`loop` reads lines and obeys, `parse` and `format` are the two directions of the protocol,
`options` what can be set, `console` what people type, `proxy` the same over TCP.
"""
