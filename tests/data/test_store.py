"""Stores: nothing is lost or doubled by splitting, combining and cutting; damage is named."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kibitz.cli import main
from kibitz.core.errors import FileError, InputError
from kibitz.core.files import read_bytes, write_bytes
from kibitz.core.places import Place, place
from kibitz.data.batches.window import Window, parse_source
from kibitz.data.pgn import tree_of
from kibitz.data.shard import Game, Shard, games_of, read, shard_of
from kibitz.data.store import Store, add, chosen, concatenate, cut, outdated, select, shards_in
from kibitz.position.pgn import read_games
from tests.data.conftest import random_game


def texts(*shards: Shard) -> list[str]:
    return [repr(game) for shard in shards for game in games_of(shard)]


def made(seed: int, count: int, **provenance: Any) -> Shard:
    generator = random.Random(seed)
    return shard_of([random_game(generator) for _ in range(count)], provenance)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    for seed, count in ((1, 9), (2, 0), (3, 14)):
        add(tmp_path / "store" / str(seed), made(seed, count), "some")
    return tmp_path / "store"


def run(words: list[object], capsys: pytest.CaptureFixture[str], code: int = 0) -> Any:
    assert main(["data", *map(str, words), "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_concatenation_keeps_every_game() -> None:
    parts = [made(1, 5), made(2, 0), made(3, 7)]
    assert texts(concatenate(parts)) == texts(*parts)
    assert concatenate([]).games == 0


def test_selection_is_that_of_a_list() -> None:
    shard = made(4, 12)
    order = [7, 2, 2, 11, 0]
    expected = texts(shard)
    assert texts(select(shard, shard_numbers(order))) == [expected[number] for number in order]
    one = select(shard, shard_numbers([3]))
    assert len(one.header.sources) == 1


def shard_numbers(numbers: list[int]) -> Any:
    return np.array(numbers, dtype=np.int64)


@pytest.mark.parametrize("plies", [1, 20, 10_000])
def test_cutting_keeps_order_and_size(plies: int) -> None:
    parts = [made(5, 9), made(6, 8)]
    pieces = list(cut(parts, plies))
    assert texts(*pieces) == texts(*parts)
    for piece in pieces[:-1]:
        assert piece.plies >= plies
        last = piece.offsets[-1] - piece.offsets[-2]
        assert piece.plies - last < plies or piece.games == 1 or last == 0


def test_the_same_games_are_chosen_wherever_they_are() -> None:
    shard = made(7, 400)
    mask = chosen(shard, 0.25)
    assert 60 < mask.sum() < 140
    back = chosen(select(shard, shard_numbers(list(range(399, -1, -1)))), 0.25)
    assert (back[::-1] == mask).all()
    without = shard._replace(seeds=shard.seeds * 0)
    assert 50 < chosen(without, 0.25).sum() < 150


def test_names_are_of_the_content(tmp_path: Path) -> None:
    first, again = add(tmp_path, made(1, 3), "some"), add(tmp_path, made(1, 3), "some")
    other = add(tmp_path, made(2, 3), "some")
    assert first == again != other
    assert shards_in(tmp_path) == sorted([first, other])


def test_damaged_shards_are_named_and_skipped(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = shards_in(store)
    flip(paths[0])
    found = Store(paths)
    assert [shard.games for shard in found] == [0, 14]
    assert [header.games for _, header in found.headers()] == [0, 14]
    assert found.facts["damaged"] == 1
    assert paths[0].name in capsys.readouterr().err  # long paths are shortened in the middle
    assert run(["verify", store], capsys, 1)["damaged"] == [str(paths[0])]
    assert run(["inspect", store], capsys, 1)["damaged"] == 1


def test_shares_say_how_different_games_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for stem, seed in (("some", 1), ("copies", 1), ("more", 2)):
        add(tmp_path, made(seed, 6), stem)
    openings, positions, plies = set(), set(), 0
    for path in shards_in(tmp_path):
        for game in games_of(read(path)):
            board = tree_of(game, 1).board()
            openings.add((game.start, tuple(ply.move for ply in game.plies[:8])))
            moves = [*tree_of(game, 1).mainline_moves()]
            plies += len(game.plies)
            for move in [*moves, None][: len(game.plies)]:
                positions.add(board.epd(en_passant="legal"))
                if move is not None:
                    board.push(move)
    facts = run(["stats", tmp_path], capsys)
    assert facts["unique_openings"] == pytest.approx(len(openings) / 18, abs=1e-4)
    assert len(openings) <= 12
    assert facts["unique_positions"] == pytest.approx(len(positions) / plies, abs=1e-4)


def flip(path: Place) -> None:
    """Change one byte of the checksum, so that the header can still be read."""
    content = bytearray(read_bytes(path))
    content[-9] ^= 4
    write_bytes(path, bytes(content))


@pytest.mark.parametrize(
    "words",
    [
        ["combine", "IN", "-o", "OUT"],
        ["split", "IN", "-o", "OUT"],
        ["export", "IN", "-o", "OUT/all.pgn"],
        ["export", "IN", "-o", "OUT/all.parquet"],
        ["export", "IN", "-o", "OUT", "--format", "experience"],
        ["inspect", "IN"],
        ["prune", "IN", "--keep", "1"],
        ["reanalyse", "IN", "-o", "OUT", "--network", "material", "--nodes", "2"],
    ],
)
def test_whatever_leaves_out_a_shard_says_which_and_how_many_games(
    words: list[str], store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lost = shards_in(store)[-1]
    flip(lost)
    places = {"IN": str(store), "OUT": str(tmp_path / "out")}
    named = [word.replace("OUT", places["OUT"]).replace("IN", places["IN"]) for word in words]
    assert main(["data", *named, "--json"]) == 1
    shown = capsys.readouterr()
    facts = json.loads(shown.out)
    assert facts["damaged"] == 1
    assert facts["damaged_shards"] == [{"file": str(lost), "games": 14}]
    assert "its 14 games are left out" in shown.err
    assert "1 of 3 shards are damaged and were left out" in shown.err


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no \.shard file"):
        shards_in(tmp_path)
    with pytest.raises(FileError, match="no such file"):
        shards_in(tmp_path / "missing")


# --- commands ------------------------------------------------------------------------------------


def test_split(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["split", store, "-o", tmp_path / "parts", "--share", "0.4", "--plies", "50"]
    counts = run(words, capsys)
    parts = {
        name: [read(path) for path in shards_in(tmp_path / "parts" / name)]
        for name in ("train", "validation")
    }
    assert sum(shard.games for shard in parts["train"]) == counts["train_games"] > 0
    assert sum(shard.games for shard in parts["validation"]) == counts["validation_games"] > 0
    before = texts(*map(read, shards_in(store)))
    assert sorted(texts(*parts["train"], *parts["validation"])) == sorted(before)
    assert run(words, capsys) == counts  # nothing is doubled
    assert main(["data", "split", str(store), "-o", str(store)]) == 2
    assert main(["data", "split", str(store), "-o", str(tmp_path / "x"), "--share", "1"]) == 2


def test_combine(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = run(["combine", store, "-o", tmp_path / "one", "--name", "all"], capsys)
    assert (done["shards"], done["games"]) == (1, 23)
    (path,) = shards_in(tmp_path / "one")
    assert path.name.startswith("all-00001-")
    assert texts(read(path)) == texts(*map(read, shards_in(store)))
    done = run(["combine", tmp_path / "one", "-o", tmp_path / "more", "--plies", "40"], capsys)
    assert texts(*map(read, shards_in(tmp_path / "more"))) == texts(read(path))
    assert done["shards"] == len(shards_in(tmp_path / "more")) > 3


def test_combine_pgn(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Comments, marks and variations stay; so does the number of games."""
    one = '[Event "{0}"]\n[Result "*"]\n\n1. e4 $1 {{ why }} ( 1. d4 {{ or so }} ) 1... e5 *\n\n'
    for name, count in (("a.pgn", 5), ("b.PGN", 2)):
        (tmp_path / name).write_text("".join(one.format(number) for number in range(count)))
    words = ["combine", tmp_path / "a.pgn", tmp_path / "b.PGN", "-o", tmp_path / "all"]
    done = run(words, capsys)
    assert (done["files"], done["games"], done["skipped"]) == (1, 7, 0)
    done = run(["combine", tmp_path / "all", "-o", tmp_path / "cut", "--games", 3], capsys)
    assert (done["files_read"], done["files"], done["games"]) == (1, 3, 7)
    paths = sorted((tmp_path / "cut").iterdir())
    games = [game for path in paths for game in read_games(path)]
    assert [game.tags["Event"] for game in games] == [*"01234", *"01"]
    assert all("$1 { why } ( 1. d4 { or so } )" in str(game) for game in games)
    (tmp_path / "bad.pgn").write_text('[Event "x"]\n\n1. e5 *\n\n' + one.format(1))
    done = run(["combine", tmp_path / "bad.pgn", "-o", tmp_path / "rest"], capsys, 1)
    assert (done["games"], done["skipped"]) == (1, 1)
    both = ["data", "combine", str(tmp_path / "a.pgn"), str(store), "-o", str(tmp_path / "x")]
    assert main(both) == 2
    assert main(["data", "combine", str(tmp_path / "all"), "-o", str(tmp_path / "all")]) == 2


