"""The Universal Chess Interface: how chess programs, servers and people talk to the engine.

`loop` reads lines and obeys, `session` has what goes on from `ucinewgame` to `quit`, `protocol`
reads and sends lines, `format` writes the engine's answers, `options` what can be set, `console`
what people type, `proxy` the same over TCP, `xboard` the other protocol. `client` talks to engines
of others.
"""
