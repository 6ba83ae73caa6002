"""A player's database: damaged, locked, newer, another's, on a full disk, with two processes."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from kibitz.cli import main
from kibitz.coach import database as module
from kibitz.coach.database import SCHEMA, Database
from kibitz.coach.games import Added, Wanted, add_files, add_games, games_of
from kibitz.core.errors import DamagedFileError, FileError, InputError
from kibitz.core.journal import with_lock
from kibitz.core.log import Stop
from tests.coach.stand_in import NAME, game_of


def added(database: Database, first: int, last: int) -> Added:
    counts = Added()
    games = [
        game
        for number in range(first, last)
        for game in games_of(game_of(number)["pgn"], (NAME,), counts, "lichess")
    ]
    with database.transaction():
        add_games(database, games, Wanted(), counts)
    return counts


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "games.db"
    database = Database(place)
    added(database, 0, 20)
    database.close()
    return place


def test_a_damaged_file_is_named_and_left(path: Path) -> None:
    content = bytearray(path.read_bytes())
    for start in range(5000, len(content) - 100, 700):
        content[start : start + 100] = os.urandom(100)
    path.write_bytes(content)
    with pytest.raises(DamagedFileError, match=r"a damaged database .*games\.db.*put it aside"):
        Database(path)
    assert path.read_bytes() == content
    path.write_bytes(b"a text, and no database at all" * 100)
    with pytest.raises(DamagedFileError, match="not a database"):
        Database(path)


def test_a_newer_schema_and_another_program(path: Path, tmp_path: Path) -> None:
    with sqlite3.connect(path) as file:
        file.execute(f"PRAGMA user_version = {SCHEMA + 1}")
    file.close()
    with pytest.raises(InputError, match="update Kibitz"):
        Database(path)
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as file:
        file.execute("CREATE TABLE birds (name TEXT)")
    file.close()
    with pytest.raises(InputError, match="another program"):
        Database(other)
    assert main(["coach", "export", str(tmp_path / "x.pgn"), "--database", str(other)]) == 2


def test_a_locked_file_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    database, writer = Database(path), sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    with pytest.raises(FileError, match=r"locked.*another process writes to it"):
        added(database, 20, 30)
    assert database.count("games") == 20  # reading goes on
    writer.execute("ROLLBACK")
    writer.close()
    assert added(database, 20, 30)["new"] == 10
    database.close()


def test_a_full_disk_costs_nothing_that_was_finished(path: Path) -> None:
    database = Database(path)
    pages = database.value("PRAGMA page_count")
    database.value(f"PRAGMA max_page_count = {pages + 1}")
    with pytest.raises(FileError, match=r"full.*make room and repeat"):
        added(database, 20, 400)
    assert database.count("games") == 20
    database.close()
    database = Database(path)
    assert added(database, 0, 400)["new"] == 380
    database.close()


def _adds(path: str, first: int) -> None:
    database = Database(Path(path))
    for number in range(first, first + 60, 3):
        added(database, number, number + 6)
    database.close()


def test_two_processes_write_and_none_loses_a_game(tmp_path: Path) -> None:
    path = tmp_path / "new" / "games.db"
    context = multiprocessing.get_context("spawn")
    both = [context.Process(target=_adds, args=(str(path), first)) for first in (0, 30)]
    for process in both:
        process.start()
    for process in both:
        process.join()
        assert process.exitcode == 0
    database = Database(path)
    assert database.count("games") == 93
    database.close()


def test_the_same_work_is_not_begun_twice(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pgn = tmp_path / "games.pgn"
    pgn.write_text(game_of(50)["pgn"])
    words = ["coach", "add", str(pgn), "--player", NAME, "--database", str(path)]
    with with_lock(path.with_name("games.db.add"), "add"):
        assert main(words) == 2
        assert "another add is running here" in capsys.readouterr().err
    assert main(words) == 0


def test_a_copy_is_whole_and_replaces_nothing(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    assert main(["coach", "export", str(copy), "--database", str(path)]) == 0
    database = Database(copy)
    assert database.count("games") == 20
    database.close()
    assert main(["coach", "export", str(copy), "--database", str(path)]) == 2


TAGS = f'[White "{NAME}"]\n[Black "b"]\n[Result "1-0"]\n'
GERMAN = f"{TAGS}\n1. Sf3 Sf6 2. Sc3 d5 1-0\n\n"
CHESS960 = f"""{TAGS}[Variant "Chess960"]
[FEN "rnbqnkrb/pppppppp/8/8/8/8/PPPPPPPP/RNBQNKRB w GAga - 0 1"]

