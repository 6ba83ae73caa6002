"""The bot around its games: challenges, its account and token, the command line."""

from __future__ import annotations

import io
import signal
import stat
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from kibitz.apps.lichess.bot import ATTEMPTS, VARIABLE, check_url, checked_account, read_token
from kibitz.apps.lichess.server import Server, TokenError
from kibitz.cli import main
from kibitz.core.errors import InputError
from kibitz.core.journal import with_lock
from kibitz.core.log import Stop
from tests.apps.lichess.conftest import PATIENCE, SHORT, Running, wait_for
from tests.apps.lichess.stand_in import END, OTHER, TOKEN, StandIn
from tests.apps.lichess.test_rules import USUAL

Start = Callable[..., Running]


def challenge(lichess: StandIn, name: str, **changes: Any) -> None:
    lichess.event({"type": "challenge", "challenge": {**USUAL, "id": name, **changes}})


# --- challenges -----------------------------------------------------------------------------------


def test_challenges_are_answered(lichess: StandIn, start: Start) -> None:
    """One game at a time; the next challenge is declined, a rematch after the game accepted."""
    lichess.on_accept = lambda name: threading.Thread(
        target=lichess.begin, args=(name,), kwargs={"silent": name == "first"}
    ).start()
    bot = start()
    challenge(lichess, "first")
    wait_for(lambda: bot.bot.playing)
    challenge(lichess, "second")
    wait_for(lambda: lichess.paths("second/decline"))
    assert [body for *_, path, body in lichess.requests if "second/decline" in path] == [
        {"reason": "later"}
    ]
    lichess.games["first"].end("resign", "white")
    wait_for(lambda: not bot.bot.playing)
    challenge(lichess, "third", rematchOf="first")
    wait_for(lambda: "third" in lichess.games)
    assert lichess.games["third"].done.wait(PATIENCE)


def test_games_of_an_opponent_are_counted(lichess: StandIn, start: Start) -> None:
    bot = start(games=5, games_per_opponent=1, games_a_day=2)
    lichess.on_accept = lambda name: threading.Thread(
        target=lichess.begin, args=(name,), kwargs={"silent": True, "bot_white": False}
    ).start()
    player = {"id": OTHER, "name": "Somebody", "rating": 1400}
    lichess.begin("first", silent=True, bot_white=False)
    wait_for(lambda: bot.bot.playing)
    challenge(lichess, "second", challenger=player)
    wait_for(lambda: lichess.paths("second/decline"))
    lichess.games["first"].end("aborted", None)
    wait_for(lambda: not bot.bot.playing)
    challenge(lichess, "third", challenger=player)
    wait_for(lambda: bot.bot.playing)
    lichess.games["third"].end("aborted", None)
    wait_for(lambda: not bot.bot.playing)
    challenge(lichess, "fourth", challenger=player)
    wait_for(lambda: lichess.paths("fourth/decline"))


def test_tournaments_are_joined_and_left(lichess: StandIn, start: Start) -> None:
    lichess.faults.append(("closed/join", 400))
    bot = start(tournaments=("closed", "open1"), takebacks=9, abort_seconds=1)
    wait_for(lambda: lichess.paths("open1/join"))
    game = lichess.begin("a", bot_white=False, silent=True, tournament="open1")
    wait_for(lambda: bot.bot.playing)
    game.flags = {"wtakeback": True}
    game.tell(game.state())
    wait_for(lambda: lichess.acts_in("a"))
    assert lichess.acts_in("a") == ["takeback/no"]
    bot.stop.request()
    wait_for(lambda: lichess.paths("open1/withdraw"))
    time.sleep(1.5)  # longer than it waits elsewhere
    assert lichess.acts_in("a") == ["takeback/no"]


def test_an_answer_waits_for_the_end_of_a_pause(lichess: StandIn, start: Start) -> None:
    bot = start()
    lichess.faults.append(("limited/decline", 429))
    challenge(lichess, "limited", variant={"key": "atomic"})
    wait_for(lambda: len(lichess.paths("limited/decline")) == 2)
    first, second = lichess.times("limited/decline")
    pause = second - first
    assert pause >= bot.server.pauses.limited


def test_what_makes_no_sense_is_passed_over(lichess: StandIn, start: Start, tmp_path: Path) -> None:
    start()
    lichess.event({"type": "challenge", "challenge": {"id": 5}})
    lichess.event({"type": "somethingNew"})
    lichess.event({"type": ["challenge"]})
    for line in (b"{not json", b"null", b"\xff\xfe", b"[" * 100_000):
        lichess.event(line)

    def declined() -> list[str]:  # as soon as the stream is connected again
        challenge(lichess, "good", variant={"key": "atomic"})
        return lichess.paths("good/decline")

    wait_for(declined)
    assert "makes no sense" in (tmp_path / "bot.log").read_text()


