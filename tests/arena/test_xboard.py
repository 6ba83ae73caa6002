"""Programs of the xboard protocol: how they are asked, what they may answer, how they fail."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

import chess
import pytest

from kibitz.arena.match.game import Control, Terms, parse_times
from kibitz.arena.match.journal import Journal, Results
from kibitz.arena.match.rating import LISTED, listed_opponents
from kibitz.arena.match.runner import Setup, run, try_out
from kibitz.arena.match.spec import parse_player, parse_players
from kibitz.core.errors import InputError
from kibitz.core.log import Stop
from kibitz.data.openings import Opening
from kibitz.uci import xboard
from kibitz.uci.client import ProgramFault
from kibitz.uci.xboard import Clocks, XboardClient, parse_thinking

FAKE = Path(__file__).with_name("fake_xboard.py")
AFTER_E4 = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1"
MOVED_KING = "rnbq1bnr/ppppkppp/8/4p3/4P3/8/PPPPKPPP/RNBQ1BNR w - - 2 3"
NO_RIGHTS = "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w - - 0 1"
QUICK = Terms(patience=400.0)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of version 2 may be slow to start on a busy machine."""
    monkeypatch.setattr(xboard, "FEATURE_SECONDS", 400.0)


def fake(way: str, *more: str) -> str:
    return ",".join((f"xboard:{sys.executable} {FAKE} {way}", f"name={way}", *more))


def played(*players: str, fen: str = chess.STARTING_FEN, terms: Terms | None = None) -> Results:
    setup = Setup(
        players=parse_players(list(players)),
        control=Control(base=60_000, increment=100),
        openings=[Opening(fen)],
        rounds=1,
        terms=terms or Terms(),
    )
    return run(setup, Journal(setup.header()), Stop())


@pytest.mark.parametrize("way", ["good", "old"])
@pytest.mark.parametrize("fen", [chess.STARTING_FEN, AFTER_E4, MOVED_KING])
def test_a_game_to_its_end(way: str, fen: str) -> None:
    for game in played(fake(way), "random", fen=fen).games:
        assert game.loser is None, game.detail
        board = chess.Board(game.fen)
        for index, move in enumerate(game.moves):
            first = sorted(board.legal_moves, key=str)[0]
            if (index % 2 == 0) == ((game.white == 0) == (chess.Board(fen).turn == chess.WHITE)):
                assert move.uci == first.uci()
                assert (move.depth, move.nodes) == (3, 1234)
                assert move.cp == (41 if board.turn else -41)
            board.push_uci(move.uci)
        assert board.result(claim_draw=True) == game.result


@pytest.mark.parametrize("fen", [chess.STARTING_FEN, MOVED_KING])
def test_a_program_that_announces_nothing_plays(monkeypatch: pytest.MonkeyPatch, fen: str) -> None:
    monkeypatch.setattr(xboard, "FEATURE_SECONDS", 0.2)
    for game in played(fake("first"), "random", fen=fen).games:
        assert game.loser is None, game.detail


def test_features_that_come_late_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xboard, "FEATURE_SECONDS", 0.0)
    client = XboardClient([sys.executable, str(FAKE), "good"], {})
    while client.name != "Fake 1":
        time.sleep(0.05)
        client.new_game(AFTER_E4, chess.STARTING_FEN, Clocks())
    client.close()


def test_a_resignation_loses_and_is_no_fault() -> None:
    for game in played(fake("resign"), "random").games:
        assert (game.termination, game.loser) == ("resignation", None)
        assert game.result == ("0-1" if game.white == 0 else "1-0")


@pytest.mark.parametrize(("way", "word"), [("illegal", "illegal move"), ("hang", "hang")])
def test_a_fault_forfeits(way: str, word: str) -> None:
    terms = QUICK if way == "hang" else Terms()
    setup_control = parse_times("0.3+0.01") if way == "hang" else parse_times("60")
    setup = Setup(
        players=parse_players([fake(way), "random"]),
        control=setup_control,
        openings=[Opening()],
        rounds=1,
        terms=terms,
    )
    results = run(setup, Journal(setup.header()), Stop())
    assert results.forfeits(0) == {word: 2}


def test_an_old_program_cannot_be_given_every_position() -> None:
    results = played(fake("old"), "random", fen=NO_RIGHTS)
    assert results.forfeits(0) == {"lie": 2}
    assert "no feature setboard" in results.games[0].detail


def test_options_and_limits_that_it_does_not_have_are_named() -> None:
    try_out([parse_player(fake("good", "Skill=4", "Hash=16"))])
    with pytest.raises(InputError, match=r"Skil.*known: Skill"):
        try_out([parse_player(fake("good", "Skil=4"))])
    client = XboardClient([sys.executable, str(FAKE), "good"], {})
    with pytest.raises(InputError, match="whole seconds"):
        client.new_game(AFTER_E4, AFTER_E4, Clocks(movetime=250))
    client.close()
    with pytest.raises(InputError, match="no limit of nodes"):
        played(fake("good", "nodes=100"), "random")


def test_the_lines_of_thinking() -> None:
    assert parse_thinking("9 31 120 54021 e2e4 e7e5") == (9, 31, 54021)
    assert parse_thinking(" 5. -12 3 77 Nf3".strip()) == (5, -12, 77)
    assert parse_thinking(f"9 31 120 {'9' * 5000} e2e4") is None  # no number that Python reads
    assert parse_thinking("# times @ 46989506") is None


def test_a_program_that_is_none_ends_at_the_start() -> None:
    with pytest.raises(ProgramFault, match="it ended with code 0"):
        XboardClient([sys.executable, "-c", "pass"], {})


def test_the_ladder_is_what_is_installed() -> None:
    found = listed_opponents()
    assert {one.spec.name for one in found} <= {one.name for one in LISTED}
    for one in found:
        assert shutil.which(one.spec.what.split()[0])
        assert (one.rating is None) == (not one.source)
    assert all(("CCRL" in one.source) == (one.rating is not None) for one in LISTED)
