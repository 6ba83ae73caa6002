"""Dense shards come back as they were written, are read by others, and never when damaged."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import chess
import msgspec
import numpy as np
import pytest

from kibitz.cli import main
from kibitz.core.errors import DamagedFileError
from kibitz.data.dense import (
    MARK,
    DenseGames,
    DenseHeader,
    decode_dense,
    encode_dense,
    fault_of,
    new_records,
    read_dense,
    read_dense_header,
    read_dense_shard,
    write_dense,
)
from kibitz.data.dense_records import DENSE, pack_dense, unpack_dense_rows
from kibitz.data.shard import sealed, unsealed
from kibitz.position.board import Board
from kibitz.position.fen import parse_fen
from kibitz.position.notation import legal_codes
from kibitz.position.state import new_positions
from tests.data.dense_reader import rows_of

SPECIAL = (
    "rnbqkbnr/ppp1pppp/8/3pP3/8/8/PPPP1PPP/RNBQKBNR w KQkq d6 0 3",
    "rnbqkbnr/pppp1ppp/8/8/3Pp3/8/PPP1PPPP/RNBQKBNR b KQkq d3 0 3",
    "1r2k1r1/8/8/8/8/8/8/R3K1R1 w Gb - 99 120",
    "1r2k1r1/8/8/8/8/8/8/R3K1R1 b Ag - 99 500",
    "8/P6k/8/8/8/8/p6K/8 b - - 0 60",
)


def boards(count: int, seed: int = 1) -> list[Board]:
    """Positions of random games from ordinary and Chess960 starts, and special ones."""
    generator = random.Random(seed)
    made = [Board(fen) for fen in SPECIAL]
    while len(made) < count:
        start = generator.randrange(960)
        board = Board() if generator.random() < 0.5 else Board.start960(start)
        for _ in range(generator.randrange(120)):
            if board.outcome() is not None:
                break
            board.push(generator.choice(board.legal_moves))
        if board.legal_moves:
            made.append(board)
    return made


def records_of(made: list[Board], seed: int = 2) -> np.ndarray:
    generator, records = random.Random(seed), new_records(len(made))
    for row, board in enumerate(made):
        move = generator.choice(legal_codes(board.position).tolist())
        score, result = generator.randint(-29_000, 29_000), generator.randrange(3)
        pack_dense(board.position, move, score, result, records[row])
    return records


def test_a_record_has_32_bytes() -> None:
    assert DENSE.itemsize == 32


def test_positions_come_back(tmp_path: Path) -> None:
    made = boards(400)
    records = records_of(made)
    write_dense(tmp_path / "a.dense", records)
    back = read_dense(tmp_path / "a.dense")
    assert back.tobytes() == records.tobytes()
    positions = new_positions(len(back))
    unpack_dense_rows(back, positions)
    for board, position in zip(made, positions, strict=True):
        expected = board.position.copy()
        expected.ply = min(expected.ply, 254 + expected.side)
        assert position.item() == expected.item()


def test_python_chess_reads_them(tmp_path: Path) -> None:
    made = boards(300)
    records = records_of(made)
    write_dense(tmp_path / "a.dense", records)
    rows = rows_of(tmp_path / "a.dense")
    assert len(rows) == len(made)
    for row, board, record in zip(rows, made, records, strict=True):
        assert row.board.is_valid()
        assert row.move is not None
        assert row.move in row.board.legal_moves
        expected = board.to_chess()
        assert row.board.board_fen() == expected.board_fen()
        assert row.board.turn == expected.turn
        assert row.board.clean_castling_rights() == expected.clean_castling_rights()
        assert row.board.has_legal_en_passant() == expected.has_legal_en_passant()
        assert row.board.halfmove_clock == expected.halfmove_clock
        assert (row.score, row.result) == (record["score"], record["result"])
        assert row.ply % 2 == (row.board.turn == chess.BLACK)


def games_of(records: np.ndarray) -> DenseGames:
    """Two games in which White wins, the second without a record."""
    records["result"] = np.where(records["state"] & 0x80, 0, 2)
    return DenseGames(
        offsets=np.array([0, len(records), len(records)]),
        results=np.ones(2, dtype=np.int8),
        ends=np.array([0, 1], dtype=np.uint8),
        plies=np.array([90, 40], dtype=np.uint16),
        openings=np.array([5, 6], dtype=np.uint64),
    )


def test_games_and_header_come_back(tmp_path: Path) -> None:
    records = records_of(boards(20))
    header = DenseHeader(source={"kind": "test"}, ends=("adjudicated", "checkmate"))
    write_dense(tmp_path / "a.dense", records, games_of(records), header)
    shard = read_dense_shard(tmp_path / "a.dense")
    assert shard.header == read_dense_header(tmp_path / "a.dense")
    assert (shard.header.positions, shard.header.games) == (20, 2)
    assert shard.header.source == {"kind": "test"}
    assert shard.games.offsets.tolist() == [0, 20, 20]


def test_every_changed_byte_and_every_cut_is_noticed() -> None:
    content = encode_dense(records_of(boards(6)))
    assert len(decode_dense(content).records) == 6
    for place in range(0, len(content), 3):
        broken = bytearray(content)
        broken[place] ^= 0x41
        for damaged in (bytes(broken), content[:place]):
            with pytest.raises(DamagedFileError, match=r"some\.dense"):
                decode_dense(damaged, "some.dense")


def _set(name: str, value: int) -> Callable[[np.ndarray], None]:
    def change(records: np.ndarray) -> None:
        records[name][3] = value

    return change


def _piece(index: int, value: int) -> Callable[[np.ndarray], None]:
    def change(records: np.ndarray) -> None:
        records["pieces"][3, index] = value

    return change


WRONG: dict[str, Callable[[np.ndarray], None]] = {
    "more than 32 pieces": _set("occupied", 2**64 - 1),
    "no pieces": _set("occupied", 0),
    "two kings": _piece(0, 0x55),
    "a code of no piece": _piece(0, 0x37),
    "codes of no piece": _piece(15, 0x11),
    "an en passant square beyond the board": _set("state", 65),
    "an en passant square of no capture": _set("state", 42),
    "the other side": _set("state", 0x80 | 64),
    "a result of no game": _set("result", 3),
    "a move of no piece": _set("move", 0xFFFF),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_no_search_can_have_written_is_refused(name: str) -> None:
    """The checksum is right: it is a stranger's file."""
    position = parse_fen("4k3/8/8/8/8/8/8/R3K2q w Q - 3 9")
    records = new_records(5)
    for row in range(5):
        pack_dense(position, 4 | 12 << 6, 10, 1, records[row])  # e1e2
    header = DenseHeader(positions=5)
    content = encode_dense(records)
    kept, arrays = unsealed(content, "a", MARK, DenseHeader, {"records": None})
    assert kept == header
    WRONG[name](records)
    games = unsealed(content, "a", MARK, DenseHeader, dict.fromkeys(DenseGames._fields))[1]
    arrays = {"records": records.view(np.uint8).reshape(-1, 32).T.copy().view(np.ndarray)} | games
    with pytest.raises(DamagedFileError, match=r"record 3 .*b\.dense"):
        decode_dense(sealed(arrays, header, MARK), "b.dense")


def test_a_result_that_is_not_its_games_is_refused() -> None:
    records = records_of(boards(8))
    games, header = games_of(records), DenseHeader(ends=("won", "lost"))
    shard = decode_dense(encode_dense(records, games, header))
    assert fault_of(shard) == ""
    shard.records["result"][2] ^= 2
    assert "not its game's" in fault_of(shard)
    assert fault_of(shard._replace(games=games._replace(ends=games.ends + 2))) != ""
    assert fault_of(shard._replace(games=games._replace(offsets=games.offsets[::-1]))) != ""


def test_verify_names_the_damaged_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        write_dense(tmp_path / f"{name}.dense", records_of(boards(30)))
    assert main(["data", "verify", str(tmp_path), "--json"]) == 0
    assert msgspec.json.decode(capsys.readouterr().out)["positions"] == 60
    content = bytearray((tmp_path / "b.dense").read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "b.dense").write_bytes(content)
    assert main(["data", "verify", str(tmp_path)]) == 1
    assert "b.dense" in capsys.readouterr().err