def test_games_under_way_are_taken_up(lichess: StandIn, start: Start) -> None:
    """A bot that starts again plays on from the middle of a game."""
    game = lichess.begin("old", silent=True, replies=["e7e5"])
    game.silent = False
    game.bot_moves("e2e4", offers_draw=False)
    start()
    assert game.done.wait(PATIENCE)
    assert game.moves[:2] == ["e2e4", "e7e5"]
    assert lichess.illegal == []


def test_a_game_that_cannot_be_had_costs_nothing_else(lichess: StandIn, start: Start) -> None:
    bot = start()
    lichess.faults += [("stream/away", 404)] * ATTEMPTS
    lichess.begin("away", silent=True)
    wait_for(lambda: lichess.paths("stream/away"))
    wait_for(lambda: not bot.bot.playing)
    assert lichess.begin("here").done.wait(PATIENCE)


def test_a_server_that_hangs_up_is_asked_ever_more_seldom(lichess: StandIn, start: Start) -> None:
    bot = start()
    pauses = bot.server.pauses
    lichess.hangs_up = True
    for stream in list(lichess.events):
        stream.put(END)
    before = len(lichess.paths("stream/event"))
    wait_for(lambda: len(lichess.paths("stream/event")) >= before + 6)
    times = lichess.times("stream/event")[before : before + 6]
    gaps = [after - earlier for earlier, after in pairwise(times)]
    assert gaps[-1] >= pauses.events  # the longest pause there is


def test_it_challenges_bots(lichess: StandIn, start: Start, tmp_path: Path) -> None:
    """One declines and is not asked again; after a 429 there are no challenges for longer."""
    lichess.online = [
        {"id": "bo", "username": "Bo", "perfs": {"blitz": {"rating": 2000, "games": 5}}},
        {"id": "weak", "username": "Weak", "perfs": {"blitz": {"rating": 1000, "games": 5}}},
    ]
    clocks = ("180+2",)
    bot = start(challenge=True, challenge_after=10, challenge_clocks=clocks)
    bot.bot.hurry()
    wait_for(lambda: lichess.paths("/api/challenge/Bo"))
    wait_for(lambda: "challenge to Bo: 180+2" in (tmp_path / "bot.log").read_text())
    lichess.event(
        {
            "type": "challengeDeclined",
            "challenge": {**USUAL, "id": "toBo", "declineReasonKey": "noBot"},
        }
    )
    wait_for(lambda: "Bo declines (noBot)" in (tmp_path / "bot.log").read_text())
    looked = len(lichess.paths("/api/bot/online"))
    bot.bot.hurry()
    wait_for(lambda: len(lichess.paths("/api/bot/online")) > looked)
    assert len(lichess.paths("/api/challenge/Bo")) == 1
    assert lichess.paths("/api/challenge/Weak") == []


def test_a_dry_run_changes_nothing(
    lichess: StandIn, start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    start(dry_run=True)
    challenge(lichess, "good")
    challenge(lichess, "bad", variant={"key": "atomic"})
    lichess.begin("running")
    said = ""

    def heard() -> bool:
        nonlocal said
        said += capsys.readouterr().err
        words = ("would accept: Ann (1600)", "would decline (variant: ", "would play game running")
        return all(text in said for text in words)

    wait_for(heard)
    assert [path for _, method, path, _ in lichess.requests if method == "POST"] == []


# --- token and account ----------------------------------------------------------------------------


def test_a_token_is_read_only_where_nobody_else_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, f" {TOKEN}\n")
    assert read_token(None) == TOKEN
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(InputError, match="no token"):
        read_token(None)
    file = tmp_path / "token.txt"
    file.write_text(f"{TOKEN}\n")
    for mode in (0o644, 0o640, 0o604):
        file.chmod(mode)
        with pytest.raises(InputError, match="chmod 600"):
            read_token(file)
    file.chmod(stat.S_IRUSR | stat.S_IWUSR)
    assert read_token(file) == TOKEN
    for text, wrong in (
        ("lip secret\nmore", "not a token: there are blanks in it"),
        ("secret", "not a token: it has 6 characters where 8 to 128 are expected"),
        ("lip_s\u00e9cret;", "it has other characters than letters, digits and _"),
    ):
        file.write_text(text)
        with pytest.raises(InputError, match=wrong) as caught:
            read_token(file)
        assert "secret" not in str(caught.value)


def test_tokens_go_nowhere_unencrypted() -> None:
    assert check_url("https://lichess.dev") == "https://lichess.dev"
    assert check_url("http://localhost:8080") == "http://localhost:8080"
    for url in ("http://lichess.org", "lichess.org", "https://", "ftp://x"):
        with pytest.raises(InputError, match="--url"):
            check_url(url)


def test_a_wrong_token(lichess: StandIn) -> None:
    server = Server("lip_wrongtoken", lichess.url, pauses=SHORT)
    with pytest.raises(TokenError) as caught:
        checked_account(server, False, False, Stop())
    assert "wrong" not in str(caught.value)
    server.close()


