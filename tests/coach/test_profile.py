"""The figures of a profile, counted again by a script of python-chess that shares no code."""

from __future__ import annotations

import io
import json
import math
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import chess
import chess.pgn
import msgspec
import numpy as np
import pytest

from kibitz.cli import main
from kibitz.coach.analyse import Analysed, keep
from kibitz.coach.database import Database, View
from kibitz.coach.games import Added, games_of
from kibitz.coach.profile import (
    Figure,
    conversions,
    figure_name,
    figures,
    findings,
    played_games,
)
from kibitz.comment.words.languages import ENGLISH, LANGUAGES
from kibitz.engine.levels import People
from kibitz.nets.encodings.leaves import Leaves
from tests.coach.stand_in import NAME, game_of

GAMES = 60


def random_moves(generator: random.Random) -> tuple[str, int]:
    """Moves with clocks, captures first so that endings come about, and how many plies they are."""
    board, texts, left = chess.Board(), list[str](), [180.0, 180.0]
    for ply in range(generator.randrange(20, 150)):
        moves = list(board.legal_moves)
        if not moves:
            break
        captures = [move for move in moves if board.is_capture(move)]
        move = generator.choice(captures or moves)
        left[ply % 2] = max(0.5, left[ply % 2] - generator.uniform(0, 8))
        seconds = left[ply % 2]
        clock = f"{{ [%clk 0:{int(seconds // 60):02d}:{seconds % 60:04.1f}] }}"
        number = f"{ply // 2 + 1}." if ply % 2 == 0 else f"{ply // 2 + 1}..."
        texts.append(f"{number} {board.san(move)} {clock}")
        board.push(move)
    return " ".join(texts), len(board.move_stack)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    opened, generator = Database(tmp_path_factory.mktemp("p") / "games.db"), random.Random(5)
    for number in range(1, GAMES + 1):
        moves, plies = random_moves(generator)
        pgn = game_of(number * 100, moves=moves, speed=("blitz", "rapid")[number % 2])["pgn"]
        with opened.transaction():
            for game in games_of(pgn, (NAME,), Added(), "lichess"):
                opened.add_game(game._replace(rated=True))
        views = [View("cp", generator.randrange(-400, 400)) for _ in range(plies + 1)]
        views[generator.randrange(plies)] = View("mate", generator.choice((-3, 2)))
        keep(opened, Analysed(number, views, []), "test")
    yield opened
    opened.close()


def chances(view: View) -> float:
    if view.kind == "mate":
        return 1.0 if view.amount > 0 else 0.0
    return 1 / (1 + math.exp(-0.00368208 * view.amount))


def is_ending(board: chess.Board) -> bool:
    """An ending by the material alone: see the page on commentary."""
    from kibitz.comment.facts import phase

    return phase(board) == "endgame"


class Count:
    """What the script counts: costs by group and name, a number a game."""

    def __init__(self, database: Database) -> None:
        self.costs: dict[tuple[str, str], list[float]] = defaultdict(list)
        self.endings: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for number, stored in database.games():
            tree = chess.pgn.read_game(io.StringIO(stored.pgn))
            assert tree is not None
            self._game(tree, database.views(number))

    def _game(self, tree: chess.pgn.Game, views: list[View]) -> None:
        tags, board = tree.headers, tree.board()
        mine = chess.WHITE if tags["White"] == NAME else chess.BLACK
        sums: dict[tuple[str, str], float] = defaultdict(float)
        mistakes: list[int] = []
        ended, nodes = False, list(tree.mainline())
        for ply, node in enumerate(nodes):
            if is_ending(board) and not ended:
                ended = True
                chance = chances(views[ply]) if board.turn == mine else 1 - chances(views[ply])
                self.endings[pieces(board)].append((chance, points(tags["Result"], mine)))
            if board.turn == mine:
                cost = max(0.0, chances(views[ply]) - (1 - chances(views[ply + 1])))
                recent = any(0 < ply - earlier <= 10 for earlier in mistakes)
                names = [("all", "all games"), ("clock", band(nodes, ply, tags["TimeControl"]))]
                after = "within five moves of a mistake" if recent else "other moves"
                for name in (*names, ("after a mistake", after)):
                    sums[name] += cost
                if cost >= 0.1:
                    mistakes.append(ply)
            board.push(node.move)
        total = sums["all", "all games"]
        self.costs["colour", "White" if mine else "Black"].append(total)
        self.costs["time control", "blitz" if "180" in tags["TimeControl"] else "rapid"].append(
            total
        )
        self.costs["month", tags["UTCDate"][:7].replace(".", "-")].append(total)
        for name in NAMES:
            self.costs[name].append(sums[name])


