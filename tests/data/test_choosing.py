"""Games chosen by rating, time control and evaluations; python-chess says which they are."""

from __future__ import annotations

import io
import json
import random
import re
from pathlib import Path
from typing import Any

import chess
import chess.engine
import chess.pgn
import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from kibitz.cli import main
from kibitz.data.importing import pieces_of, read_piece
from kibitz.data.labels.labels import LabelModel, of_json, parse
from kibitz.data.pgn import GameFilter, choose, in_comment, pace_of, whole_games
from kibitz.data.shard import games_of
from kibitz.data.store import Store, shards_in

CONTROLS = ("60+0", "180+2", "300+3", "600+5", "1800+30", "-", "15+0", "40/7200", "?")


def lichess_like(count: int, seed: int = 1) -> str:
    """Games with tags as Lichess writes them; some are evaluated, some are broken."""
    generator, texts = random.Random(seed), []
    for number in range(count):
        board, tree = chess.Board(), chess.pgn.Game()
        tree.headers["White"] = str(number)
        tree.headers["WhiteElo"] = str(generator.choice(["?", generator.randint(900, 2800)]))
        tree.headers["BlackElo"] = str(generator.randint(900, 2800))
        tree.headers["TimeControl"] = generator.choice(CONTROLS)
        tree.headers["Result"] = "1-0"
        node: chess.pgn.GameNode = tree
        evaluated = generator.random() < 0.4
        for _ in range(generator.randint(1, 12)):
            move = generator.choice(list(board.legal_moves))
            node = node.add_variation(move)
            board.push(move)
            if evaluated:
                score = chess.engine.Cp(generator.randint(-300, 300))
                node.set_eval(chess.engine.PovScore(score, chess.WHITE))
            node.set_clock(60)
        text = str(tree)
        texts.append(text.replace("1. ", "1. Zz9 ", 1) if number % 11 == 7 else text)
    return "\n\n".join(texts) + "\n"


def wanted_by_python_chess(text: str, wanted: GameFilter) -> list[str]:
    """The players of White in the games that are to be imported."""
    found, stream = [], io.StringIO(text)
    while (game := chess.pgn.read_game(stream)) is not None:
        tags = game.headers
        ratings = [tags.get("WhiteElo", "?"), tags.get("BlackElo", "?")]
        strong = all(one.isdigit() and int(one) >= wanted.rating for one in ratings)
        if wanted.rating and not strong:
            continue
        if wanted.paces and pace_of(tags["TimeControl"]) not in wanted.paces:
            continue
        if wanted.evaluated and not any(node.eval() for node in game.mainline()):
            continue
        # Of "Zz9" python-chess says nothing and reads on; it is no move of any piece.
        if not game.errors and int(tags["White"]) % 11 != 7:
            found.append(tags["White"])
    return found


CHOICES = [
    GameFilter(rating=1800),
    GameFilter(evaluated=True),
    GameFilter(1500, ("blitz", "rapid"), True),
    GameFilter(paces=("correspondence", "classical")),
]


@pytest.mark.parametrize("wanted", CHOICES)
@pytest.mark.parametrize("characters", [1, 3000, 1_000_000])
def test_the_same_games_as_python_chess(
    wanted: GameFilter, characters: int, tmp_path: Path
) -> None:
    text = lichess_like(60)
    (tmp_path / "games.pgn").write_text(text)
    found: list[str] = []
    total = 0
    bad: list[str] = []
    for piece in pieces_of([tmp_path / "games.pgn"], characters):
        read = read_piece(piece, LabelModel(), wanted)
        found += [game.source["white"] for game in games_of(read.shard)]
        bad += read.described(total).bad
        total += read.games
    assert found == wanted_by_python_chess(text, wanted)
    assert total == 60
    lines = text.splitlines()
    for one in bad:  # the number of a broken game and its line are those of the whole file
        number, line = (int(part.split()[-1].strip("()")) for part in one.split(")")[0].split("("))
        assert lines[line + 3].startswith("[White ") or "[White" in "".join(lines[line : line + 5])
        assert number % 11 == 8


def test_a_packed_file_is_imported_by_any_number_of_workers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = lichess_like(80, seed=2)
    packed = tmp_path / "games.pgn.zst"
    packed.write_bytes(zstandard.ZstdCompressor().compress(text.encode()))
    words = ["data", "import", str(packed), "--rating", "1500", "--time-control", "blitz"]
    words += ["--time-control", "rapid", "--json"]
    results = []
    for workers in ("1", "2"):
        capsys.readouterr()
        output = tmp_path / workers
        assert main([*words, "--workers", workers, "--output", str(output)]) == 0
        results.append(json.loads(capsys.readouterr().out) | {"output": ""})
        results[-1]["names"] = sorted(path.name for path in output.glob("*.shard"))
    assert results[0] == results[1]
    wanted = GameFilter(1500, ("blitz", "rapid"))
    assert results[0]["games"] == len(wanted_by_python_chess(text, wanted))
    assert sum(results[0][name] for name in ("games", "empty", "skipped", "unwanted")) == 80


