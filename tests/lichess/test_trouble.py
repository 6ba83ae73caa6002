"""What goes wrong around games and must cost none: odd messages, full disks, questions, tokens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kibitz.lichess.server import Server, TokenError, UnreachableError
from tests.lichess.conftest import PATIENCE, SHORT, Running, wait_for
from tests.lichess.stand_in import TOKEN, FakeGame, StandIn

Start = Callable[..., Running]


def test_messages_before_the_first_one_are_passed_over(lichess: StandIn, start: Start) -> None:
    start()
    state = {"type": "gameState", "moves": "e2e4", "status": "mate"}
    chat = {"type": "chatLine", "username": "A", "text": "!why"}
    first = [state, chat, {"type": "gameFull", "id": 5}, {"type": {}}, {"no": "type"}]
    game = lichess.begin("odd", first=first, resigns_at=6)
    assert game.done.wait(PATIENCE)
    assert lichess.illegal == []


def test_a_game_that_is_named_again_after_its_end(
    lichess: StandIn, start: Start, tmp_path: Path
) -> None:
    bot = start()
    game = lichess.begin("twice", resigns_at=4)
    lichess.event({"type": "gameStart", "game": {"gameId": "twice"}})
    lichess.event({"type": "gameFinish", "game": {"gameId": "unheard"}})
    assert game.done.wait(PATIENCE)
    wait_for(lambda: not bot.bot.playing)
    lichess.event({"type": "gameStart", "game": {"gameId": "twice"}})
    assert lichess.begin("next", resigns_at=4).done.wait(PATIENCE)
    wait_for(lambda: not bot.bot.playing)
    assert (tmp_path / "games.pgn").read_text().count("/twice") == 1


def test_a_full_disk_costs_no_game(
    lichess: StandIn, start: Start, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no device that is always full here")
    for name in ("games.pgn", "bot.log"):
        (tmp_path / name).symlink_to(full)
    bot = start()
    assert lichess.begin("one", resigns_at=4).done.wait(PATIENCE)
    assert lichess.begin("two", resigns_at=4).done.wait(PATIENCE)
    wait_for(lambda: not bot.bot.playing)
    said = capsys.readouterr().err
    assert "No space left" in said
    assert '[Site "http' in said


def test_endless_questions_are_not_answered(lichess: StandIn, start: Start) -> None:
    def ask(game: FakeGame) -> None:
        for n in range(300):
            text = "!why \x00\ud800" if n % 2 else "!" + "x" * 5000
            game.tell({"type": "chatLine", "room": "spectator", "username": "A", "text": text})

    start()
    game = lichess.begin("talk", script={4: ask}, resigns_at=8)
    assert game.done.wait(PATIENCE)
    assert sum(room == "spectator" for room, _ in game.chat) <= 24


@pytest.mark.parametrize(
    "account", [["no", "object"], {"id": 5}, {"count": None}, {"count": {"all": "x"}}]
)
def test_an_account_that_makes_no_sense(lichess: StandIn, account: Any) -> None:
    lichess.account = account
    server = Server(TOKEN, lichess.url, pauses=SHORT)
    with pytest.raises(UnreachableError, match="makes no sense"):
        server.account()
    lichess.online = [{"username": "Bo", "perfs": {"blitz": {"rating": "high"}}}]
    with pytest.raises(UnreachableError, match="makes no sense"):
        server.online_bots()
    server.close()


def test_a_token_that_is_taken_back_during_a_game_ends_the_bot(
    lichess: StandIn, start: Start
) -> None:
    running = start()
    lichess.faults += [("revoked", 401)] * 100
    lichess.begin("revoked", silent=True)
    running.thread.join(PATIENCE)
    error, running.error = running.error, None
    assert isinstance(error, TokenError)
    assert TOKEN not in str(error)