@pytest.mark.parametrize(
    ("account", "scopes", "upgrade", "typed", "message"),
    [
        ({}, "challenge:write", False, "", "lacks the scope bot:play"),
        ({"title": None}, "bot:play", False, "", "no bot account: 'KibitzBot'; kibitz"),
        ({"title": None, "count": {"all": 3}}, "bot:play", True, "", "3 games were played"),
        ({"title": None}, "bot:play", True, "yes\n", "left as it is"),
        ({"title": None}, "bot:play", True, "KibitzBot\n", ""),
        ({}, "bot:play", False, "", ""),
    ],
)  # fmt: skip
def test_the_account_is_checked(
    account: dict[str, Any],
    scopes: str,
    upgrade: bool,
    typed: str,
    message: str,
    lichess: StandIn,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lichess.account |= account
    lichess.scopes = scopes
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    server = Server(TOKEN, lichess.url, pauses=SHORT)
    if message:
        with pytest.raises(InputError) as caught:
            checked_account(server, upgrade, False, Stop())
        assert message in str(caught.value)
    else:
        assert checked_account(server, upgrade, False, Stop()) is not None
    assert bool(lichess.paths("upgrade")) is (upgrade and not message)
    server.close()


def test_a_server_that_cannot_be_reached_is_tried_again(
    lichess: StandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    lichess.faults += [("/api/account", 0), ("/api/account", 503), ("/api/account", 429)]
    server = Server(TOKEN, lichess.url, pauses=SHORT)
    assert checked_account(server, False, False, Stop()) is not None
    said = capsys.readouterr().err
    assert said.count("trying again in") >= 3
    assert "HTTP 503" in said
    server.close()


# --- the command ----------------------------------------------------------------------------------


def test_the_command(
    lichess: StandIn,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A game from the first event to Ctrl-C; the token is in nothing that was written."""
    monkeypatch.setenv(VARIABLE, TOKEN)
    game = lichess.begin("one", silent=True)

    def interrupt() -> None:
        wait_for(lambda: game.moves)
        signal.raise_signal(signal.SIGINT)
        wait_for(lambda: "finishing one" in (tmp_path / "bot.log").read_text())
        game.end("resign", "white")

    words = ["lichess", "--network", "material", "--url", lichess.url, "--folder", str(tmp_path)]
    thread = threading.Thread(target=interrupt)
    thread.start()
    assert main([*words, "--set", "nodes=20", "--set", "comment_every=0"]) == 0
    thread.join()
    said = capsys.readouterr()
    assert "game one: 1-0 (resign)" in said.err
    written = [path.read_text() for path in tmp_path.iterdir() if path.is_file()]
    assert not any(TOKEN in text for text in [said.err, said.out, *written])
    assert '[Site "http' in (tmp_path / "games.pgn").read_text()


@pytest.mark.parametrize("games", [False, True])
def test_ctrl_c_once_ends_after_the_games_twice_at_once(
    games: bool,
    lichess: StandIn,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Which the bot says when it starts; and without a game once is enough."""
    monkeypatch.setenv(VARIABLE, TOKEN)
    log = tmp_path / "bot.log"

    def interrupt() -> None:
        wait_for(lambda: lichess.games["one"].moves if games else lichess.events)
        signal.raise_signal(signal.SIGINT)
        if games:
            wait_for(lambda: "finishing one" in log.read_text())
            signal.raise_signal(signal.SIGINT)

    if games:
        lichess.begin("one", silent=True)
    thread = threading.Thread(target=interrupt)
    thread.start()
    words = ["lichess", "--network", "material", "--url", lichess.url, "--folder", str(tmp_path)]
    code = main([*words, "--set", "nodes=20", "--set", "comment_every=0"])
    thread.join()
    assert code == (130 if games else 0)
    assert "Ctrl-C ends it after its games, twice at once" in capsys.readouterr().err
    assert ("left running on Lichess: one; start again" in log.read_text()) is games


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--set", "gmes=1"], "did you mean 'games'"),
        (["--url", "http://lichess.org"], "needs https://"),
        (["--token-file", "nowhere.txt"], "no such file"),
        (["--network", "nowhere.onnx", "--url", "http://localhost:9"], "nowhere.onnx"),
        (["--url", "http://localhost:99999"], "'http://localhost:99999'; a port is"),
        (["--url", "http://localhost:x"], "'http://localhost:x'; a port is"),
        # Before it tries to reach the server, which it would do for ever.
        (["--url", "http://localhost:9", "--set", 'books=["nowhere.bin"]'], "'nowhere.bin'"),
        (["--url", "http://localhost:9", "--set", "books=a.bin"], 'write ["a.bin"]'),
    ],
)
def test_what_the_command_refuses(
    words: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(VARIABLE, TOKEN)
    assert main(["lichess", *words]) == 2
    assert message in capsys.readouterr().err


def test_two_bots_in_one_folder(
    lichess: StandIn,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(VARIABLE, TOKEN)
    with with_lock(tmp_path, "bot"):
        words = ["lichess", "--network", "material", "--url", lichess.url]
        assert main([*words, "--folder", str(tmp_path)]) == 2
    assert "another bot is running here" in capsys.readouterr().err