URLS = ["memory://store", "file://HERE/a%20store"]


@pytest.mark.parametrize("url", URLS)
def test_stores_behind_urls(
    url: str,
    store: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    url = url.replace("HERE", str(tmp_path))
    games = sorted(texts(*map(read, shards_in(store))))
    run(["combine", store, "-o", f"{url}/one"], capsys)
    run(["combine", f"{url}/one", "-o", f"{url}/many", "--plies", 40], capsys)
    many = run(["inspect", f"{url}/many"], capsys)
    assert (many["games"], many["shards"] > 2) == (23, True)
    assert run(["verify", f"{url}/many"], capsys)["damaged"] == []
    parts = run(["split", f"{url}/many", "-o", f"{url}/parts", "--share", 0.4], capsys)
    assert parts["train_games"] + parts["validation_games"] == 23
    assert main(["data", "split", f"{url}/many", "-o", f"{url}/many"]) == 2
    assert main(["data", "inspect", f"{url}/nothing"]) == 2
    capsys.readouterr()
    assert sorted(texts(*map(read, shards_in(place(f"{url}/parts"))))) == games
    assert run(["export", f"{url}/one", "-o", f"{url}/all.pgn"], capsys)["games"] == 23
    back = run(["import", f"{url}/all.pgn", "-o", f"{url}/back"], capsys)
    assert back["games"] + back["empty"] == 23
    assert run(["export", f"{url}/many", "-o", f"{url}/all.parquet"], capsys)["positions"] > 100
    for number in (1, 2):
        add(place(f"{url}/old"), made(number, 2, generation=number), "g")
    (old,) = run(["prune", f"{url}/old", "--keep", "1"], capsys)["files"]
    assert not place(old).exists()
    assert len(shards_in(place(f"{url}/old"))) == 1
    assert [path.name for path in tmp_path.iterdir() if ":" in path.name] == []
    window = Window((parse_source(f"{url}/many=2"),))
    assert len(window.files) == many["shards"]


def test_inspect(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = run(["inspect", store, "--games", "4"], capsys)
    games = [game for path in shards_in(store) for game in games_of(read(path))]
    plies = [ply for game in games for ply in game.plies]
    assert (facts["shards"], facts["games"], facts["positions"]) == (3, len(games), len(plies))
    assert facts["visited_moves"] == sum(len(ply.visits) for ply in plies)
    assert facts["with_value"] == sum(ply.value == ply.value for ply in plies)
    assert facts["with_policy"] == sum(bool(ply.visits) for ply in plies)
    assert facts["random_moves"] == sum(ply.flags & 1 for ply in plies)
    assert facts["results"]["white"] == sum(game.result == 1 for game in games)
    assert facts["ends"]["checkmate"] == sum(game.end == "checkmate" for game in games)
    assert sum(facts["values"].values()) == facts["with_value"]
    assert sum(facts["lengths"].values()) == len(games)
    assert sum(facts["sources"].values()) == len(games)
    assert facts["longest"] == max(len(game.plies) for game in games)
    assert [one["plies"] for one in facts["first_games"]] == [len(g.plies) for g in games[:4]]
    assert main(["data", "inspect", str(store)]) == 0
    assert "values from -1.0" in capsys.readouterr().out
    assert main(["data", "inspect"]) == 2


def test_prune(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made_by = {
        number: add(tmp_path, made(number, 2, generation=number), "g") for number in (3, 11, 9)
    }
    imported = add(tmp_path, made(1, 2), "imported")
    assert outdated(Store(shards_in(tmp_path)), 3) == []
    listed = run(["prune", tmp_path, "--keep", "1", "--dry-run"], capsys)
    assert listed["files"] == [str(made_by[3]), str(made_by[9])]
    assert len(shards_in(tmp_path)) == 4
    assert run(["prune", tmp_path, "--keep", "1"], capsys)["files"] == listed["files"]
    assert set(shards_in(tmp_path)) == {imported, made_by[11]}
    assert main(["data", "prune", str(tmp_path), "--keep", "0"]) == 2


def test_a_game_without_plies_is_a_game(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = add(tmp_path, shard_of([Game()]), "empty")
    assert run(["inspect", path], capsys)["games"] == 1


def test_combine_to_a_pgn_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An output that is named as a file is one."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.pgn").write_text('[White "X"]\n\n1. e4 e5 1-0\n')
    words = ["combine", tmp_path / "a.pgn", tmp_path / "b.pgn", "-o", tmp_path / "all.pgn"]
    assert run(words, capsys)["games"] == 2
    assert (tmp_path / "all.pgn").read_text().count("[White ") == 2
    assert main(["data", *map(str, words), "--games", "1"]) == 2
    assert "name a folder" in capsys.readouterr().err
    assert main(["data", *map(str, words[:3]), "-o", str(tmp_path / "a.pgn")]) == 2
    assert "the output is read, too" in capsys.readouterr().err
