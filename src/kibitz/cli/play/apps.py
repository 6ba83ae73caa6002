"""`kibitz web`, `kibitz lichess` and `kibitz mcp`: the page, the bot, tools for language models."""

from __future__ import annotations

import os
import sys
import webbrowser
from contextlib import closing
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from kibitz.apps.lichess.config import lichess_settings
from kibitz.cli.explain.comment import LanguageFlag
from kibitz.cli.output import EngineFlag, at_least, from_flag, refuse_twins
from kibitz.coach.database import usual_path
from kibitz.comment.words.languages import chosen_language
from kibitz.core.errors import InputError, missing_extra
from kibitz.core.files import data_folder, write_bytes
from kibitz.core.journal import with_lock
from kibitz.core.log import graceful_stop, say
from kibitz.core.places import existing
from kibitz.engine.options import AUTODISCOVER, chosen
from kibitz.position.board import Board
from kibitz.uci.proxy import is_loopback, token_from_environment

# --- lichess --------------------------------------------------------------------------------------
#
# `kibitz lichess`: a bot on Lichess.


def lichess(
    *,
    network: EngineFlag = AUTODISCOVER,
    token_file: Annotated[
        Path | None, Parameter(help="File with the token, else LICHESS_BOT_TOKEN has it.")
    ] = None,
    folder: Annotated[
        Path | None, Parameter(help="For games.pgn and bot.log; by default in KIBITZ_DATA.")
    ] = None,
    setting: Annotated[
        tuple[str, ...], Parameter(name=["--set"], help="As KEY=VALUE; may be repeated.")
    ] = (),
    dry_run: Annotated[bool, Parameter(help="Watch, and say what would be done.")] = False,
    upgrade: Annotated[
        bool, Parameter(help="Make a new account a bot's, for ever; asks first.")
    ] = False,
    url: Annotated[str, Parameter(help="Another server.")] = "https://lichess.org",
) -> int:
    """Play on Lichess as a bot, until stopped: once Ctrl-C ends it after its games, twice at once.

    The settings are those of the table [lichess] of the settings file.
    """
    settings = lichess_settings(setting)
    from kibitz.apps.lichess.archive import Archive
    from kibitz.apps.lichess.bot import Bot, check_url, checked_account, read_token, warm_up
    from kibitz.apps.lichess.lookups import Lookups
    from kibitz.apps.lichess.server import Server

    token, where = read_token(token_file), chosen(network)
    place = data_folder() / "lichess" if folder is None else folder
    server = Server(token, check_url(url), dry_run=dry_run)
    Lookups(settings, say)  # refuses what is no book before the account is touched
    with (
        with_lock(place, "bot"),
        graceful_stop() as stop,
        closing(Archive(place, server.url)) as archive,
    ):
        bot = None
        try:
            warm_up(where, settings)
            account = checked_account(server, upgrade, dry_run, stop)
            if account is not None:
                how = "Ctrl-C ends it after its games, twice at once"
                archive.say(f"{account.name} is ready on {server.url}; {how}")
                bot = Bot(account.id, server, where, settings, archive)
                bot.run(stop)
        finally:  # also after an error
            if bot is not None and bot.playing:
                left = ", ".join(bot.playing)
                archive.say(f"left running on Lichess: {left}; start again to go on")
            server.close()
    return 0


# --- web ------------------------------------------------------------------------------------------
#
# `kibitz web`: the page in the browser.


LOCAL, PORT = "127.0.0.1", 8321
SERVING = ("h11", "starlette", "uvicorn", "websockets")  # packages of the extra
MOST_MINUTES = 7 * 24 * 60


def web(
    *folders: Annotated[
        Path, Parameter(help="Folders whose files the page may open: games, shards, runs, ...")
    ],
    host: Annotated[str, Parameter(help="Address to listen on.")] = LOCAL,
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
    language: LanguageFlag = None,
    database: Annotated[
        Path | None, Parameter(help="File of your games for the coach; by default the usual one.")
    ] = None,
    open_: Annotated[
        bool, Parameter(name="--open", negative_bool="no-", help="Open the page in the browser.")
    ] = True,
    install: Annotated[
        bool, Parameter(help="Only put it into this desktop's menu of programs (Linux).")
    ] = False,
) -> None:
    """Play, analyse and watch the search think in the browser; Ctrl-C ends it.

    Other machines are let in with --host 0.0.0.0, and with a token, which is printed or is that of
    the variable KIBITZ_TOKEN.
    """
    if install:
        _install(folders)
        return
    at_least(0, port=port)
    at_least(1, engines=engines, threads=threads, hash=hash)
    if not 0.0 < minutes <= MOST_MINUTES:
        raise InputError(
            "--minutes", value=minutes, fix=f"give more than 0, at most {MOST_MINUTES}"
        )
    try:
        from kibitz.apps.http import Address, new_token
        from kibitz.apps.web.connection import App
        from kibitz.apps.web.server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in (
            "h11",
            "starlette",
            "uvicorn",
            "websockets",
        ):
            raise
        raise missing_extra("kibitz web", error.name or "", "web") from error
    token = token_from_environment()
    if not token and not is_loopback(host):
        token = new_token()
    place = f"#analyse/{Board(fen).fen().replace(' ', '_')}" if fen else ""
    seconds = 60 * minutes
    limits = {"engines": engines, "threads": threads, "memory": hash}
    words = chosen_language(language)
    app = App(folders, **limits, watch_seconds=seconds, database=database, language=words)

    def on_start(url: str) -> None:
        say(f"kibitz web: {url}{place}")
        say("Ctrl-C ends it")
        if open_:
            webbrowser.open(url + place)

    serve(app, Address(host, port, token, name), on_start)


