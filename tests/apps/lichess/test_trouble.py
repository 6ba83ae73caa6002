"""What goes wrong around games and must cost none: odd messages, full disks, questions, tokens."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kibitz.apps.lichess.archive import Archive
from kibitz.apps.lichess.bot import Bot
from kibitz.apps.lichess.chat import last_move_in_words, lines_of
from kibitz.apps.lichess.config import Lichess
from kibitz.apps.lichess.messages import event_of, message_of
from kibitz.apps.lichess.server import LimitedError, Server, TokenError, UnreachableError
from kibitz.core import settings
from kibitz.core.log import Stop
from kibitz.engine import Engine
from kibitz.position.board import Board
from tests.apps.lichess.conftest import PATIENCE, QUIET, SHORT, Running, wait_for
from tests.apps.lichess.stand_in import BOT, END, TOKEN, FakeGame, Script, StandIn
from tests.apps.lichess.test_rules import USUAL

Start = Callable[..., Running]


def test_the_chat_speaks_the_language_of_the_settings(tmp_path: Path) -> None:
    (tmp_path / "kibitz.toml").write_text('[comment]\nlanguage = "de"\n')
    board = Board("q3k3/p4ppp/8/3N4/8/8/P4PPP/4K3 w - - 0 1")
    board.push("Nc7+")
    settings.use(tmp_path / "kibitz.toml")
    try:
        with Engine("material", search="alphabeta", hash=8) as engine:
            text = last_move_in_words(board, engine)
    finally:
        settings.use(None)
    assert text.startswith("1. Sc7+: ")
    assert "Dame auf a8" in text


def test_a_signal_that_is_handled_late_ends_the_bot(lichess: StandIn, tmp_path: Path) -> None:
    """On a busy machine a handler may still run when the wait that it broke into should be over."""
    stop = Stop()

    def handle(*_: object) -> None:
        assert not stop.requested, "the bot does not end"
        time.sleep(3 * SHORT.tick)
        stop.request()

    before = signal.signal(signal.SIGINT, handle)
    timers = [threading.Timer(seconds, send_interrupt) for seconds in (0.5, PATIENCE)]
    server = Server(TOKEN, lichess.url, pauses=SHORT)
    try:
        with closing(Archive(tmp_path, lichess.url)) as archive:
            for timer in timers:
                timer.start()
            Bot(BOT, server, "material", Lichess(**QUIET), archive).run(stop)
    finally:
        for timer in timers:
            timer.cancel()
        signal.signal(signal.SIGINT, before)
        server.close()
    assert stop.requested


def send_interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_messages_before_the_first_one_are_passed_over(lichess: StandIn, start: Start) -> None:
    start()
    state = {"type": "gameState", **STATE, "status": "mate"}
    chat = {"type": "chatLine", "username": "A", "text": "!why"}
    first = [state, chat, {"type": "gameFull", "id": 5}, {"type": {}}, {"no": "type"}]
    script: Script = {4: FakeGame.break_streams}  # they come before the next connection's, too
    game = lichess.begin("odd", first=first, resigns_at=8, script=script)
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
    lichess.faults.append(("/api/account", 200))
    with pytest.raises(UnreachableError, match="an answer that is not JSON"):
        server.account()
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


# --- the stream of events -------------------------------------------------------------------------

UNHEARD = b'{"type": "somethingNew"}', b'{"type": "gameFull"}'  # of kinds that mean nothing here
JUNK = (
    *UNHEARD,
    b"{not json", b"null", b"[1, 2]", b'"gameStart"', b"7", b"\xff\xfe", b"[" * 100_000,
    b'{"type": "gameStart", "game": ', b'{"type": "gameStart"}',
    b'{"type": "gameStart", "game": null}', b'{"type": "gameStart", "game": {"gameId": 5}}',
    b'{"type": "challenge", "challenge": {"id": {}}}', b'{"type": "challenge", "challenge": []}',
    b'{"type": "gameFinish", "game": "x"}', b"\x00" * 50, b"{}", b'{"type": ["challenge"]}',
    b'{"type": "challengeDeclined", "challenge": {"id": "x", "timeControl": 1e999}}',
)  # fmt: skip


def test_each_junk_line_of_the_events_is_named_and_survived(
    lichess: StandIn, start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    start()
    broken = 0
    for line in JUNK:
        wait_for(lambda: lichess.events)
        lichess.event(line)
        broken += line not in UNHEARD  # a game may have been lost: the stream is connected again
        connections = 1 + broken
        wait_for(partial(connected, lichess, connections))
    wait_for(lambda: lichess.events)
    assert lichess.begin("after", resigns_at=4).done.wait(PATIENCE)
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert said.count("a line that makes no sense: b'") == len(JUNK) - len(UNHEARD)
    for word in ("{not json", "gameStart", "xff", "[[[", "x00", '"challenge": []', '"gameId": 5'):
        assert word in said


def connected(lichess: StandIn, times: int) -> bool:
    """Whether the stream of events was connected so often."""
    return len(lichess.paths("stream/event")) >= times


def test_junk_that_comes_with_every_connection_is_passed_over(
    lichess: StandIn, start: Start
) -> None:
    """A line that the server repeats must not hide what follows it."""
    game: list[FakeGame] = []

    def again() -> bool:
        for stream in list(lichess.events):
            stream.put(b"{always broken")
            if not game:
                game.append(FakeGame(lichess, "behind", resigns_at=4))
                lichess.games["behind"] = game[0]
            stream.put({"type": "gameStart", "game": {"gameId": "behind"}})
        return game != [] and game[0].done.is_set()

    start()
    wait_for(again)


STATE: dict[str, Any] = {"moves": "e2e4", "wtime": 5, "btime": 5, "status": "started"}


def test_frames_at_random_end_in_a_message_or_a_refusal() -> None:
    """Whatever stands where: a message, nothing, or an error that says which field is wrong."""
    dice = random.Random(1)
    values: list[Any] = [None, True, -1, 10**40, 1e308, "", "x", [], {}, [{}], "\ud800"]
    usual = [
        {"type": "challenge", "challenge": USUAL},
        {"type": "gameStart", "game": {"gameId": "x"}},
        {"type": "gameFull", "id": "x", "state": {**STATE, "wdraw": True}, "clock": {}},
        {"type": "gameState", **STATE},
        {"type": "chatLine", "username": "a", "text": "b", "room": "player"},
        {"type": "opponentGone", "gone": True, "claimWinInSeconds": 5},
    ]
    read = refused = 0
    for _ in range(4000):
        frame = spoiled(dice.choice(usual), dice, values)
        for reads in (event_of, message_of):
            try:
                read += reads(frame) is not None
            except msgspec.ValidationError:  # names the field; anything else fails the test
                refused += 1
    assert read > 500
    assert refused > 500


def spoiled(frame: Any, dice: random.Random, values: list[Any]) -> Any:
    """A frame in which some values are others."""
    if not isinstance(frame, dict):
        return frame
    return {
        key: dice.choice(values) if dice.random() < 0.1 else spoiled(value, dice, values)
        for key, value in frame.items()
        if dice.random() > 0.05
    }


def test_a_chat_line_without_a_room() -> None:
    line = message_of({"type": "chatLine", "username": "a", "text": "!help", "room": None})
    assert line == message_of({"type": "chatLine", "username": "a", "text": "!help"})
    full = {
        "type": "gameFull",
        "id": "x",
        "state": STATE,
        "white": {"id": None, "aiLevel": 3},
    }
    assert message_of(full) is not None


@pytest.mark.parametrize("field", STATE)
def test_a_state_without_a_field_is_no_game_at_its_start(field: str) -> None:
    assert message_of({"type": "gameState", **STATE}) is not None
    with pytest.raises(msgspec.ValidationError, match=field):
        message_of({"type": "gameState", **STATE, field: None})


@pytest.mark.parametrize(
    "change",
    [{"moves": 5}, {"moves": None}, {"btime": None}, {"status": []}, {"winc": "x"}, {"type": None}],
)
def test_a_move_in_a_state_that_makes_no_sense_is_heard_of(
    change: dict[str, Any], lichess: StandIn, start: Start
) -> None:
    """The stream, which is in good order, is connected again."""

    def spoil(game: FakeGame) -> None:
        tell, game.tell = game.tell, lambda message: tell({**message, **change})  # type: ignore[method-assign]
        game.go_on()
        game.tell = tell  # type: ignore[method-assign]

    start()
    game = lichess.begin("spoilt", script={3: spoil}, resigns_at=8)
    assert game.done.wait(PATIENCE)
    assert (game.status, lichess.flagged) == ("resign", [])


def test_moves_that_cannot_be_played_cost_no_game(
    lichess: StandIn, start: Start, tmp_path: Path
) -> None:
    """It is begun again from where it stands, however often."""
    log = tmp_path / "bot.log"

    def nonsense(game: FakeGame) -> None:
        game.tell({**game.state(), "moves": "e2e4 e2e5"})

    start()
    script = dict.fromkeys((4, 6, 8, 10, 12), nonsense)
    game = lichess.begin("nonsense", script=script, resigns_at=16)
    assert game.done.wait(PATIENCE)
    assert game.status == "resign"
    assert log.read_text().count("game nonsense: MoveError") >= 4


# --- challenges and games that are lost on the way ------------------------------------------------


@pytest.mark.parametrize("trouble", [500, 0, 200])
def test_a_challenge_is_answered_again_after_a_failure(
    trouble: int, lichess: StandIn, start: Start
) -> None:
    bot = start()
    lichess.faults += [("first/accept", trouble), ("second/decline", trouble)]
    lichess.event({"type": "challenge", "challenge": {**USUAL, "id": "first"}})
    wait_for(lambda: len(lichess.paths("first/accept")) == 2)
    lichess.event({"type": "challenge", "challenge": {**USUAL, "id": "second"}})
    wait_for(lambda: len(lichess.paths("second/decline")) == 2)
    lichess.begin("first", silent=True)  # which the bot would wait for when it is to end
    wait_for(lambda: bot.bot.playing)


def test_a_challenge_whose_game_begins_without_an_answer_is_not_answered_again(
    lichess: StandIn, start: Start
) -> None:
    bot = start()

    def begin(name: str) -> None:
        lichess.begin(name, silent=True)

    lichess.on_accept = begin
    lichess.deaf.append("first/accept")
    lichess.event({"type": "challenge", "challenge": {**USUAL, "id": "first"}})
    wait_for(lambda: bot.bot.playing)
    time.sleep(20 * SHORT.tick)
    assert len(lichess.paths("first/accept")) == 1


def test_a_game_that_is_refused_once_is_played(lichess: StandIn, start: Start) -> None:
    start()
    lichess.faults += [("stream/late", 404)]
    assert lichess.begin("late", resigns_at=4).done.wait(PATIENCE)


def test_a_refused_move_shows_that_the_game_is_over(
    lichess: StandIn, start: Start, tmp_path: Path
) -> None:
    """Where the stream, which is in good order, has not said so."""
    bot = start()

    def end_unheard(game: FakeGame) -> None:
        game.streams, game.status, game.winner = [], "resign", "white"

    lichess.begin("unheard", script={4: end_unheard})
    wait_for(lambda: "game unheard: 1-0 (resign)" in (tmp_path / "bot.log").read_text())
    wait_for(lambda: not bot.bot.playing)
    assert len(lichess.paths("unheard/move")) == 3


def test_an_accepted_game_that_never_begins_is_not_waited_for(
    lichess: StandIn, start: Start, tmp_path: Path
) -> None:
    """The stream breaks, the challenger aborts meanwhile: the next challenge is accepted."""

    def cut(name: str) -> None:
        if name == "lost":
            for stream in list(lichess.events):
                stream.put(END)

    lichess.on_accept = cut
    start(pauses=SHORT._replace(begins=0.3))
    lichess.event({"type": "challenge", "challenge": {**USUAL, "id": "lost"}})
    wait_for(lambda: "lost has not begun" in (tmp_path / "bot.log").read_text())
    wait_for(lambda: lichess.events)
    lichess.event({"type": "challenge", "challenge": {**USUAL, "id": "next"}})
    wait_for(lambda: lichess.paths("challenge/next/"))
    assert lichess.paths("challenge/next/") == ["/api/challenge/next/accept"]


def test_a_stop_waits_for_the_game_of_an_accepted_challenge(lichess: StandIn, start: Start) -> None:
    bot = start()
    lichess.on_accept = lambda _: bot.stop.request()
    lichess.event({"type": "challenge", "challenge": {**USUAL, "id": "late"}})
    wait_for(lambda: bot.stop.requested)
    time.sleep(5 * SHORT.tick)
    game = lichess.begin("late", resigns_at=4)
    assert game.done.wait(PATIENCE)
    assert len(game.moves) >= 4


@pytest.mark.parametrize("trouble", [500, 429, 400, 0])
def test_a_victory_is_claimed_again_after_a_failure(
    trouble: int, lichess: StandIn, start: Start
) -> None:
    def gone(game: FakeGame) -> None:
        game.silent = True
        lichess.faults += [("left/claim-victory", trouble)] * 2
        game.tell({"type": "opponentGone", "gone": True, "claimWinInSeconds": 0})

    start()
    game = lichess.begin("left", script={5: gone})
    assert game.done.wait(PATIENCE)
    assert (game.status, game.winner) == ("timeout", "white")


def test_an_answer_to_an_offer_is_given_again_after_a_failure(
    lichess: StandIn, start: Start
) -> None:
    def offer(game: FakeGame) -> None:
        lichess.faults += [("offer/takeback", 500)] * 2
        game.flags = {"btakeback": True}
        game.silent = True
        game.tell(game.state())

    start(takebacks=1)
    game = lichess.begin("offer", bot_white=True, script={5: offer}, resigns_at=12)
    wait_for(lambda: lichess.acts_in("offer"))
    assert lichess.acts_in("offer") == ["takeback/yes"]
    game.silent = False
    game.go_on()
    assert game.done.wait(PATIENCE)


# --- moves ----------------------------------------------------------------------------------------


def test_a_move_that_is_taken_back_unheard_is_made_again(lichess: StandIn, start: Start) -> None:
    """The opponent moves as before, so that the bot hears of the same position once more."""
    heard: list[Any] = []
    lost: list[Any] = []

    def mute(game: FakeGame) -> None:
        heard.append(game.tell)
        game.tell = lost.append  # type: ignore[method-assign, assignment]

    def again(game: FakeGame) -> None:
        game.board.pop()
        game.tell = heard.pop()  # type: ignore[method-assign]
        game.tell(game.state())

    start()
    game = lichess.begin("again", script={4: mute, 5: again}, resigns_at=8)
    assert game.done.wait(PATIENCE)
    assert (game.status, lichess.illegal) == ("resign", [])


def test_a_move_is_not_sent_after_its_clock_has_run_out(
    lichess: StandIn, start: Start, tmp_path: Path
) -> None:
    bot = start(pauses=SHORT._replace(game=0.02))
    lichess.faults += [("mute/move/", 500)] * 100_000
    lichess.begin("mute", seconds=1.0)
    log = tmp_path / "bot.log"
    wait_for(lambda: "not sent any more: the clock is out" in log.read_text())
    attempts = len(lichess.paths("mute/move/"))
    looked = len(lichess.paths("stream/mute"))
    lichess.games["mute"].break_streams()  # the same state is heard once more
    wait_for(lambda: len(lichess.paths("stream/mute")) > looked)
    lichess.faults.clear()
    sent = lichess.times("mute/move/")
    assert sent[-1] - sent[0] <= 1.5
    assert attempts <= len(sent) < 200
    assert bot.bot.playing == ["mute"]


@pytest.mark.parametrize(
    ("header", "least", "most"), [("1", 1.0, 1.5), ("9" * 400, 2.0, 2.5), ("soon", 0.3, 0.8)]
)
def test_a_pause_is_as_long_as_the_server_says(
    header: str, least: float, most: float, lichess: StandIn
) -> None:
    """Up to a limit; what makes no sense counts as not said."""
    server = Server(TOKEN, lichess.url, pauses=SHORT._replace(limited_most=2.0))
    lichess.retry_after = header
    lichess.faults.append(("x/move/", 429))
    with pytest.raises(LimitedError) as caught:
        server.move("x", "e2e4", offer_draw=False)
    assert least <= caught.value.seconds <= most
    with pytest.raises(LimitedError) as caught:
        server.move("x", "e2e4", offer_draw=False)
    assert 0 < caught.value.seconds <= most
    server.close()


def test_a_move_waits_no_longer_than_the_server_says(lichess: StandIn, start: Start) -> None:
    def limited(game: FakeGame) -> None:
        lichess.retry_after = "1"
        lichess.faults.append((f"{game.id}/move/", 429))

    start(pauses=SHORT._replace(limited=60.0, game=60.0))
    game = lichess.begin("soon", script={4: limited}, resigns_at=8, seconds=30.0)
    assert game.done.wait(PATIENCE)
    times = lichess.times("soon/move/")
    assert max(after - before for before, after in pairwise(times)) >= 1.0
    assert (game.status, lichess.flagged) == ("resign", [])


def test_a_bot_that_starts_again_greets_once(lichess: StandIn, start: Start) -> None:
    game = lichess.begin("hello", resigns_at=6)
    greeted = lines_of(Lichess().greeting.replace("{opponent}", "Somebody"))
    game.chat += [("player", line) for line in greeted]  # by a bot that was then ended
    start()
    assert game.done.wait(PATIENCE)
    wait_for(lambda: any("Thank you" in text for _, text in game.chat))
    assert sum("Good luck" in text for _, text in game.chat) == 1
