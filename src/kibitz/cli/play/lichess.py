"""`kibitz lichess`: a bot on Lichess."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from kibitz.apps.lichess.config import lichess_settings
from kibitz.cli.output import EngineFlag
from kibitz.core.files import data_folder
from kibitz.core.journal import with_lock
from kibitz.core.log import graceful_stop
from kibitz.engine.options import AUTODISCOVER, chosen


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
    from kibitz.apps.lichess.account import check_url, checked_account, read_token
    from kibitz.apps.lichess.archive import Archive
    from kibitz.apps.lichess.bot import Bot, warm_up
    from kibitz.apps.lichess.server import Server

    token, where = read_token(token_file), chosen(network)
    place = data_folder() / "lichess" if folder is None else folder
    server = Server(token, check_url(url), dry_run=dry_run)
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