NAMES = [
    ("all", "all games"),
    *(("clock", name) for name in ("under 10 %", "10 to 30 %", "above 30 %")),
    ("after a mistake", "within five moves of a mistake"),
    ("after a mistake", "other moves"),
]


def band(nodes: list[chess.pgn.ChildNode], ply: int, control: str) -> str:
    if ply < 2:
        return ""
    clock = nodes[ply - 2].clock()
    assert clock is not None
    share = clock / int(control.split("+")[0])
    return "under 10 %" if share < 0.1 else "10 to 30 %" if share < 0.3 else "above 30 %"


def pieces(board: chess.Board) -> str:
    letters = set(re.sub(r"[^qrbn]", "", board.board_fen().lower()))
    names = ["minor pieces"] if letters & {"b", "n"} else []
    names += ["queens"] if "q" in letters else []
    names += ["rooks"] if "r" in letters else []
    return " and ".join(names) or "pawns"


def points(result: str, white: bool) -> float:
    return {"1-0": float(white), "0-1": float(not white)}.get(result, 0.5)


def test_figures_are_those_of_an_independent_count(database: Database) -> None:
    games = list(played_games(database))
    assert len(games) == GAMES
    count, seen = Count(database), 0
    for figure in figures(games):
        costs = count.costs.get((figure.group, figure.name))
        if costs is None:
            assert figure.group in ("phase", "opening", "motif missed", "motif allowed")
            continue
        seen += 1
        mean = sum(costs) / len(costs)
        spread = sum((cost - mean) ** 2 for cost in costs) / (len(costs) - 1)
        assert figure.games == len(costs)
        assert figure.cost == pytest.approx(mean)
        assert figure.error == pytest.approx(1.96 * math.sqrt(spread / len(costs)))
    assert seen == len(count.costs)
    for row in conversions(games):
        ended = count.endings[row.ending]
        assert row.ahead == sum(chance >= 0.75 for chance, _ in ended)
        assert row.won == sum(chance >= 0.75 and won == 1 for chance, won in ended)
        assert row.behind == sum(chance <= 0.25 for chance, _ in ended)
        assert row.saved == sum(chance <= 0.25 and won > 0 for chance, won in ended)
    assert sum(row.ahead for row in conversions(games)) > 5


def test_groups_of_moves_add_up_to_all(database: Database) -> None:
    rows = figures(list(played_games(database)))
    (every,) = (row.cost for row in rows if row.group == "all")
    for group in ("phase", "after a mistake"):
        assert sum(row.cost for row in rows if row.group == group) == pytest.approx(every)


def with_one_game(path: Path, moves: str) -> Database:
    database = Database(path / "games.db")
    with database.transaction():
        for game in games_of(game_of(1, moves=moves)["pgn"], (NAME,), Added(), "lichess"):
            database.add_game(game)
    return database


def test_motifs_are_of_the_better_move_and_of_the_reply(tmp_path: Path) -> None:
    database = with_one_game(tmp_path, "1. e4 e5 2. Qh5 Ke7 3. Nf3 Nf6 4. Nc3")
    views = [View("cp", 0) for _ in range(8)]
    views[4], views[5] = View("mate", 1, "h5e5"), View("cp", 100, "g8f6")
    keep(database, Analysed(1, views, []), "test")
    rows = {(row.group, row.name): row for row in figures(list(played_games(database)))}
    missed = rows["motif missed", "mate"]
    assert missed.cost == pytest.approx(1 - (1 - chances(views[5])))
    assert [example.address for example in missed.examples] == ["https://lichess.org/00000001#4"]
    database.close()


