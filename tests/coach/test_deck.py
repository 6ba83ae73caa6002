"""The deck: which mistakes are fair items, when they are due, and what others are given of them."""

from __future__ import annotations

import csv
import json
import re
import sqlite3
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import chess
import chess.pgn
import msgspec
import pytest

from kibitz.cli import main
from kibitz.coach import deck as module
from kibitz.coach.analyse import Analysed, Study, analyse_games, keep
from kibitz.coach.database import Database, View
from kibitz.coach.deck import (
    LINES,
    Engines,
    Good,
    Item,
    Proof,
    due_items,
    hints_of,
    proved,
    said_in,
    stored_items,
)
from kibitz.coach.games import Added, games_of
from kibitz.coach.train import (
    AGAIN,
    GOOD,
    Training,
    board_of,
    explained,
    question,
    record,
    score_text,
    solves,
    write_deck,
)
from kibitz.comment.judge import Evaluation, value_of
from kibitz.comment.words.languages import ENGLISH, Code
from kibitz.core.errors import DamagedFileError, MissingExtraError
from kibitz.core.log import Stop
from kibitz.engine import Engine
from kibitz.position.board import Board
from kibitz.search.report import Score
from tests.coach.stand_in import NAME, game_of

pytestmark = pytest.mark.usefixtures("short_looks")

DAY = 86_400
NOW = 1_750_000_000
NODES = 20_000  # of a proof, for a test


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    both = Engines(*(Engine(search="alphabeta", multipv=lines, hash=16) for lines in (2, LINES)))
    yield both
    for engine in both:
        engine.close()


@pytest.fixture(autouse=True)
def small_proofs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PROOFS", (NODES // 4, NODES))
    monkeypatch.setattr(module, "WORDS", 500)


def item_of(engines: Engines, fen: str, moves: str, played: str) -> Item | None:
    """The item that a move makes after some others."""
    board = chess.Board(fen)
    for move in moves.split():
        board.push_san(move)
    return proved(board, board.parse_san(played), len(board.move_stack), "own", engines)


def test_a_missed_mate_is_an_item(engines: Engines) -> None:
    item = item_of(engines, chess.STARTING_FEN, "e4 e5 Qh5 Ke7", "Nf3")
    assert item is not None
    assert item.good == (Good("h5e5", "mate", 1),)
    assert "mate" in item.themes
    assert item.hints[0] == "There is a forced mate."
    assert not any("e5" in hint.removeprefix("It is the queen on h5") for hint in item.hints)
    assert item.margin >= module.CLEAR
    assert item.nodes == NODES


def test_an_item_has_its_words_in_a_language_and_may_get_others(engines: Engines) -> None:
    board = chess.Board()
    for move in ("e4", "e5", "Qh5", "Ke7"):
        board.push_san(move)
    texts = dict[Code, Item]()
    for code in get_args(Code):
        item = proved(board, board.parse_san("Nf3"), 4, "own", engines, code)
        assert item is not None
        assert item.language == code
        texts[code] = item
    assert "Dxe5" in texts["de"].wrong
    assert "Qxe5" in texts["en"].wrong
    assert said_in(texts["de"], board_of(texts["de"]), engines.pairs, "en") == texts["en"]
    assert hints_of(texts["de"], ENGLISH) == texts["de"].hints


def test_how_long_a_mate_takes_is_said_once() -> None:
    item = stored_item((Good("h5e5", "mate", 4), Good("d2d4", "cp", 130)))
    assert [score_text(item, good) for good in item.good] == ["forced mate", "+1.30"]


@pytest.mark.parametrize(
    ("fen", "moves", "played"),
    [
        # Taking back is no idea.
        (chess.STARTING_FEN, "e4 d5 exd5", "a6"),
        ("r1bqkbnr/pppp1ppp/2n5/4N3/4P3/8/PPPP1PPP/RNBQKB1R w KQkq - 0 1", "Nxc6", "a6"),
        # Won in any case: a rook is left, and then a queen and a rook.
        ("4k3/8/8/8/8/8/8/QR2K3 w - - 0 1", "", "Qa7"),
        ("6k1/5ppp/8/8/8/8/5PPP/RR4K1 w - - 0 1", "", "h3"),
        # Lost in any case.
        ("6k1/8/8/8/2q1q3/8/8/K6R w - - 0 1", "", "Rg1+"),
        # The move made is the best one.
        (chess.STARTING_FEN, "e4 e5 Qh5 Ke7", "Qxe5#"),
        # Nothing is lost.
        (chess.STARTING_FEN, "e4 e5", "Nc3"),
        # Too few legal moves.
        ("7k/8/8/8/8/8/6q1/7K w - - 0 1", "", "Kxg2"),
    ],
)
def test_what_is_no_item(engines: Engines, fen: str, moves: str, played: str) -> None:
    assert item_of(engines, fen, moves, played) is None


