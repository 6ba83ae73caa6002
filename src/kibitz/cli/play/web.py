"""`kibitz web`: the page in the browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from kibitz.cli.output import at_least
from kibitz.core.errors import InputError, missing_extra
from kibitz.core.log import say
from kibitz.position.board import Board
from kibitz.uci.proxy import is_loopback, token_from_environment

PORT = 8321
MOST_MINUTES = 7 * 24 * 60


def web(
    *folders: Annotated[
        Path, Parameter(help="Folders whose files the page may open: games, shards, runs, ...")
    ],
    host: Annotated[str, Parameter(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Parameter(help="Port; 0 takes a free one.")] = PORT,
    name: Annotated[
        tuple[str, ...], Parameter(help="A name by which browsers know this machine.")
    ] = (),
    engines: Annotated[int, Parameter(help="Engines that may run at the same time.")] = 4,
    threads: Annotated[int, Parameter(help="Search threads of each.")] = 1,
    hash: Annotated[int, Parameter(help="MiB of memory of each.")] = 128,  # noqa: A002
    minutes: Annotated[
        float, Parameter(help="Minutes after which an analysis rests until it is to go on.")
    ] = 15.0,
    fen: Annotated[str, Parameter(help="The position that the page opens with.")] = "",
    open_: Annotated[
        bool, Parameter(name="--open", negative_bool="no-", help="Open the page in the browser.")
    ] = True,
) -> None:
    """Play, analyse and watch the search think in the browser; Ctrl-C ends it.

    Other machines are let in with --host 0.0.0.0, and with a token, which is printed or is that of
    the variable KIBITZ_TOKEN.
    """
    at_least(0, port=port)
    at_least(1, engines=engines, threads=threads, hash=hash)
    if not 0.0 < minutes <= MOST_MINUTES:
        raise InputError(
            "--minutes", value=minutes, fix=f"give more than 0, at most {MOST_MINUTES}"
        )
    try:
        from kibitz.apps.web.connection import App
        from kibitz.apps.web.server import Address, new_token, serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("starlette", "uvicorn", "websockets"):
            raise
        raise missing_extra("kibitz web", error.name or "", "web") from error
    token = token_from_environment()
    if not token and not is_loopback(host):
        token = new_token()
    place = f"#analyse/{Board(fen).fen().replace(' ', '_')}" if fen else ""
    app = App(folders, engines=engines, threads=threads, memory=hash, watch_seconds=60 * minutes)

    def on_start(url: str) -> None:
        say(f"kibitz web: {url}{place}")
        say("Ctrl-C ends it")
        if open_:
            webbrowser.open(url + place)

    serve(app, Address(host, port, token, name), on_start)
