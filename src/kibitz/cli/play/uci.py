"""`kibitz uci`: the protocol of GUIs, here or over TCP."""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import Parameter

from kibitz.cli.output import EngineFlag, at_least
from kibitz.core.errors import InputError
from kibitz.core.log import say
from kibitz.engine import Engine
from kibitz.engine.options import AUTODISCOVER


def uci(
    *,
    network: EngineFlag = AUTODISCOVER,
    serve: Annotated[str, Parameter(help="Listen on HOST:PORT instead.")] = "",
    connect: Annotated[str, Parameter(help="Use the engine at HOST:PORT.")] = "",
    token: Annotated[str, Parameter(help="Shared secret for TCP; or set KIBITZ_TOKEN.")] = "",
    most_memory: Annotated[
        int | None,
        Parameter(help="MiB for all callers together; by default 3/4 of this machine's memory."),
    ] = None,
    most_threads: Annotated[
        int | None,
        Parameter(help="Threads for all callers together; by default the processors."),
    ] = None,
) -> int:
    """Speak UCI; GUIs start the program kibitz-uci instead, which needs no arguments."""
    if serve and connect:
        raise InputError("either --serve or --connect", value=(serve, connect))
    at_least(1, most_memory=most_memory, most_threads=most_threads)
    for flag, value in (("--most-memory", most_memory), ("--most-threads", most_threads)):
        if value is not None and not serve:
            raise InputError(f"{flag} is about callers", value=value, fix="give --serve, too")
    if not (serve or connect):
        from kibitz.uci.__main__ import talk

        return talk(network)
    from kibitz.uci import proxy
    from kibitz.uci.protocol import write_line
    from kibitz.uci.proxy import Shares

    secret, address = token or proxy.token_from_environment(), proxy.parse_address(serve or connect)
    if connect:
        proxy.connect(address, sys.stdin, write_line, secret)
        return 0
    shares = Shares(most_memory, most_threads)
    with proxy.Server(address, secret, lambda: Engine(network), shares) as server:
        say(f"listening on {address[0]}:{server.port}")
        say(f"all callers together: {shares.mib} MiB, {shares.threads} threads")
        server.serve_forever()
    return 0