DESKTOP_ENTRY = """[Desktop Entry]
Type=Application
Name=Kibitz
Comment=Play, analyse and review chess
Exec={command}
Terminal=true
Categories=Game;BoardGame;
Keywords=chess;
"""


def _install(folders: tuple[Path, ...]) -> None:
    """Write a desktop entry that opens the page, with the folders that were given."""
    if not sys.platform.startswith("linux"):
        fix = "make a shortcut to the command: kibitz web"
        raise InputError("--install writes desktop entries of Linux", value=sys.platform, fix=fix)
    words = [sys.executable, "-m", "kibitz", "web", *(str(folder.resolve()) for folder in folders)]
    place = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    entry = place / "applications" / "kibitz.desktop"
    content = DESKTOP_ENTRY.format(command=" ".join(map(_quoted, words)))
    entry.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(entry, content.encode())
    say(f"{entry}: written; Kibitz is in the menu of programs, under games")


def _quoted(word: str) -> str:
    """A word of a desktop entry's command, quoted as its specification asks."""
    for letter in '\\"`$':
        word = word.replace(letter, f"\\{letter}")
    return '"' + word.replace("\\", "\\\\").replace("%", "%%") + '"'


# --- mcp ------------------------------------------------------------------------------------------
#
# `kibitz mcp`: tools for language models.


MCP_PORT = 8322


def mcp(
    *files: Annotated[
        Path,
        Parameter(help="What clients may look up: trees (.tree), books (.bin), .pgn, puzzles."),
    ],
    http: Annotated[
        bool, Parameter(help="Over HTTP, with a token; else one client on standard input.")
    ] = False,
    host: Annotated[str, Parameter(help="With --http: address to listen on.")] = LOCAL,
    port: Annotated[int, Parameter(help="With --http: port; 0 takes a free one.")] = MCP_PORT,
    name: Annotated[
        tuple[str, ...], Parameter(help="With --http: a name by which clients know this machine.")
    ] = (),
    engines: Annotated[int, Parameter(help="Calls that may search at the same time.")] = 2,
    network: EngineFlag = AUTODISCOVER,
    database: Annotated[
        Path | None, Parameter(help="File of your games; by default in your data folder.")
    ] = None,
) -> None:
    """Give language models tools for chess, by the Model Context Protocol.

    The token is that of the variable KIBITZ_TOKEN, or a new one, which is printed.
    """
    at_least(0, port=port)
    at_least(1, engines=engines)
    refuse_twins("files", [path.name for path in files])
    given = {path.name: Path(existing(path)) for path in files}
    with from_flag("--network"):
        chosen(network)
    try:
        from kibitz.apps.http import Address, new_token
        from kibitz.apps.mcp.calls import Engines, Shelf
        from kibitz.apps.mcp.lookups import ENDINGS
        from kibitz.apps.mcp.server import Service, serve_http, serve_lines
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in (*SERVING, "anyio", "mcp", "mcp_types"):
            raise
        raise missing_extra("kibitz mcp", error.name or "", "mcp") from error
    for known_as in given:
        if not known_as.endswith(ENDINGS):
            fix = f"expected {', '.join(ENDINGS)}"
            raise InputError("no tool reads such a file", value=known_as, fix=fix)
    service = Service(Engines(engines, network), Shelf(database or usual_path(), given))
    if not http:
        if (host, port, name) != (LOCAL, MCP_PORT, ()):
            shown = f"{host}:{port}"
            raise InputError("nothing listens there", value=shown, fix="give --http, too")
        return serve_lines(service)
    token = token_from_environment()
    shown = "that of KIBITZ_TOKEN" if token else (token := new_token())

    def on_start(url: str) -> None:
        say(f"kibitz mcp: {url}, token {shown}")
        say("Ctrl-C ends it")

    return serve_http(service, Address(host, port, token, name), on_start)
