"""Whose bot it is: the token, from the environment or a file, and the check of the account.

A file with the token must be readable by its owner alone.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

from kibitz.apps.lichess.server import NEEDED_SCOPE, Account, Server, UnreachableError
from kibitz.core.errors import ConfigError, InputError
from kibitz.core.files import read_bytes
from kibitz.core.log import Stop, say

VARIABLE = "LICHESS_BOT_TOKEN"
PAGE = "https://lichess.org/account/oauth/token/create?scopes[]=bot:play&scopes[]=challenge:write"
_TOKEN = re.compile(r"[A-Za-z0-9_]{8,128}")


def read_token(path: Path | None) -> str:
    """The token of a file, or of the environment; errors never show it."""
    if path is None:
        token, source = os.environ.get(VARIABLE, "").strip(), VARIABLE
        if not token:
            raise InputError("no token", fix=f"set {VARIABLE}, or --token-file; make one at {PAGE}")
    else:
        content, source = read_bytes(path), str(path)
        if os.name == "posix" and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise InputError("others may read this token", value=str(path), fix=f"chmod 600 {path}")
        token = content.decode("ascii", errors="replace").strip()
    if _TOKEN.fullmatch(token) is None:
        raise InputError(f"{source}: not a token", fix=f"it is one word; make one at {PAGE}")
    return token


def check_url(url: str) -> str:
    """A server's address; without encryption only this machine's own."""
    parts = urlsplit(url)
    try:
        _ = parts.port
    except ValueError as error:
        raise ConfigError("--url", value=url, fix="a port is a number up to 65535") from error
    if parts.scheme == "https" and parts.hostname:
        return url
    if parts.scheme == "http" and parts.hostname in ("localhost", "127.0.0.1", "::1"):
        return url
    raise ConfigError("--url", value=url, fix="the token needs https://, or http://localhost")


def checked_account(server: Server, upgrade: bool, dry_run: bool, stop: Stop) -> Account | None:
    """The account, which may play as a bot; upgraded first if that is wanted and confirmed.

    While the server cannot be reached it tries again; None if a stop was requested meanwhile.
    """
    account = _account(server, stop)
    if account is None:
        return None
    if account.scopes is not None and NEEDED_SCOPE not in account.scopes:
        raise InputError(f"the token lacks the scope {NEEDED_SCOPE}", fix=f"make one at {PAGE}")
    if account.is_bot:
        return account
    if dry_run:
        say(f"{account.name} is no bot account yet: kibitz lichess --upgrade makes it one")
        return account
    if not upgrade:
        fix = "kibitz lichess --upgrade makes it one, for ever"
        raise InputError("no bot account", value=account.name, fix=fix)
    if account.games:
        fix = "only an account without games can become a bot's: make a new one"
        raise InputError(f"{account.games} games were played with it", value=account.name, fix=fix)
    _confirm(account.name)
    server.upgrade()
    say(f"{account.name} is a bot account now")
    return account._replace(is_bot=True)


def _account(server: Server, stop: Stop) -> Account | None:
    wait = server.pauses.again
    while not stop.requested:
        try:
            return server.account()
        except UnreachableError as error:
            say(f"{error}; trying again in {wait:g} s, Ctrl-C ends that")
        until = time.monotonic() + wait
        while time.monotonic() < until and not stop.requested:
            server.closed.wait(min(wait, server.pauses.tick))
        wait = min(2 * wait, server.pauses.events)
    return None


def _confirm(name: str) -> None:
    """Ask before what cannot be undone."""
    say(f"{name} becomes a bot account for ever: it can never again be used by a person.")
    say(f"Type its name to go on: {name}")
    if sys.stdin.readline().strip() != name:
        raise InputError("the account was left as it is")