def test_where_many_moves_are_good_there_is_no_item(engines: Engines) -> None:
    # White hangs the queen; nearly anything else keeps the balance.
    assert item_of(engines, chess.STARTING_FEN, "e4 e5 Qf3 Nc6", "Qxf7+") is None


QUEEN_OUT = "e4 e5 Qh5 Ke7"
MATE = ("h5e5", 900)


@pytest.mark.parametrize(
    ("first", "second", "right"),
    [
        # Of the mate, other moves, and the mistake Nf3, in centipawns.
        (([MATE, ("d2d4", 0)], -100), ([MATE, ("d2d4", 20)], -100), ["h5e5"]),
        # The second look finds another good move; one that the first had found stays right.
        (([MATE, ("d2d4", 0)], -100), ([MATE, ("d2d4", 890), ("a2a3", 0)], 0), ["h5e5", "d2d4"]),
        (([MATE, ("d2d4", 890), ("a2a3", 0)], 0), ([MATE, ("d2d4", 20)], 0), ["h5e5", "d2d4"]),
        # It denies the mistake, or sees a third move in between.
        (([MATE, ("d2d4", 0)], -100), ([("h5e5", 100), ("d2d4", 0)], 60), None),
        (([MATE, ("d2d4", 0)], -100), ([("h5e5", 300), ("d2d4", 200)], -100), None),
        # All in all too many are right.
        (
            ([MATE, ("d2d4", 895), ("a2a3", 895), ("b2b3", 0)], 0),
            ([MATE, ("c2c3", 895), ("b2b3", 0)], 0),
            None,
        ),
    ],
)
def test_what_a_longer_look_disputes_is_no_item(
    engines: Engines,
    monkeypatch: pytest.MonkeyPatch,
    first: tuple[list[tuple[str, int]], int],
    second: tuple[list[tuple[str, int]], int],
    right: list[str] | None,
) -> None:
    looks = [first, second]

    def scripted(_: chess.Board, __: chess.Move, ___: Engine, nodes: int) -> Proof:
        moves, mistake = looks.pop(0)
        lines = [(Good(move, "cp", amount), Score("cp", amount)) for move, amount in moves]
        best, made = (Score("cp", -amount) for amount in (moves[0][1], mistake))
        return Proof(
            lines,
            Evaluation(best, value_of(best), ()),
            Evaluation(made, value_of(made), ()),
            nodes,
        )

    monkeypatch.setattr(module, "proof", scripted)
    item = item_of(engines, chess.STARTING_FEN, QUEEN_OUT, "Nf3")
    assert (item and [good.move for good in item.good]) == right


def stored_item(good: tuple[Good, ...] = (Good("h5e5", "mate", 1),)) -> Item:
    board = chess.Board()
    for move in ("e4", "e5", "Qh5"):
        board.push_san(move)
    before = board.fen()
    board.push_san("Ke7")
    return Item(
        4, "own", board.fen(), "e8e7", "g1f3", good, (good[0].move,), ("g1f3", "b8c6"),
        1.2, 0.9, NODES, ("There is a forced mate.", "A queen moves."), "It is mate.",
        "It lets the king go.", before, ("mate",),
    )  # fmt: skip


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "games.db")
    texts = [game_of(number, moves="1. e4 e5 2. Qh5 Ke7 3. Nf3")["pgn"] for number in (1, 2)]
    with opened.transaction():
        for text in texts:
            for game in games_of(text, (NAME,), Added(), "lichess"):
                opened.add_game(game)
    yield opened
    opened.close()


def add_items(database: Database, count: int = 1) -> None:
    item = stored_item()
    for number in range(1, count + 1):
        fen = item.fen if number == 1 else item.fen.replace(" KQ ", " K ")
        other = msgspec.structs.replace(item, ply=3 + number, fen=fen)
        keep(database, Analysed(1, [View("cp", 0)], [other]), f"test {number}")


def test_every_good_move_solves() -> None:
    item = stored_item((Good("h5e5", "mate", 1), Good("d2d4", "cp", 400)))
    assert [solves(item, move) for move in ("h5e5", "d2d4", "g1f3")] == [True, True, False]
    only = stored_item((Good("d2d4", "cp", 400),))
    assert solves(only, "h5e5")  # it mates, whatever the list says


