"""Whole games of the bot against a stand-in of Lichess: legal moves in time, whatever breaks."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import chess
import chess.pgn
import pytest

from kibitz.apps.lichess import archive
from kibitz.apps.lichess import bot as bots
from kibitz.apps.lichess.archive import Archive
from kibitz.apps.lichess.delivery import Delivery, Reply
from kibitz.apps.lichess.server import Pauses, Server
from kibitz.data.openings import odds_start
from kibitz.engine import Engine
from kibitz.engine.levels import people_networks
from tests.apps.lichess.conftest import PATIENCE, SHORT, Running, wait_for
from tests.apps.lichess.stand_in import FakeGame, StandIn

pytestmark = pytest.mark.usefixtures("short_looks")

Start = Callable[..., Running]
WITHOUT_ROOK = odds_start("rook", "white")


def finished(game: FakeGame) -> FakeGame:
    assert game.done.wait(PATIENCE)
    return game


def read_games(folder: Path) -> list[chess.pgn.Game]:
    found = []
    with (folder / "games.pgn").open() as file:
        while (game := chess.pgn.read_game(file)) is not None:
            found.append(game)
    return found


def test_games_are_played_to_their_ends(lichess: StandIn, start: Start, tmp_path: Path) -> None:
    bot = start(games=3, ponder=True)
    fen = chess.Board.from_chess960_pos(100).fen()
    special: list[dict[str, Any]] = [
        {"resigns_at": 80},
        {"variant": "chess960", "fen": fen},
        {},
        {},
        {"rated": True},
    ]
    games = [
        lichess.begin(f"game{n}", bot_white=n % 2 == 0, seed=n, **how)
        for n, how in enumerate(special)
    ]
    for game in games:
        finished(game)
    wait_for(lambda: not bot.bot.playing)
    assert (lichess.illegal, lichess.flagged) == ([], [])
    kept = {game.headers["Site"].rpartition("/")[2]: game for game in read_games(tmp_path)}
    for game in games:
        pgn = kept[game.id]
        assert [move.uci() for move in pgn.mainline_moves()] == game.moves
        assert pgn.headers["Termination"] == game.status
        assert all(node.clock() is not None for node in pgn.mainline())
        evaluated = [node.eval() is not None for node in pgn.mainline()]
        assert evaluated[0 if game.bot_white else 1]
    assert kept["game1"].headers["Variant"] == "Chess960"
    assert kept["game0"].headers["Result"] in ("1-0", "0-1", "1/2-1/2")


def broken_before_the_answer(game: FakeGame) -> None:
    game.break_streams()


def lost_answer(game: FakeGame) -> None:
    """The next move reaches nobody, and the stream breaks as well."""
    game.server.faults.append((f"{game.id}/move/", 0))
    game.break_streams()


def arrived_without_answer(game: FakeGame) -> None:
    """The next move is made, and the opponent has answered, but the bot does not hear so."""
    game.server.deaf.append(f"{game.id}/move/")


def five_hundred(game: FakeGame) -> None:
    game.server.faults += [(f"{game.id}/move/", 502)] * 3


def too_many_requests(game: FakeGame) -> None:
    game.server.faults.append((f"{game.id}/move/", 429))


def broken_line(game: FakeGame) -> None:
    game.tell(b'{"type": "gameState", "moves"')


def strange_messages(game: FakeGame) -> None:
    game.tell({"type": "gameState", "moves": 5})
    game.tell({"type": "somethingNew", "x": 1})
    game.tell({"no": "type"})
    game.tell(b"[1, 2]")
    game.tell(game.state())


TROUBLES = [
    broken_before_the_answer, lost_answer, arrived_without_answer, five_hundred,
    too_many_requests, broken_line, strange_messages,
]  # fmt: skip


@pytest.mark.parametrize("bot_white", [True, False])
def test_no_trouble_of_the_network_costs_a_game(
    bot_white: bool, lichess: StandIn, start: Start
) -> None:
    """Each trouble comes twice: while the bot is to move, and before the opponent has moved."""
    script = {3 + 2 * n: trouble for n, trouble in enumerate(TROUBLES)}
    script |= {4 + 2 * n: trouble for n, trouble in enumerate(TROUBLES)}
    start()
    game = lichess.begin("trouble", bot_white=bot_white, script=script, resigns_at=24)
    finished(game)
    assert game.status in ("resign", "mate")
    assert game.winner == ("white" if bot_white else "black")
    assert game.fired >= {3, 4, 14, 15}
    assert (lichess.illegal, lichess.flagged) == ([], [])


def test_a_pause_after_too_many_requests(lichess: StandIn, start: Start) -> None:
    bot = start()
    game = lichess.begin("limited", script={4: too_many_requests}, resigns_at=8)
    finished(game)
    times = lichess.times("limited/move/")
    longest = max(after - before for before, after in pairwise(times))
    assert longest >= bot.server.pauses.limited


def test_a_silent_stream_is_connected_again(lichess: StandIn, start: Start) -> None:
    """A connection that is dead but open has no empty lines."""
    lichess.keep_alive = None
    start(pauses=SHORT._replace(silence=0.5))

    def dead(game: FakeGame) -> None:
        game.streams = []

    game = lichess.begin("dead", bot_white=False, script={3: dead, 6: dead}, resigns_at=8)
    finished(game)
    assert game.status == "resign"
    assert len(lichess.paths("stream/dead")) >= 3


def test_takebacks(lichess: StandIn, start: Start) -> None:
    """One in a casual game, none in a rated one, and the bot answers from the new position."""

    def offer(game: FakeGame) -> None:
        game.flags = {"btakeback": True}
        game.tell(game.state())

    start(takebacks=1, games=2)
    script = {4: offer, 8: offer}
    casual = lichess.begin("casual", script=dict(script), resigns_at=12)
    rated = lichess.begin("rated", script=dict(script), rated=True, resigns_at=12)
    for game in (casual, rated):
        finished(game)
        assert game.status == "resign"
    assert lichess.acts_in("casual") == ["takeback/yes", "takeback/no"]
    assert lichess.acts_in("rated") == ["takeback/no", "takeback/no"]
    assert lichess.illegal == []


def test_no_move_is_sent_while_moves_are_about_to_be_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be one of the position that is gone."""
    now, sent = [100.0], list[str]()
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    class Listening:
        pauses = Pauses()

        def move(self, *move: object) -> None:
            sent.append(str(move[1]))

    archive = Archive(tmp_path, "http://x")
    games = Delivery("g", cast(Server, Listening()), archive)
    games.hold()
    games.take(Reply(("e2e4",), "e7e5", False))
    assert games.send(1e9) is True
    assert sent == []
    games.confirmed((), 1000.0, 0.0)  # taken back
    games.take(Reply(("d2d4",), "d7d5", False))
    assert games.send(1e9) is True
    assert sent == ["d7d5"]
    games.hold()  # and where they are not taken back after all
    games.take(Reply(("d2d4", "d7d5", "c2c4"), "e7e6", False))
    assert games.send(1e9) is True
    now[0] += Pauses().again
    assert games.send(1e9) is True
    assert sent == ["d7d5", "e7e6"]
    archive.close()


