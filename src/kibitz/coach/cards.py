"""The deck as files of other programs: Anki (with pictures of the boards), PGN and CSV."""

from __future__ import annotations

import csv
import html
import io
import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import chess
import chess.pgn
import chess.svg

from kibitz.coach.deck import Stored
from kibitz.coach.train import reason_apart, score_text, title_of
from kibitz.core.errors import InputError, missing_extra
from kibitz.core.files import atomic_write, write_bytes
from kibitz.position.pgn import text_of

KINDS = (".apkg", ".pgn", ".csv")
MODEL, DECK = 1_607_392_319, 2_059_400_110  # Anki tells note types and decks by such numbers
PICTURE = 360  # pixels
_STYLE = ".card { font-family: sans-serif; font-size: 18px; text-align: center; }"
_FRONT = "{{Board}}<p>{{Question}}</p>"
_BACK = "{{After}}<p><b>{{Answer}}</b></p><p>{{Reason}}</p><p><small>{{Game}}</small></p>"


def write_deck(path: Path, items: Sequence[Stored]) -> None:
    """Write items as the kind of file that the name says."""
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise InputError("not a kind of deck", value=str(path), fix=f"one of {' '.join(KINDS)}")
    if not items:
        raise InputError("no item to write", value=str(path), fix="kibitz coach analyse makes some")
    if kind == ".apkg":
        write_anki(path, items)
    else:
        text = _pgn(items) if kind == ".pgn" else _csv(items)
        write_bytes(path, text.encode())


def question(stored: Stored) -> str:
    """What is asked: nothing of the answer is in it."""
    side = "White" if stored.item.board().turn else "Black"
    return f"{side} to move. Find a good move."


def answers(stored: Stored) -> list[str]:
    """The right moves in SAN, the best first."""
    board = stored.item.board()
    return [board.san(board.parse_uci(good.move)) for good in stored.item.good]


def reason(stored: Stored) -> str:
    """Why the best move is good and the one made is not."""
    return " ".join(filter(None, (reason_apart(stored.item), stored.item.wrong)))


def _with_score(stored: Stored) -> str:
    return f"{' or '.join(answers(stored))} ({score_text(stored.item, stored.item.good[0])})"


# --- Anki -----------------------------------------------------------------------------------------


def write_anki(path: Path, items: Iterable[Stored]) -> None:
    """Write a package for Anki; the same item keeps its history there when it comes again."""
    try:
        import genanki
    except ImportError as error:
        raise missing_extra("a deck for Anki", "genanki", "coach") from error
    fields = ("Board", "Question", "After", "Answer", "Reason", "Game")
    model = genanki.Model(
        MODEL,
        "Kibitz mistake",
        fields=[{"name": name} for name in fields],
        templates=[{"name": "Find a good move", "qfmt": _FRONT, "afmt": _BACK}],
        css=_STYLE,
    )
    deck = genanki.Deck(DECK, "Mistakes (Kibitz)")
    with tempfile.TemporaryDirectory() as folder:
        pictures: list[str] = []
        for stored in items:
            game, item = stored.game, stored.item
            name = f"{game.site}-{game.site_id}-{item.ply}".replace("/", "-")
            pictures += _pictures(Path(folder), name, stored)
            texts = (question(stored), _with_score(stored), reason(stored), title_of(game))
            front, answer, why, title = map(html.escape, texts)
            images = [f'<img src="kibitz-{name}-{side}.svg">' for side in ("front", "back")]
            note = [images[0], front, images[1], answer, why, title]
            deck.add_note(genanki.Note(model, note, guid=genanki.guid_for("kibitz", name)))
        package = genanki.Package(deck, media_files=pictures)
        with atomic_write(path) as file, tempfile.TemporaryDirectory() as made:
            package.write_to_file(os.fspath(Path(made) / "deck.apkg"))
            file.write((Path(made) / "deck.apkg").read_bytes())


def _pictures(folder: Path, name: str, stored: Stored) -> list[str]:
    """The board before and after the best move, from the side of who is to move."""
    item, board = stored.item, stored.item.board()
    best = board.parse_uci(item.good[0].move)
    last = chess.Move.from_uci(item.last) if item.last else None
    after = board.copy()
    after.push(best)
    views: list[tuple[str, dict[str, Any]]] = [
        ("front", {"board": board, "lastmove": last}),
        ("back", {"board": after, "lastmove": best}),
    ]
    paths = [folder / f"kibitz-{name}-{side}.svg" for side, _ in views]
    for path, (_, view) in zip(paths, views, strict=True):
        path.write_text(chess.svg.board(**view, orientation=board.turn, size=PICTURE), "utf-8")
    return list(map(os.fspath, paths))


# --- PGN and CSV ----------------------------------------------------------------------------------


def _pgn(items: Iterable[Stored]) -> str:
    """A game from the position on for each item: the best line, and the mistake as a variation."""
    return "\n\n".join(text_of(_tree(stored)) for stored in items) + "\n"


def _tree(stored: Stored) -> chess.pgn.Game:
    item, game = stored.item, stored.game
    tree = chess.pgn.Game()
    tree.headers.update(
        {"Event": "Mistake", "Site": title_of(game), "White": game.white, "Black": game.black}
    )
    tree.setup(item.board())
    tree.comment = question(stored)
    node: chess.pgn.GameNode = tree
    for text in item.line:
        node = node.add_variation(chess.Move.from_uci(text))
    tree.variations[0].comment = item.why
    for good in item.good[1:]:
        if chess.Move.from_uci(good.move) != tree.variations[0].move:
            tree.add_variation(chess.Move.from_uci(good.move)).comment = "Good, too."
    node = tree
    for text in item.refutation:
        node = node.add_variation(chess.Move.from_uci(text))
        if node.parent is tree:
            node.nags.add(chess.pgn.NAG_MISTAKE)
            node.comment = item.wrong
    return tree


def _csv(items: Iterable[Stored]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("FEN", "Side", "Played", "Good", "Line", "Themes", "Reason", "Game"))
    for stored in items:
        item, board = stored.item, stored.item.board()
        row = ("white" if board.turn else "black", board.san(board.parse_uci(item.played)))
        good, line = (
            " ".join(answers(stored)),
            board.variation_san([chess.Move.from_uci(move) for move in item.line]),
        )
        themes = " ".join(item.themes)
        writer.writerow((item.fen, *row, good, line, themes, reason(stored), title_of(stored.game)))
    return text.getvalue()