def test_a_fork_is_seen_by_what_it_wins(tmp_path: Path) -> None:
    database = with_one_game(tmp_path, "1. e4 e5 2. Nf3 Nc6 3. Nc3 Bc5 4. a3")
    views = [View("cp", 0) for _ in range(8)]
    views[6] = View("cp", 100, "f3e5", None, ("c6e5", "d2d4", "c5d6", "d4e5"))
    views[7] = View("cp", 60, "d7d6")
    keep(database, Analysed(1, views, []), "test")
    assert database.views(1) == views
    missed = {row.name for row in figures(list(played_games(database))) if "missed" in row.group}
    assert "fork" in missed
    database.close()


def test_views_of_earlier_versions_are_read() -> None:
    assert msgspec.json.decode(b'["cp", 20, "e2e4", 0.1]', type=View).line == ["e2e4"]
    assert View("cp", 0).line == []


class Pretended(People):
    """People who play every legal move equally often; it keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def likely(self, leaves: Leaves, rating: int) -> np.ndarray:
        self.asked.append(rating)
        counts = np.diff(leaves.offsets)
        return np.repeat(1.0 / counts, counts)


def test_the_one_good_move_is_counted_beside_people_of_the_rating(tmp_path: Path) -> None:
    database = Database(tmp_path / "games.db")
    moves = ("1. e4 e5 2. Qh5 Ke7 3. Nf3 Nf6 4. Nc3", "1. e4 e5 2. Qh5 Ke7 3. Qxe5#")
    for number, text in enumerate(moves, start=1):
        pgn = game_of(number, moves=text, result="1-0")["pgn"]
        with database.transaction():
            for game in games_of(pgn, (NAME,), Added(), "lichess"):
                database.add_game(game._replace(white_rating=1480, black_rating=1520))
    views = [View("cp", 0) for _ in range(8)]
    views[0] = View("cp", 0, "d2d4", -0.02)  # many good moves
    views[2] = View("cp", -500, "d2d4", -0.99)  # lost anyway
    views[4] = View("mate", 1, "h5e5", 0.4)  # one good move, missed in one game
    for number in (1, 2):
        keep(database, Analysed(number, views[: 8 if number == 1 else 6], []), "test")
    games, people = list(played_games(database)), Pretended()
    mine = [game for game in games if game.game.side == 0]
    rows = {row.name: row for row in findings(games, people)}
    board = chess.Board()
    for move in ("e2e4", "e7e5", "d1h5", "e8e7"):
        board.push_uci(move)
    assert rows["all"].chances == len(mine)
    assert rows["all"].played == sum(game.number == 2 for game in mine) / len(mine)
    assert rows["all"].expected == pytest.approx(1 / board.legal_moves.count())
    assert set(people.asked) <= {1480, 1520}
    assert rows["mate"].chances == len(mine)
    assert all(example.ply == 4 for example in rows["all"].examples)
    database.close()


def test_a_recapture_and_what_is_lost_anyway_are_no_chances(tmp_path: Path) -> None:
    database = Database(tmp_path / "games.db")
    pgn = game_of(1, moves="1. e4 d5 2. exd5 Qxd5 3. Nc3 Qa5", result="0-1")["pgn"]
    with database.transaction():
        for game in games_of(pgn, (NAME,), Added(), "lichess"):
            database.add_game(game)
    views = [View("cp", 0) for _ in range(7)]
    views[3] = View("cp", 0, "d8d5", -0.9)  # takes back
    keep(database, Analysed(1, views, []), "test")
    (played,) = played_games(database)
    assert [chance.ply for chance in played.chances] == []
    database.close()


def test_the_command(database: Database, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["coach", "profile", "--database", str(database.path)]
    assert main([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["games"] == GAMES
    assert {"phase", "colour", "clock"} <= {figure["group"] for figure in told["figures"]}
    assert main(words) == 0
    assert "points lost a game" in capsys.readouterr().out


def test_motifs_have_words_in_every_language() -> None:
    for language in LANGUAGES.values():
        row = Figure("motif missed", "hangingPiece", 5, 9, 0.2, 0.1, [])
        assert figure_name(row, language) == language.motifs["hangingPiece"][0]
        assert {*language.motifs} == {*ENGLISH.motifs}
        assert not any(re.search("[a-z][A-Z]", word) for word, _ in language.motifs.values())
        assert language.coach.keys() == ENGLISH.coach.keys()
    assert ENGLISH.motifs["hangingPiece"][0] == "hanging piece"
    assert figure_name(row._replace(group="opening", name="Sicilian Defense"), ENGLISH)[0] == "S"