LEVEL = "4k3/8/8/8/8/8/4P3/4K2R w K - 0 60"  # White is better
DEAD = "4k3/4p3/8/8/8/8/4P3/4K3 w - - 0 60"


def test_draws(lichess: StandIn, start: Start) -> None:
    """Late in a level game a draw is taken, in a better one or at the start it is not."""
    start(games=3, draws=True, draw_moves=50, draw_score=80)
    level = lichess.begin("level", variant="fromPosition", fen=DEAD, offers_at=12)
    better = lichess.begin("better", variant="fromPosition", fen=LEVEL, offers_at=12)
    early = lichess.begin("early", offers_at=12)
    for game in (level, better, early):
        finished(game)
    answers = [lichess.acts_in(game.id) for game in (level, better, early)]
    assert answers == [["draw/yes"], ["draw/no"], ["draw/no"]]
    assert level.status == "draw"


def test_correspondence_games_rest_between_moves(
    lichess: StandIn, start: Start, tmp_path: Path
) -> None:
    """No engine, no stream, until there is a reply; a stop leaves them."""
    days = {"correspondence_rest": 0, "correspondence_every": 1, "correspondence_seconds": 1}
    bot = start(correspondence=2, **days)
    game = lichess.begin("a", days=3, silent=True)
    wait_for(lambda: bot.bot.resting == ["a"])
    assert len(game.moves) == 1
    wait_for(lambda: len(lichess.paths("account/playing")) >= 2)
    assert len(lichess.paths("stream/a")) == 1
    assert not bot.bot.playing
    game._answer(1)
    wait_for(lambda: len(game.moves) == 3)
    wait_for(lambda: bot.bot.resting == ["a"])
    game.end("resign", "white")
    wait_for(lambda: not bot.bot.resting and not bot.bot.playing)
    wait_for(lambda: [game.headers["Result"] for game in read_games(tmp_path)] == ["1-0"])
    assert not lichess.acts_in("a")  # not aborted either
    lichess.begin("b", days=1, silent=True)
    wait_for(lambda: bot.bot.resting == ["b"])
    bot.stop.request()
    bot.thread.join(PATIENCE)
    assert not bot.thread.is_alive()


