"""`kibitz uci`: speak UCI with a GUI, here or over TCP.

engine -> **command line**
"""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import Parameter

from kibitz.commands.arguments import EngineFlag
from kibitz.engine.options import AUTODISCOVER
from kibitz.errors import InputError
from kibitz.log import say


def uci(
    *,
    network: EngineFlag = AUTODISCOVER,
    serve: Annotated[str, Parameter(help="Listen on HOST:PORT instead.")] = "",
    connect: Annotated[str, Parameter(help="Use the engine at HOST:PORT.")] = "",
    token: Annotated[str, Parameter(help="Shared secret for TCP; or set KIBITZ_TOKEN.")] = "",
) -> int:
    """Speak UCI; GUIs start the program kibitz-uci instead, which needs no arguments."""
    if serve and connect:
        raise InputError("either --serve or --connect", value=(serve, connect))
    if serve:
        return _serve(serve, network, token)
    if connect:
        return _connect(connect, token)
    from kibitz.uci.loop import talk

    return talk(network)


def _serve(address: str, network: str, token: str) -> int:
    from kibitz.engine import Engine
    from kibitz.uci.proxy import Server, parse_address, token_from_environment

    secret = token or token_from_environment()
    place = parse_address(address)
    with Server(place, secret, lambda: Engine(network)) as server:
        say(f"listening on {place[0]}:{server.port}")
        server.serve_forever()
    return 0


def _connect(address: str, token: str) -> int:
    from kibitz.uci.loop import write_line
    from kibitz.uci.proxy import connect, parse_address, token_from_environment

    secret = token or token_from_environment()
    connect(parse_address(address), sys.stdin, write_line, secret)
    return 0