def test_an_import_ends_after_so_many_games(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "games.pgn").write_text(lichess_like(60))
    words = ["data", "import", str(tmp_path / "games.pgn"), "--plies", "20", "--games", "9"]
    assert main([*words, "--json", "--output", str(tmp_path / "store")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert 9 <= found["games"] < 20
    assert main([*words, "--rating", "-1", "--output", str(tmp_path)]) == 2


@pytest.mark.parametrize(
    ("control", "pace"),
    [
        ("15+0", "ultrabullet"),
        ("60+0", "bullet"),
        ("120+1", "bullet"),
        ("180+0", "blitz"),
        ("300+3", "blitz"),
        ("600+0", "rapid"),
        ("900+15", "classical"),
        ("40/7200", "classical"),
        ("-", "correspondence"),
        ("?", None),
        ("", None),
    ],
)
def test_paces_are_those_of_lichess(control: str, pace: str | None) -> None:
    assert pace_of(control) == pace


def slowly_in_comment(line: str, inside: bool) -> bool:
    """Letter by letter."""
    if not inside and line.startswith("%"):
        return False
    for letter in line:
        if inside:
            inside = letter != "}"
        elif letter == ";":
            return False
        else:
            inside = letter == "{"
    return inside


@given(st.text("{};%a ", max_size=12), st.booleans())
def test_comments_end_where_they_end(line: str, inside: bool) -> None:
    assert in_comment(line, inside) == slowly_in_comment(line, inside)


def test_games_without_an_empty_line_between_them_are_cut() -> None:
    text = lichess_like(20)
    glued = re.sub(r"\n\n(?=\[Event )", "\n", text)
    assert glued.count("\n") == text.count("\n") - 19
    pieces = [lines for _, lines in whole_games(glued.splitlines(keepends=True), 0)]
    assert [lines[0][:7] for lines in pieces] == ["[Event "] * 20
    assert choose(glued, GameFilter(rating=2000)).kept == choose(text, GameFilter(rating=2000)).kept


def test_nothing_of_a_text_is_lost() -> None:
    text = lichess_like(20)
    for characters in (0, 500):
        pieces = list(whole_games(text.splitlines(keepends=True), characters))
        assert "".join("".join(lines) for _, lines in pieces) == text
        first, lines = pieces[-1]
        assert first == text.count("\n") - len(lines) + 1
    assert choose(text, GameFilter(rating=9999)).text == "\n" * text.count("\n")


# --- Lichess's evaluated positions ----------------------------------------------------------------


def evaluated(count: int) -> list[dict[str, Any]]:
    generator, found = random.Random(3), []
    for _ in range(count):
        board = chess.Board()
        for _ in range(generator.randint(0, 30)):
            moves = list(board.legal_moves)
            if not moves:
                break
            board.push(generator.choice(moves))
        if board.is_game_over():
            continue
        score = (
            {"mate": generator.choice([-3, 2])}
            if generator.random() < 0.2
            else {"cp": generator.randint(-500, 500)}
        )
        line = f"{generator.choice(list(board.legal_moves)).uci()} e7e5"
        shallow = {"pvs": [{"cp": 9999, "line": "a1a1"}], "knodes": 1, "depth": 3}
        deep = {"pvs": [{**score, "line": line}, {"cp": 0, "line": line}], "knodes": 9, "depth": 30}
        fen = " ".join(board.fen().split()[:4])
        found.append({"fen": fen, "evals": generator.sample([shallow, deep], 2)})
    return found


def test_evaluated_positions_are_imported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    positions = evaluated(40)
    lines = [json.dumps(one) for one in positions]
    lines.insert(5, '{"fen": "broken"')
    text = "\n".join(lines) + "\n"
    packed = tmp_path / "lichess_db_eval.jsonl.zst"
    packed.write_bytes(zstandard.ZstdCompressor().compress(text.encode()))
    code = main(["data", "import", str(packed), "--json", "--output", str(tmp_path / "store")])
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert (code, found["games"], found["skipped"]) == (0, len(positions), 1)
    assert "line 6: not a labelled position" in captured.err
    records = [game for shard in Store(shards_in(tmp_path / "store")) for game in games_of(shard)]
    for game, one in zip(records, positions, strict=True):
        best = max(one["evals"], key=lambda search: search["depth"])["pvs"][0]
        score = best.get("cp", 0) or 10_000 * np.sign(best.get("mate", 0))
        own = score if " w " in one["fen"] else -score
        assert np.sign(game.plies[0].value) == np.sign(own) or abs(own) < 60
        assert chess.Board(game.start).board_fen() == one["fen"].split()[0]


def test_a_line_of_json_has_our_columns() -> None:
    searches = [{"depth": 9, "pvs": [{"mate": -1, "line": "h2h1"}]}]
    line = json.dumps({"fen": "8/8/8/8/8/1k6/7r/K7 b - -", "evals": searches})
    parsed = parse(list(of_json([line, "no JSON\n"])))
    assert parsed.scores.tolist() == [31_999]
    assert len(parsed.bad) == 1