1. O-O O-O 2. e4 1-0
"""


def test_castling_in_chess960_ends_no_import() -> None:
    text = f"{CHESS960}\n{game_of(0)['pgn']}"
    first, second = games_of(text, (NAME,), Added())
    assert (first.plies, first.opening) == (3, "")
    assert second.opening == "Ruy Lopez: Morphy Defense"


def test_each_game_is_kept_with_its_own_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Tags without moves, and an empty line that is none: the next game begins in the same piece.
    pgn = tmp_path / "games.pgn"
    pgn.write_text(f"{TAGS} \n\n{TAGS}\n1. e4 e5 2. Nf3 1-0\n\n{GERMAN}")
    words = ["coach", "add", str(pgn), "--player", NAME, "--database", str(tmp_path / "a.db")]
    assert main(words) == 0
    assert "game 3 (line 12) is read in German notation" in capsys.readouterr().err
    database = Database(tmp_path / "a.db")
    games = [game for _, game in database.games()]
    assert [game.plies for game in games] == [3, 4]
    assert [len(database.tree(1, game).end().board().move_stack) for game in games] == [3, 4]
    assert capsys.readouterr().err == ""  # what was said of the file is not said of each game
    database.close()


DAMAGE = {
    "SET pgn = 'garbage'": "game 1: PGN: neither tags nor moves",
    "SET pgn = '1. e4 *'": "game 1: not its 9 moves",
    "SET pgn = x'ff'": "game 1: Expected `str`, got `bytes`",
    "SET keys = x'00'": "game 1: no position behind each move",
    "SET moves = x'0000'": "game 1: no position behind each move",
    "SET played = 99999999999999": "game 1: Expected `int` <= 253402300799",
    "SET played = 'abc'": "game 1: Expected `int`",
    "SET side = 7": "game 1: Expected `int` <= 1",
    "SET white = CAST(x'fffe' AS TEXT)": "Could not decode to UTF-8 column 'white'",
}


@pytest.mark.parametrize(("change", "said"), DAMAGE.items())
def test_games_that_nobody_has_written_so(path: Path, change: str, said: str) -> None:
    database = Database(path)
    database.write(f"UPDATE games {change} WHERE id = 1")
    with pytest.raises(DamagedFileError) as refused:
        for number, game in database.games():
            database.tree(number, game)
    assert f"a damaged database ({said}" in str(refused.value)
    assert "put it aside" in str(refused.value)
    database.close()


def test_a_name_that_is_none_or_of_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pgn = tmp_path / "games.pgn"
    pgn.write_text(game_of(50)["pgn"])
    words = ["coach", "add", str(pgn), "--database", str(tmp_path / "new.db"), "--player"]
    assert main([*words, " "]) == 2
    assert main([*words, "Ann"]) == 2
    near = f"no game of this player: 'Ann'; did you mean {NAME!r}?"
    assert near in capsys.readouterr().err
    assert main([*words, "Zzz"]) == 2
    assert "there play " in capsys.readouterr().err
    assert main([*words, f" {NAME} "]) == 0
    assert "no game of" not in capsys.readouterr().err
    with closing(Database(tmp_path / "new.db")) as kept:
        assert kept.names() == [NAME]  # and no wrong one
    assert main([*words, "Zzz"]) == 2  # which costs no name that was right
    with closing(Database(tmp_path / "new.db")) as kept:
        assert kept.names() == [NAME]


def test_files_of_games(tmp_path: Path) -> None:
    pgn = tmp_path / "mixed.pgn"
    texts = [game_of(number)["pgn"] for number in range(4)]
    texts.append(game_of(4)["pgn"].replace(NAME, "Somebody"))
    texts.append(game_of(5)["pgn"].replace("O-O", "O-O-O"))
    texts += [game_of(6)["pgn"].replace("https://lichess.org/00000006", "a club")] * 2
    pgn.write_text("\n".join(texts))
    database, counts = Database(tmp_path / "games.db"), Added()
    with pytest.raises(InputError, match="whose games are these"):
        add_files(database, [pgn], Wanted(), Stop(), counts)
    database.add_name("anna")
    add_files(database, [pgn], Wanted(), Stop(), counts)
    assert counts == {"new": 5, "of others": 1, "not readable": 1, "there already": 1}
    stored = [game for _, game in database.games("site = 'file'")]
    assert [game.white for game in stored] == ["Guest6"]
    database.close()


def test_a_game_with_a_cut_variation_is_named_by_its_place_in_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [game_of(number)["pgn"].rstrip() + "\n\n" for number in range(4)]
    for number in (1, 3):
        tags, _, moves = texts[number].partition("\n\n")
        first = moves.split("2.")[0]
        texts[number] = f"{tags}\n\n{moves.replace(first, f'{first}(1... Kd4) ', 1)}"
    pgn = tmp_path / "games.pgn"
    pgn.write_text("".join(texts))
    lines = [sum(text.count("\n") for text in texts[:number]) + 1 for number in (1, 3)]
    database, counts = Database(tmp_path / "games.db"), Added()
    database.add_name(NAME)
    add_files(database, [pgn], Wanted(), Stop(), counts)
    database.close()
    assert counts == {"new": 4}
    told = [line for line in capsys.readouterr().err.splitlines() if "cut" in line]
    assert len(told) == 2
    assert f"game 2 (line {lines[0]}): a variation is cut: 1... Kd4" in told[0]
    assert f"game 4 (line {lines[1]}): a variation is cut: 1... Kd4" in told[1]