def test_a_stop_does_not_wait_for_a_reply_that_takes_days(lichess: StandIn, start: Start) -> None:
    bot = start(correspondence=1, correspondence_rest=3600, correspondence_seconds=1)
    game = lichess.begin("a", days=3, silent=True)
    wait_for(lambda: len(game.moves) == 1)
    bot.stop.request()
    bot.thread.join(PATIENCE)
    assert not bot.thread.is_alive()


def test_reports_of_games(lichess: StandIn, start: Start, tmp_path: Path) -> None:
    start(reports=True, report_nodes=20)
    for name, moves in (("short", 4), ("long", 12)):  # they are made in the order of the games
        finished(lichess.begin(name, resigns_at=moves))
    wait_for((tmp_path / "reports" / "long.html").exists)
    assert {path.name for path in (tmp_path / "reports").iterdir()} == {"long.pgn", "long.html"}
    game = chess.pgn.read_game(io.StringIO((tmp_path / "reports" / "long.pgn").read_text()))
    assert game is not None
    assert "kibitz" in game.headers["Annotator"]
    assert all("%eval" in node.comment for node in game.mainline())


@pytest.mark.slow
def test_a_report_that_fails_costs_nothing_else(
    lichess: StandIn, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = vars(archive)["parse_game"]

    def fall_once(_: str) -> None:
        monkeypatch.setattr(archive, "parse_game", real)
        raise RuntimeError("trouble")

    monkeypatch.setattr(archive, "parse_game", fall_once)
    start(reports=True, report_nodes=20)
    for name in ("first", "second"):
        finished(lichess.begin(name, resigns_at=12))
    wait_for((tmp_path / "reports" / "second.html").exists)
    assert {path.name for path in (tmp_path / "reports").iterdir()} == {"second.pgn", "second.html"}
    assert "trouble" in (tmp_path / "bot.log").read_text()


@pytest.mark.parametrize(
    ("settings", "how", "elo"),
    [
        ({"strength": "opponent", "strength_ahead": -100}, {}, 1300),  # the opponent has 1400
        ({"strength": "fixed", "strength_elo": 2000}, {}, 2000),
        ({"strength": "fixed"}, {"variant": "fromPosition", "fen": WITHOUT_ROOK}, None),
        ({}, {}, None),
    ],
)
def test_how_strong_it_plays(
    lichess: StandIn,
    start: Start,
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, Any],
    how: dict[str, Any],
    elo: int | None,
) -> None:
    made: list[Engine] = []

    def engine(network: str) -> Engine:
        made.append(Engine(network))
        return made[-1]

    monkeypatch.setattr(bots, "Engine", engine)
    start(**settings)
    finished(lichess.begin("a", resigns_at=4, **how))
    assert [one.options.limited_elo for one in made] == [elo]


