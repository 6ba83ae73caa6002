"""One game and its parts: openings, pairing, clocks, adjudication, records, PGN."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path

import chess.pgn
import pytest

from kibitz.arena.match.game import Control, GameClock, Rules, Seat, Terms, parse_times, play_game
from kibitz.arena.match.journal import PlayedGame
from kibitz.arena.match.player import Answer, GreedyPlayer, RandomPlayer
from kibitz.arena.match.report import PgnFile, to_game
from kibitz.arena.match.runner import schedule
from kibitz.arena.match.spec import parse_player, parse_players
from kibitz.cli import main
from kibitz.core.errors import InputError
from kibitz.data.openings import (
    Opening,
    RandomOpenings,
    chosen_openings,
    random_openings,
    read_openings,
    shuffled,
)
from kibitz.position.board import Board
from kibitz.position.pgn import game_of
from kibitz.search.limits import Limits
from kibitz.search.report import Score

NO_RULES, UNTIMED = Rules(), Control()
ROOK_ENDING = "7k/8/8/8/8/8/R7/K7 w - - 0 1"


class Scripted:
    """Shuffles its pieces and says what it is told to say."""

    def __init__(self, scores: Sequence[int | None], milliseconds: float = 1.0) -> None:
        self._scores, self._milliseconds, self._told = scores, milliseconds, 0
        self.limits: list[Limits] = []

    def new_game(self, seed: int) -> None:
        self._told = seed

    def think(self, board: Board, limits: Limits, patience: float) -> Answer:
        assert patience > 0
        self.limits.append(limits)
        said = self._scores[min(self._told, len(self._scores) - 1)]
        self._told += 1
        moves = sorted(board.legal_moves, key=lambda move: move.uci())
        move = moves[self._told % len(moves)]
        score = None if said is None else Score("cp", said)
        return Answer(move, self._milliseconds, score, 1, 1)

    def close(self) -> None:
        return


def game(
    white: Scripted, black: Scripted, rules: Rules = NO_RULES, control: Control = UNTIMED
) -> PlayedGame:
    seats = Seat(0, white, control), Seat(1, black, control)
    return play_game(0, *seats, Opening(ROOK_ENDING), Terms(rules, margin=0.0))


# --- openings and pairing -------------------------------------------------------------------------


def test_openings_are_read_from_all_formats(tmp_path: Path) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("# two openings\n1. e4 e5 2. Nf3\n\nd2d4 g8f6\n")
    assert [one.moves for one in read_openings(lines)] == [
        ("e2e4", "e7e5", "g1f3"),
        ("d2d4", "g8f6"),
    ]
    assert [one.moves for one in read_openings(lines, plies=1)] == [("e2e4",), ("d2d4",)]
    epd = tmp_path / "book.epd"
    epd.write_text(f'{ROOK_ENDING}\n{chess.STARTING_BOARD_FEN} w KQkq - id "start";\n')
    assert [one.fen for one in read_openings(epd)] == [ROOK_ENDING, chess.STARTING_FEN]
    pgn = tmp_path / "book.pgn"
    pgn.write_text("1. c4 e5 2. Nc3 *\n\n1. f3 e5 2. g4 Qh4# 0-1\n")
    assert [one.moves for one in read_openings(pgn)] == [("c2c4", "e7e5", "b1c3")]
    lines.write_text("e4 e5\ne4 Ke3\n")
    with pytest.raises(InputError, match="line 2"):
        read_openings(lines)
    lines.write_text("\n")
    with pytest.raises(InputError, match="no opening"):
        read_openings(lines)


def test_chess960_openings_are_played_as_such(tmp_path: Path) -> None:
    epd = tmp_path / "960.epd"
    epd.write_text("bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9\n")
    opening = read_openings(epd)[0]
    assert opening.chess960
    played = play_game(
        0, Seat(0, GreedyPlayer(), Control()), Seat(1, RandomPlayer(), Control()), opening, Terms()
    )
    told = chess.pgn.read_game(io.StringIO(str(to_game(played, ["a", "b"], [Control()] * 2))))
    assert told is not None
    assert not told.errors
    assert told.board().chess960


def test_random_openings_are_many_level_and_repeatable() -> None:
    openings = random_openings(30, seed=3)
    assert openings[:10] == random_openings(10, seed=3)
    assert openings != random_openings(30, seed=4)
    assert len(set(openings)) == 30
    for opening in openings:
        board = opening.board()
        assert len(opening.moves) == 8
        assert not board.is_check()
    assert len(random_openings(100, plies=1)) == 100, "20 first moves serve again and again"
    assert random_openings(60, plies=1)[:30] == random_openings(30, plies=1)
    assert sorted(shuffled(openings, 5)) == sorted(openings)
    assert shuffled(openings, 5) == shuffled(openings, 5) != openings


@pytest.mark.parametrize("name", ["book.pgn", "book.epd"])
def test_few_openings_of_a_file_are_the_first_of_all_in_the_order_of_the_seed(
    name: str, tmp_path: Path
) -> None:
    starts = [[str(move) for move in one.moves] for one in random_openings(20, plies=3)]
    boards = [Board(moves=moves) for moves in starts]
    texts = {
        "book.pgn": "\n".join(f"{game_of(board)}\n" for board in boards),
        "book.epd": "\n".join(board.fen() for board in boards),
    }
    book = tmp_path / name
    book.write_text(texts[name])
    everything = shuffled(read_openings(book), 7)
    assert len({*everything}) == 20
    assert chosen_openings(book, None, 6, 7) == everything[:6]
    assert chosen_openings(book, None, 50, 7) == everything


def test_random_openings_are_made_when_they_are_asked_for() -> None:
    many, few = RandomOpenings(10**9, seed=3), random_openings(30, seed=3)
    assert len(many) == 10**9
    assert (many[29], many[-(10**9)], many[7:2:-2]) == (few[29], few[0], few[7:2:-2])
    assert RandomOpenings(4, seed=3)[-3:] == few[1:4]
    with pytest.raises(IndexError):
        RandomOpenings(4)[4]


def test_every_opening_is_played_with_both_colours() -> None:
    games = list(schedule(3, 2))
    assert [one.number for one in games] == list(range(12))
    for first, second in zip(games[::2], games[1::2], strict=True):
        assert (first.white, first.black) == (second.black, second.white)
        assert first.opening == second.opening
    assert {one.opening for one in games[:6]} == {0}
    assert list(schedule(3, 5))[:12] == games, "a longer match begins in the same way"
    assert {0 in (one.white, one.black) for one in schedule(4, 1, gauntlet=True)} == {True}
    assert len(list(schedule(4, 1, gauntlet=True))) == 6


# --- clocks ---------------------------------------------------------------------------------------


def test_time_controls_are_read_and_written() -> None:
    for text in ("60", "10+0.1", "40/60+0.6", "40/900"):
        assert str(parse_times(text)) == text
    assert str(Control(movetime=100)) == "0.1/move"
    assert str(Control(nodes=800)) == "800 nodes"
    for wrong in ("", "fast", "0+1", "-5", "0/60", "10+"):
        with pytest.raises(InputError, match="time control"):
            parse_times(wrong)


def test_clocks_run_down_and_are_filled_up() -> None:
    clock = GameClock(parse_times("2/10+0.5"), parse_times("60"))
    limits = clock.limits("white")
    assert (limits.wtime, limits.btime, limits.winc, limits.movestogo) == (10_000, 60_000, 500, 2)
    assert clock.spend("white", 4000.0)
    assert clock.left["white"] == 6500.0
    assert clock.limits("white").movestogo == 1
    assert clock.spend("white", 6500.0)
    assert clock.left["white"] == 10_500.0
    assert clock.limits("white").movestogo == 2
    assert not clock.spend("black", 60_001.0)
    assert clock.limits("black").movestogo is None


def test_the_margin_forgives_once_but_gives_no_time() -> None:
    clock = GameClock(parse_times("1"), parse_times("1"), margin=20.0)
    assert clock.spend("white", 1015.0)
    assert clock.left["white"] == 0.0
    assert not clock.spend("white", 21.0)


def test_players_may_have_different_limits() -> None:
    clock = GameClock(parse_times("10"), Control(nodes=50))
    assert clock.limits("black") == Limits(nodes=50)
    assert clock.limits("white") == Limits(wtime=10_000, winc=0)
    assert clock.spend("black", 1e6)


def test_a_game_is_lost_on_time_unless_the_other_side_cannot_mate() -> None:
    slow, quick = Scripted([0], milliseconds=600.0), Scripted([0])
    lost = game(quick, slow, control=parse_times("1"))
    assert (lost.result, lost.termination, lost.loser) == ("1-0", "time forfeit", 1)
    bare = game(slow, quick, control=parse_times("1"))
    assert (bare.result, bare.loser) == ("1/2-1/2", 0), "Black has nothing but a king"
    assert slow.limits[0].btime == 1000


# --- adjudication ---------------------------------------------------------------------------------


def test_whoever_gives_up_for_long_enough_has_lost() -> None:
    played = game(Scripted([100]), Scripted([0, -700, -700, -700]), Rules(resign_moves=3))
    assert (played.result, played.termination) == ("1-0", "adjudication: resignation")
    assert len(played.moves) == 8
    assert played.loser is None, "a resignation is no forfeit"


def test_level_games_are_drawn_when_both_say_so() -> None:
    rules = Rules(draw_moves=2, draw_from=3, draw_cp=10)
    played = game(Scripted([5]), Scripted([-3]), rules)
    assert (played.result, played.termination) == ("1/2-1/2", "adjudication: draw rule")
    assert len(played.moves) == 6
    disputed = game(Scripted([500]), Scripted([-3]), rules)
    assert disputed.termination != "adjudication: draw rule"
    silent = game(Scripted([None]), Scripted([None]), rules)
    assert silent.termination != "adjudication: draw rule"


def test_long_games_are_drawn() -> None:
    played = game(Scripted([0]), Scripted([0]), Rules(max_moves=5))
    assert (played.result, played.termination) == ("1/2-1/2", "adjudication: 5 moves")
    assert len(played.moves) == 10


# --- players --------------------------------------------------------------------------------------


def test_the_greedy_player_takes_and_mates() -> None:
    greedy = GreedyPlayer()
    greedy.new_game(1)
    hanging = Board("4k3/8/8/3q4/4P3/8/8/4K3 w - - 0 1")
    assert greedy.think(hanging, Limits(), 1e3).move.uci() == "e4d5"
    mate = Board("6k1/5ppp/8/3n4/2P5/8/8/R5K1 w - - 0 1")
    found = greedy.think(mate, Limits(), 1e3)
    assert (found.move.uci(), found.score) == ("a1a8", Score("mate", 1))


def test_dice_repeat_by_seed() -> None:
    one, other = RandomPlayer(), RandomPlayer()
    for player in (one, other):
        player.new_game(5)
    board = Board()
    for _ in range(20):
        move = one.think(board, Limits(), 1e3).move
        assert other.think(board, Limits(), 1e3).move == move
        board.push(move)


def test_players_by_name() -> None:
    spec = parse_player("material,nodes=800,tc=10+0.1,name=mine,CPuct=2")
    assert spec.control == Control(base=10_000, increment=100, nodes=800)
    assert (spec.name, spec.kind, spec.engine().settings.cpuct) == ("mine", "engine", 2.0)
    assert parse_player("uniform,preset=chesscoach").engine().settings.search_rule == "sble"
    names = [one.name for one in parse_players(["random", "random", "random"])]
    assert names == ["random", "random-2", "random-3"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("materiel", "did you mean 'material'"),
        ("material,CPuckt=2", "CPuct"),
        ("material,CPuct", "name=value"),
        ("material,nodes=many", "whole number"),
        ("material,rule=pukt", "puct"),
        ("material,backend=gpu", "no such backend"),
        ("random,Hash=4", "no options"),
        ("uci:", "no such program"),
    ],
)
def test_mistakes_in_players_are_named(text: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        parse_player(text)


# --- PGN ------------------------------------------------------------------------------------------


def test_games_open_in_python_chess(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    controls = [parse_times("10+0.1"), Control(nodes=5)]
    records = []
    for number, opening in enumerate(random_openings(4, seed=1)):
        seats = Seat(0, GreedyPlayer(), controls[0], 1), Seat(1, RandomPlayer(), controls[1], 2)
        records.append(play_game(number, *seats, opening, Terms()))
    path = tmp_path / "games.pgn"
    with PgnFile(path, ["greedy", "random"], controls) as pgn:
        for played in records:
            pgn.add(played)
    with path.open() as file:
        for played in records:
            told = chess.pgn.read_game(file)
            assert told is not None
            assert not told.errors
            assert told.headers["Result"] == played.result
            assert told.headers["Round"] == f"{played.number // 2 + 1}.{played.number % 2 + 1}"
            assert told.headers["WhiteTimeControl"] == "10+0.1"
            assert told.headers["Termination"] == "normal"
            assert told.headers["GameEndTime"] == played.ended
            assert told.headers["Date"] == played.ended[:10].replace("-", ".")
            moves = list(told.mainline())
            assert len(moves) == 8 + len(played.moves) == int(told.headers["PlyCount"])
            assert [node.comment for node in moves[:8]] == ["book"] * 8
            assert moves[8].comment.startswith(("+", "-"))
            assert re.search(r" \d+\.\d{3}s, n=\d+$", moves[8].comment)
            if told.end().board().is_checkmate():
                assert "+M1/1 " in told.end().comment


@pytest.mark.parametrize("dates", [True, False])
def test_a_file_of_games_grows_and_is_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dates: bool
) -> None:
    if dates:
        monkeypatch.delenv("SOURCE_DATE_EPOCH")
    path, names = tmp_path / "games.pgn", ["greedy", "random"]
    controls = [UNTIMED, UNTIMED]
    seats = Seat(0, GreedyPlayer(), UNTIMED, 1), Seat(1, RandomPlayer(), UNTIMED, 2)
    openings = random_openings(3, seed=1)
    records = [play_game(number, *seats, one, Terms()) for number, one in enumerate(openings)]
    foreign = '[Event "Of somebody else"]\n[Result "*"]\n\n1. e4 *'
    path.write_text(foreign)

    def added(*numbers: int) -> str:
        with PgnFile(path, names, controls) as pgn:
            for number in numbers:
                pgn.add(records[number])
        return path.read_text()

    first = added(0)
    assert first.startswith(foreign)
    assert added(0, 0) == first, "a game that is there is not added again"
    whole = added(1)
    for cut in range(len(first), len(whole) - 2, 97):  # what a crash may leave of the last game
        path.write_text(whole[:cut])
        assert added(0, 1) == whole
    added(2)
    with path.open() as file:
        events = [game.headers["Event"] for game in iter(lambda: chess.pgn.read_game(file), None)]
    assert events == ["Of somebody else", *["Kibitz match"] * 3]
    other = replace_moves(records[0])
    with PgnFile(path, names, controls) as pgn:
        pgn.add(other)
    assert path.read_text().count("[Event ") == (4 if dates else 5), "another game of that round"


def replace_moves(played: PlayedGame) -> PlayedGame:
    """Another game with the same number, players and end."""
    import msgspec

    return msgspec.structs.replace(played, moves=played.moves[:1], result="1/2-1/2")


def pgn_of(capsys: pytest.CaptureFixture[str], path: Path, *more: str) -> bytes:
    command = ["match", "material,nodes=60", "random", "--games", "4", "--seed", "5", "--json"]
    assert main([*command, "--pgn", str(path), *more]) == 0
    capsys.readouterr()
    return path.read_bytes()


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (pgn_of(capsys, tmp_path / f"{name}.pgn") for name in "ab")
    assert first == second, "SOURCE_DATE_EPOCH is set for all tests"
    assert first.count(b'[Date "2000.01.01"]') == 4
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    bare = [pgn_of(capsys, tmp_path / f"{name}.pgn", "--reproducible") for name in "cd"]
    assert bare[0] == bare[1] == first.replace(b"2000.01.01", b"????.??.??")
    dated = pgn_of(capsys, tmp_path / "e.pgn")
    assert dated != bare[0], "--reproducible is for one command only"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "today")
    assert main(["match", "greedy", "random", "--games", "2", "--pgn", str(tmp_path / "f")]) == 2
    assert "SOURCE_DATE_EPOCH: 'today'" in capsys.readouterr().err


def test_a_record_survives_json() -> None:
    import msgspec

    played = game(Scripted([5]), Scripted([-3]), Rules(max_moves=3))
    assert msgspec.json.decode(msgspec.json.encode(played), type=PlayedGame) == played