def test_what_is_known_comes_later_than_what_is_not(database: Database) -> None:
    add_items(database, 2)
    first, second = due_items(database, "own", NOW, new=10)
    known, unknown = record(database, first, GOOD, 20, NOW), record(database, second, AGAIN, 9, NOW)
    assert NOW < unknown < known
    assert due_items(database, "own", NOW, new=10) == []
    database.close()
    again = Database(database.path)
    waiting = due_items(again, "own", known, new=0)
    assert [stored.number for stored in waiting] == [second.number, first.number]
    later = record(again, waiting[1], GOOD, 20, known)
    assert later - known > known - NOW  # the interval grows
    assert again.count("reviews") == 3
    again.close()


def session(database: Database, lines: list[str]) -> tuple[list[str], Training]:
    told: list[str] = []
    moments = iter(range(NOW, NOW + 10**6, 10))
    training = Training(
        lines, lambda board: told.append(board.fen()), told.append, database, lambda: next(moments)
    )
    training.run(due_items(database, "own", NOW, new=10))
    return told, training


def test_the_answer_is_told_after_the_try(database: Database) -> None:
    add_items(database)
    told, training = session(database, ["nonsense", "moves", "hint", "hint", "hint", "quit"])
    moves = next(text for text in told if text.startswith(("a3 ", "Qxf7")) or " a3 " in text)
    told.remove(moves)  # all that are legal
    assert not any(text in line for line in told for text in ("Qxe5", "h5e5", "is mate"))
    assert database.count("reviews") == 0
    told, training = session(database, ["Qxe5#"])
    assert training.score == {"right": 1, "helped": 0, "wrong": 0}
    text = "\n".join(told)
    assert "Qxe5# is right." in text
    assert "It is mate." in text
    assert "You played 3.Nf3. It lets the king go." in text
    assert "https://lichess.org/00000001" in text


def test_a_reason_is_said_once(database: Database) -> None:
    add_items(database)
    ((content,),) = database.rows("SELECT content FROM items")
    told = content.replace("It lets the king go.", "Instead, 3.Qxe5# mates.")
    database.write("UPDATE items SET content = ?", (told,))
    text = "\n".join(session(database, ["solution"])[0])
    assert "3.Qxe5# mates" in text
    assert "It is mate." not in text


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('{"ply"', "{", "item 1: "),
        ('"fen":"', '"fen":"x', "item 1: invalid character"),
        ("h5e5", "h5a1", "item 1: illegal"),
        ('"good":[["h5e5","mate",1]]', '"good":[]', "item 1: no move is right"),
        ("e8e7", "e8e6", "item 1: illegal"),
    ],
)
def test_items_that_nobody_has_written_so(
    database: Database, before: str, after: str, said: str
) -> None:
    add_items(database)
    database.write("UPDATE items SET content = replace(content, ?, ?)", (before, after))
    with pytest.raises(DamagedFileError) as refused:
        due_items(database, "own", NOW, new=10)
    assert f"a damaged database ({said}" in str(refused.value)


@pytest.mark.parametrize("card", ["{", '{"card_id": 1}', "[]"])
def test_an_answer_that_nobody_has_written_so(database: Database, card: str) -> None:
    add_items(database)
    database.write("UPDATE items SET card = ?", (card,))
    (stored,) = due_items(database, "own", NOW, new=10)
    with pytest.raises(DamagedFileError, match="what was answered to item 1"):
        record(database, stored, GOOD, 20, NOW)
    assert database.count("reviews") == 0