@pytest.mark.parametrize(
    ("mistakes", "how", "plays"),
    [
        ("always", {}, True),
        ("odds", {}, False),
        ("odds", {"variant": "fromPosition", "fen": WITHOUT_ROOK}, True),
        ("never", {"variant": "fromPosition", "fen": WITHOUT_ROOK}, False),
    ],
)
def test_it_plays_for_the_mistakes_of_people_like_its_opponent(
    lichess: StandIn,
    start: Start,
    monkeypatch: pytest.MonkeyPatch,
    mistakes: str,
    how: dict[str, Any],
    plays: bool,
) -> None:
    made: list[Engine] = []

    def engine(_network: str) -> Engine:
        made.append(Engine("kibitz-64x256"))
        return made[-1]

    monkeypatch.setattr(bots, "Engine", engine)
    start(mistakes=mistakes)
    finished(lichess.begin("a", resigns_at=4, **how))
    [one] = made
    assert one.options.weights.endswith("+" + str(people_networks()[1500])) == plays  # of 1400
    assert (one.settings.search_rule == "expectimax") == plays


def test_an_opponent_who_goes_away(lichess: StandIn, start: Start) -> None:
    def gone(game: FakeGame) -> None:
        game.silent = True
        game.tell({"type": "opponentGone", "gone": True, "claimWinInSeconds": 5})
        game.tell({"type": "opponentGone", "gone": False})
        game.tell({"type": "opponentGone", "gone": True, "claimWinInSeconds": 0})

    start()
    game = finished(lichess.begin("left", script={5: gone}))
    assert (game.status, game.winner) == ("timeout", "white")


def test_a_game_that_does_not_begin_is_aborted(lichess: StandIn, start: Start) -> None:
    start(abort_seconds=1)
    game = finished(lichess.begin("nobody", bot_white=False, silent=True))
    assert game.status == "aborted"


def test_the_opponent_aborts_while_the_bot_thinks(lichess: StandIn, start: Start) -> None:
    bot = start(nodes=0)

    def abort(game: FakeGame) -> None:
        game.end("aborted", None)

    finished(lichess.begin("short", bot_white=False, script={1: abort}))
    wait_for(lambda: not bot.bot.playing)
    assert lichess.paths("short/move/") == []


def test_a_lost_game_is_resigned_but_not_at_odds(lichess: StandIn, start: Start) -> None:
    start(resign=True, resign_moves=2, games=2)
    lost = "3qk3/8/8/8/8/8/8/4K3 w - - 0 1"
    game = finished(lichess.begin("lost", variant="fromPosition", fen=lost))
    assert (game.status, game.winner) == ("resign", "black")
    queenless = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNB1KBNR w KQkq - 0 1"
    finished(lichess.begin("odds", variant="fromPosition", fen=queenless, resigns_at=12))
    assert ("odds", "resign") not in lichess.acts


def test_chat(lichess: StandIn, start: Start) -> None:
    def ask(game: FakeGame) -> None:
        for room in ("player", "spectator"):
            for text in ("!eval", "!line", "!name", "!why", "hello"):
                game.tell({"type": "chatLine", "room": room, "username": "A", "text": text})
        for name, text in (("KibitzBot", "!help"), ("A", "!nonsense")):
            game.tell({"type": "chatLine", "room": "spectator", "username": name, "text": text})

    start()
    game = finished(lichess.begin("talk", script={6: ask}, resigns_at=10))
    wait_for(lambda: "Thank you" in game.chat[-1][1])
    players = [text for room, text in game.chat if room == "player"]
    spectators = [text for room, text in game.chat if room == "spectator"]
    assert players[0].startswith("Good luck, Somebody!")
    assert sum("spectators only" in text for text in players) == 3
    assert any("chances of White" in text or "mates in" in text for text in spectators)
    assert any(text.startswith("I expect ") for text in spectators)
    assert any("network material" in text for text in spectators)
    assert any("!nonsense" in text for text in spectators), spectators
    assert all(len(text) <= 140 for _, text in game.chat)


