"""EPD: typed operations, damaged lines named by file and number, text there and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import chess
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kibitz.core.errors import InputError, KibitzError, MoveError, NotationError, PositionError
from kibitz.position.board import Board
from kibitz.position.epd import Epd, parse_epd, read_epd, write_epd
from kibitz.position.fen import START

SUITES = Path(__file__).parents[3] / "shared" / "data" / "suites"
BARE = "4k3/8/8/8/8/8/4P3/4K3 w - -"
FULL = (
    f'{BARE} bm e4 e3; am Kd1 Kf1; id "pawn; ending"; c0 "e4=10, e3=5"; c7 "e4"; c9 "e2e4"; '
    'acd 12; acn 4000; acs 3; ce -35; dm 4; pv e4 Kd7 Kd2; xyz 1 "two"; D1 6; D2 30;'
)
START_EPD = START.rsplit(maxsplit=2)[0]


def test_every_operation() -> None:
    epd = parse_epd(FULL)
    assert epd.fen == f"{BARE} 0 1"
    assert [move.uci() for move in epd.best] == ["e2e4", "e2e3"]
    assert [move.uci() for move in epd.avoid] == ["e1d1", "e1f1"]
    assert epd.name == "pawn; ending"
    assert epd.comments == {"c0": "e4=10, e3=5", "c7": "e4", "c9": "e2e4"}
    assert (epd.depth, epd.nodes, epd.seconds) == (12, 4000, 3)
    assert (epd.centipawns, epd.mate_in) == (-35, 4)
    assert [move.uci() for move in epd.line] == ["e2e4", "e8d7", "e1d2"]
    assert epd.perft == {1: 6, 2: 30}
    assert epd.other == {"xyz": '1 "two"'}
    assert epd.board() == Board(f"{BARE} 0 1")


def test_written_and_read_again() -> None:
    epd = parse_epd(FULL)
    assert parse_epd(str(epd)) == epd
    assert parse_epd(f"{BARE} hmvc 12; fmvn 40;").fen == f"{BARE} 12 40"
    assert parse_epd(str(parse_epd(f"{BARE} 12 40 bm e4"))).fen == f"{BARE} 12 40"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (BARE, Epd(f"{BARE} 0 1")),
        (f"{BARE} 7", Epd(f"{BARE} 7 1")),
        (f"{START} ;D1 20 ;D2 400", Epd(START, perft={1: 20, 2: 400})),
        (f"{START_EPD} ; D1 20; D2 400 ;", Epd(START, perft={1: 20, 2: 400})),
        (f'  {BARE}  id "a"  ;; ', Epd(f"{BARE} 0 1", name="a")),
        (f"{BARE} id plain;", Epd(f"{BARE} 0 1", name="plain")),
        (f'{BARE} dm "3";', Epd(f"{BARE} 0 1", mate_in=3)),
        (f'{BARE} id "say \\"mate\\"";', Epd(f"{BARE} 0 1", name='say "mate"')),
        (f"{BARE} noop", Epd(f"{BARE} 0 1", other={"noop": ""})),
    ],
)
def test_forgiving(text: str, expected: Epd) -> None:
    assert parse_epd(text) == expected
    assert parse_epd(str(expected)) == expected


def test_moves_in_uci_and_numbered_lines() -> None:
    epd = parse_epd(f"{BARE} bm e2e4; pv 1. e4 Kd7 2. Kd2;")
    assert epd.best == parse_epd(f"{BARE} bm e4;").best
    assert len(epd.line) == 3


def test_castling_and_promotion_in_operations() -> None:
    epd = parse_epd("r3k2r/1P6/8/8/8/8/8/R3K2R w KQkq - bm O-O bxa8=Q+; pv O-O-O O-O;")
    assert [move.uci() for move in (*epd.best, *epd.line)] == ["e1g1", "b7a8q", "e1c1", "e8g8"]
    assert parse_epd(str(epd)) == epd


@pytest.mark.parametrize(
    ("text", "error", "fault"),
    [
        ("", NotationError, "EPD: no position"),
        ("bm e4;", NotationError, "EPD: no position"),
        ("4k3/8/8/8/8/8/4P3/4K3 w", NotationError, "EPD: no position"),
        ("4k3/8/8/8/8/8/4P3 w - - bm e4;", PositionError, "FEN board: 7 ranks"),
        (f"{BARE} bm e5;", MoveError, "EPD bm: illegal move"),
        (f"{BARE} bm;", NotationError, "EPD bm: no move"),
        (f"{BARE} am hello;", NotationError, "EPD am: not a move"),
        (f"{BARE} pv e4 e4;", MoveError, "EPD pv: illegal move"),
        (f"{BARE} dm soon;", NotationError, "EPD dm: not a number: 'soon'"),
        (f"{BARE} ce 1.5;", NotationError, "EPD ce: not a number"),
        (f"{BARE} D1 x;", NotationError, "EPD D1: not a number"),
        (f'{BARE} id "open;', NotationError, "are the quotes closed?"),
        (f"{BARE} bm e4; 12 13;", NotationError, "EPD: not an operation: '12 13;'"),
        (f"{BARE} hmvc -1;", PositionError, "FEN halfmove clock"),
    ],
)
def test_malformed_lines(text: str, error: type[InputError], fault: str) -> None:
    with pytest.raises(error) as caught:
        parse_epd(text)
    assert fault in str(caught.value)


def test_files_name_the_line(tmp_path: Path) -> None:
    path = tmp_path / "suite.epd"
    path.write_text(f"# a comment\n\n{BARE} bm e4;\n{BARE} bm e5;\n")
    lines = read_epd(path)
    assert [move.uci() for move in next(lines).best] == ["e2e4"]
    with pytest.raises(MoveError, match=r"suite\.epd, line 4: EPD bm: illegal move in .*'e5'"):
        next(lines)
    with pytest.raises(KibitzError, match="no such file"):
        next(read_epd(tmp_path / "missing.epd"))


@given(st.data())
def test_any_epd_there_and_back(data: st.DataObject) -> None:
    board = Board.start960(data.draw(st.integers(0, 959)))
    moves = st.lists(st.sampled_from(board.legal_moves), unique=True, max_size=3)
    texts = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Zl", "Zp"]))
    epd = Epd(
        fen=board.fen(),
        best=tuple(data.draw(moves)),
        avoid=tuple(data.draw(moves)),
        name=data.draw(texts),
        comments=data.draw(st.dictionaries(st.sampled_from(["c0", "c5"]), texts)),
        centipawns=data.draw(st.none() | st.integers(-9999, 9999)),
        perft=data.draw(st.dictionaries(st.integers(0, 9), st.integers(0, 10**12))),
    )
    assert parse_epd(write_epd(epd)) == epd


@given(st.text(alphabet=f'{BARE};bmide45 "\\', max_size=30))
def test_any_tail_is_read_or_refused(tail: str) -> None:
    try:
        epd = parse_epd(f"{BARE} {tail}")
    except KibitzError:
        return
    assert parse_epd(str(epd)) == epd


@pytest.mark.slow
@pytest.mark.skipif(
    not SUITES.is_dir(), reason="the collection of suites is not beside the checkout"
)
@pytest.mark.parametrize("path", sorted(SUITES.rglob("*.epd")), ids=lambda path: path.name)
def test_whole_suites(path: Path) -> None:
    text = path.read_text(encoding="utf-8").splitlines()
    lines = [line for line in text if line.strip() and not line.startswith("#")]
    epds = list(read_epd(path))
    assert len(epds) == len(lines) > 0
    for epd, line in zip(epds, lines, strict=True):
        board, operations = chess.Board.from_epd(line)
        assert epd.fen.split()[0] == board.board_fen()
        for ours, name in ((epd.best, "bm"), (epd.avoid, "am")):
            expected: Any = operations.get(name, [])
            assert [move.uci() for move in ours] == [move.uci() for move in expected]
        assert epd.name == operations.get("id", "")
        assert parse_epd(str(epd)) == epd