def test_nothing_to_do_says_in_which_deck_items_are(
    database: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def told(*words: str) -> str:
        path = str(tmp_path / "games.db")
        assert main(["coach", "train", "--new", "0", "--database", path, *words]) == 0
        return capsys.readouterr().err

    assert "nothing to do: kibitz coach analyse makes items" in told()
    add_items(database)
    assert "nothing to do: 1 item, none is due" in told()
    assert "no item in this deck, 1 item in --deck own" in told("--deck", "opponent")


def test_nothing_is_asked_where_no_answer_can_be_kept(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_items(database)
    monkeypatch.setitem(sys.modules, "fsrs", None)
    told: list[str] = []
    training = Training(["Qxe5#"], lambda board: told.append(board.fen()), told.append, database)
    with pytest.raises(MissingExtraError, match="coach"):
        training.run(due_items(database, "own", NOW, new=10))
    assert told == []


def test_wrong_answers_and_those_who_give_up(database: Database) -> None:
    add_items(database, 2)
    told, training = session(database, ["Qxf7+", "solution"])
    assert training.score == {"right": 0, "helped": 0, "wrong": 2}
    assert any("Qxf7+ is not good enough" in text for text in told)
    assert sum("Best is 3.Qxe5# (mate in 1)." in text for text in told) == 2
    grades = database.rows("SELECT grade FROM reviews")
    assert grades == [(AGAIN,), (AGAIN,)]


def test_a_good_move_that_is_not_the_best_is_told_of_the_best(database: Database) -> None:
    item = stored_item((Good("h5e5", "mate", 1), Good("d2d4", "cp", 400)))
    keep(database, Analysed(1, [], [item]), "test")
    (stored,) = stored_items(database, "own")
    move = Board(item.before, [item.last]).parse("d4")
    text = " ".join(explained(stored, move, right=True))
    assert "d4 is right. Best is 3.Qxe5# (mate in 1)." in text


# --- files ----------------------------------------------------------------------------------------


def test_a_deck_for_anki_has_boards_and_hides_the_answer(
    database: Database, tmp_path: Path
) -> None:
    add_items(database)
    path = tmp_path / "deck.apkg"
    write_deck(path, list(stored_items(database, "own")))
    with zipfile.ZipFile(path) as package:
        media = json.loads(package.read("media"))
        pictures = {name: package.read(number).decode() for number, name in media.items()}
        (tmp_path / "collection").write_bytes(package.read("collection.anki2"))
    file = sqlite3.connect(tmp_path / "collection")
    ((fields,),) = file.execute("SELECT flds FROM notes").fetchall()
    ((models,),) = file.execute("SELECT models FROM col").fetchall()
    file.close()
    front, asked, back, answer, why, game = fields.split("\x1f")
    (model,) = json.loads(models).values()
    named = set(re.findall(r"\{\{(\w+)\}\}", model["tmpls"][0]["qfmt"]))
    assert named == {"Board", "Question"}  # the front shows nothing else
    for hidden in ("Qxe5", "h5e5", "mate"):
        assert hidden not in front + asked
    assert (answer, why) == ("Qxe5# (mate in 1)", "It is mate. It lets the king go.")
    for image in (front, back):
        assert re.search(r'src="(.+?)"', image)[1] in pictures  # type: ignore[index]
    assert all(picture.startswith("<svg") for picture in pictures.values())
    assert NAME in game
    write_deck(tmp_path / "again.apkg", list(stored_items(database, "own")))


def test_decks_as_pgn_and_csv(database: Database, tmp_path: Path) -> None:
    add_items(database)
    for kind in ("pgn", "csv"):
        output = tmp_path / f"deck.{kind}"
        assert main(["coach", "deck", str(output), "--database", str(database.path)]) == 0
    with (tmp_path / "deck.pgn").open() as file:
        game = chess.pgn.read_game(file)
    assert game is not None
    assert game.board().fen() == stored_item().fen
    assert [node.san() for node in game.variations] == ["Qxe5#", "Nf3"]
    assert chess.pgn.NAG_MISTAKE in game.variations[1].nags
    with (tmp_path / "deck.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert (row["Good"], row["Played"], row["Side"]) == ("Qxe5#", "Nf3", "white")
    assert main(["coach", "deck", str(tmp_path / "x.doc"), "--database", str(database.path)]) == 2


def test_what_is_asked_is_for_who_is_to_move(database: Database) -> None:
    add_items(database)
    (stored,) = stored_items(database, "own")
    assert question(stored) == "White to move. Find a good move."


# --- analysis -------------------------------------------------------------------------------------


def test_analysing_goes_on_a_game_at_a_time(database: Database) -> None:
    study = Study(nodes=200)
    assert analyse_games(database, study, Stop(), most=1) == 1
    stop = Stop()
    stop.request()
    assert analyse_games(database, study, stop) == 0
    assert analyse_games(database, study, Stop()) == 1
    assert analyse_games(database, study, Stop()) == 0
    views = [database.views(number) for number, _ in database.games()]
    assert [len(seen) for seen in views] == [6, 6]
    assert views[0] == views[1]  # the same moves
    assert [view.kind for view in views[0]][4] == "mate"
    assert views[0][4].best == "h5e5"
    # The same position in two games is one item; it is of White, who is the player.
    ((deck, content),) = database.rows("SELECT deck, content FROM items")
    assert deck == "own"
    assert json.loads(content)["good"][0] == ["h5e5", "mate", 1]