def test_the_expected_move_is_pondered_on(lichess: StandIn, start: Start) -> None:
    """A game with pauses of the opponent, whose moves are expected or not."""
    start(ponder=True, nodes=200)
    fen = "7k/8/8/8/8/8/1r6/K7 w - - 0 1"  # one legal move at a time
    game = lichess.begin("slow", variant="fromPosition", fen=fen, silent=True)
    for reply in ("b2h2", "h2g2", "g2f2"):
        wait_for(lambda: game.board.turn == chess.BLACK)
        with game.lock:
            game.silent, game.replies = False, [reply]
            game.go_on()
            game.silent = True
    game.end("resign", "white")
    assert lichess.illegal == []


def fast_game(n: int) -> dict[str, Any]:
    """One of the fastest clocks that the bot accepts, against an opponent who answers at once."""
    clock = {"seconds": 20 if n % 2 else 60, "increment": n % 2}
    return {**clock, "resigns_at": 30 if n % 10 else 120}


def full_game(n: int) -> dict[str, Any]:
    """A clock that is used, against an opponent who thinks; also Chess960 and odds."""
    seconds, increment = (180, 2) if n % 20 == 0 else (20, 1) if n % 2 else (60, 0)
    how: dict[str, Any] = {"seconds": seconds, "increment": increment, "resigns_at": 160}
    how |= {"careful": True, "thinks": 1.0 if n % 3 == 0 else 0.0}
    if n % 7 == 3:
        how |= {"variant": "chess960", "fen": chess.Board.from_chess960_pos(n).fen()}
    if n % 7 == 5:
        fen = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNB1KBNR w KQkq - 0 1"
        how |= {"variant": "fromPosition", "fen": fen if n % 4 < 2 else mirrored(fen)}
    return how


def mirrored(fen: str) -> str:
    """The same position for the other side, White to move."""
    board = chess.Board(fen).mirror()
    board.turn = chess.WHITE
    return board.fen()


@pytest.mark.slow
def test_two_hundred_games(lichess: StandIn, start: Start) -> None:
    """Two hundred games, four at once, two troubles in each, the bot pondering.

    Two minutes with 100 nodes a move. `KIBITZ_FULL_CLOCK=200 pytest -m slow tests/lichess` plays so
    many games in which the bot thinks as its clock allows, `KIBITZ_GAMES_AT_ONCE` at a time: 200 by
    six take most of an hour. `--basetemp` names the folder where their PGN stays.
    """
    full = int(os.environ.get("KIBITZ_FULL_CLOCK", "0"))
    at_once = int(os.environ.get("KIBITZ_GAMES_AT_ONCE", "4"))
    bot = start(games=at_once, ponder=True, nodes=0 if full else 100, draws=bool(full))
    games: list[FakeGame] = []
    for n in range(full or 200):
        wait_for(lambda: len(bot.bot.playing) < at_once and not bot.error, 900.0)
        script = {7 + (n + k) % 5 + 12 * k: TROUBLES[(n + k) % 4] for k in range(2)}
        how = {"script": script, "bot_white": n % 4 < 2, "seed": n}
        games.append(lichess.begin(f"g{n}", **how, **(full_game(n) if full else fast_game(n))))
        wait_for(lambda: games[-1].id in bot.bot.playing)
    for game in games:
        assert game.done.wait(900.0)
    assert len(lichess.games) == (full or 200)
    assert (lichess.illegal, lichess.flagged) == ([], [])
