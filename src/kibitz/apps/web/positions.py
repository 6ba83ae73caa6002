"""Positions and games as the page sees them: legal moves, FEN, PGN and its tree of moves."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import IO, Any

import chess
import chess.pgn
import msgspec

from kibitz.comment.facts import played
from kibitz.comment.openings import opening_of
from kibitz.comment.report.page import shown
from kibitz.core.errors import InputError, NotationError
from kibitz.core.files import Location
from kibitz.position.attacks import square_name
from kibitz.position.board import Board
from kibitz.position.epd import parse_epd
from kibitz.position.fen import START, castles960
from kibitz.position.notation import Move
from kibitz.position.pgn import BadGame, Game, eval_of, parse_game, read_games, text_of

MOST_MOVES = 2_000  # plies of a game
MOST_NODES = 20_000  # moves of a game with its variations
MOST_GAMES = 1_000  # of one text that are listed
LONGEST_VARIATION = 40  # plies of a line that are drawn
# Of a game that is annotated: plies, nodes for a position, and for all of its positions.
MOST_PLIES, NODES_OF_POSITION, NODES_OF_GAME = 1_000, 1_000_000, 100_000_000


class PagePosition(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A position the page asks about: where the game began, and the moves since, in UCI or SAN."""

    fen: str = START
    moves: tuple[str, ...] = ()
    chess960: bool = False

    def board(self) -> Board:
        """The position as a board; refuses what is not legal."""
        if len(self.moves) > MOST_MOVES:
            raise InputError("too many moves", value=len(self.moves), fix=f"{MOST_MOVES} at most")
        board = Board(self.fen, chess960=self.chess960)
        board.chess960 = self.chess960 or castles960(board.position)
        for move in self.moves:
            board.push(move)
        return board

    def going(self) -> Board:
        """The position as a board; refuses one in which the game is over."""
        board = self.board()
        if board.outcome() is not None:
            raise InputError("the game is over", fix="begin a new one")
        return board

    def passed(self) -> Board:
        """The position as if the side to move had passed; refuses one in which it cannot."""
        board = self.going()
        if board.is_check():
            raise InputError("the threat is the check", fix="answer it first")
        chess960 = board.chess960
        board.push("--")
        after = PagePosition(board.fen(), chess960=chess960)
        if not after.board().legal_moves:
            what = "no threat: after a pass the other side would have no move"
            raise InputError(what, fix="play on")
        return after.going()


def described(board: Board) -> dict[str, Any]:
    """All that the page needs to show a position and to let moves be made in it."""
    end = board.outcome()
    over = None
    if end is not None:
        over = {"result": end.result, "reason": end.termination.text}
    king = "k" if board.turn == "black" else "K"
    kings = (square_name(square) for square in range(64) if board.piece_at(square) == king)
    opening = opening_of(board.to_chess()) if board.moves else None
    return {
        "fen": board.fen(),
        "turn": board.turn,
        "moves": [[board.uci(move), board.san(move)] for move in board.legal_moves],
        "check": next(kings) if board.is_check() else "",
        "over": over,
        "claim": _claim(board) if over is None else "",
        "opening": "" if opening is None else f"{opening.eco} {opening.name}",
        "chess960": board.chess960,
    }


def _claim(board: Board) -> str:
    """The draw that a player may claim, in words."""
    end = board.outcome(claim=True)
    return "" if end is None else end.termination.text


def san_line(board: Board, moves: Sequence[Move | str]) -> list[str]:
    """The moves of a line in SAN."""
    after, line = board.copy(history=False), []
    for move in moves[:LONGEST_VARIATION]:
        line.append(after.san(move))
        after.push(move)
    return line


def placements(board: Board, moves: tuple[str, ...]) -> list[str]:
    """The board after each move of a line, the first field of a FEN."""
    after, fields = board.copy(history=False), []
    for move in moves[:LONGEST_VARIATION]:
        after.push(move)
        fields.append(after.fen().split()[0])
    return fields


# --- texts that are pasted or dropped -------------------------------------------------------------


def read_text(text: str) -> dict[str, Any]:
    """What a text is: a FEN or a line of EPD, or games in PGN."""
    bare = text.strip()
    if not bare:
        raise NotationError("nothing to read", fix="paste a FEN or a PGN")
    first = bare.splitlines()[0]
    if first.count("/") == 7 and not first.startswith("["):
        return {"kind": "position", "fen": _fen_of(first)}
    bad: list[BadGame] = []
    games = [*islice(readable_games(io.StringIO(text), bad), MOST_GAMES)]
    if not games:
        reason = bad[0].reason if bad else "no moves in it"
        raise NotationError(f"this is no PGN that can be read: {reason}", value=bare)
    several = len(games) + sum(game.tree is None for game in bad) > 1
    losses: list[BadGame | Game] = [*bad, *(game for game in games if game.cut)]
    losses.sort(key=lambda game: game.number)
    skipped = [_loss(game, several) for game in losses]
    titles = [title_of(game) for game in games]
    return {"kind": "games", "titles": titles, "skipped": skipped, "game": tree_of(games[0])}


def readable_games(source: Location | IO[str], bad: list[BadGame]) -> Iterator[Game]:
    """The games of a source, one with an illegal move up to there; `bad` gets what is left out."""
    yielded = len(bad)
    for game in chain(read_games(source, bad.append, MOST_NODES), (None,)):
        for broken in bad[yielded:]:
            if broken.tree is not None:
                yield Game(broken.number, broken.tree, broken.line)
        yielded = len(bad)
        if game is not None:
            yield game


def _loss(game: BadGame | Game, several: bool) -> str:
    """What of a game could not be read, in a player's words."""
    where = f"Game {game.number} (line {game.line}): " if several else ""
    if isinstance(game, Game):
        return f"{where}What follows a mistake in a variation was left out: {game.cut}."
    if game.tree is None or not game.move:
        return f"{where}It was left out: {game.reason}."
    return f"{where}The moves from {game.move} on were left out: {game.reason}."


def _fen_of(line: str) -> str:
    """The FEN of a line that is one, or EPD."""
    fields = line.split()
    plain = len(fields) <= 6 and all(field.rstrip(";").isdigit() for field in fields[4:])
    return Board(line).fen(shredder=False) if plain else parse_epd(line).fen


def game_in(text: str, number: int) -> dict[str, Any]:
    """One of the games of a text, from 0."""
    for index, game in enumerate(readable_games(io.StringIO(text), [])):
        if index == number:
            return tree_of(game)
    raise InputError("no such game in the text", value=number + 1)


def game_to_annotate(text: str, nodes: int) -> Game:
    """The first game of a text, if so many nodes for each of its positions are not too many."""
    if not 1 <= nodes <= NODES_OF_POSITION:
        raise InputError("nodes", value=nodes, fix=f"expected 1 to {NODES_OF_POSITION}")
    game = parse_game(text, MOST_NODES)
    moves = [node.move for node in game.tree.mainline()]
    passes = sum(not move for move in moves)
    if passes or not moves or len(moves) > MOST_PLIES:
        what = f"{len(moves)} half-moves, {passes} of them passes"
        fix = f"expected 1 to {MOST_PLIES}, and none that passes"
        raise InputError("this game cannot be annotated", value=what, fix=fix)
    if nodes * (len(moves) + 1) > NODES_OF_GAME:
        fix = f"expected at most {NODES_OF_GAME // (len(moves) + 1)} for so long a game"
        raise InputError("nodes", value=nodes, fix=fix)
    return game


def title_of(game: Game) -> str:
    """A game in a line of a list."""
    tags = {name: shown(value)[:60] for name, value in game.tags.items()}
    date = tags.get("Date", "").strip(".?")
    about = [tags.get("Event", ""), date]
    names = f"{tags.get('White', '?')} - {tags.get('Black', '?')}  {tags.get('Result', '*')}"
    return "  ".join([names, *(text for text in about if text.strip("?"))])


def tree_of(game: Game) -> dict[str, Any]:
    """A game with its variations: a list of moves, each with the number of the one before it."""
    tree = game.tree
    nodes: list[dict[str, Any]] = []
    waiting: list[tuple[chess.pgn.GameNode, int, chess.Board]] = [(tree, -1, tree.board())]
    while waiting:
        node, parent, board = waiting.pop()
        number = len(nodes) - 1 if node is not tree else -1
        if isinstance(node, chess.pgn.ChildNode):
            nodes.append(_move_of(node, parent, board))
            number = len(nodes) - 1
            board = played(board, node.move)
        if len(nodes) > MOST_NODES:
            raise InputError("the game has too many moves", fix=f"{MOST_NODES} are the most")
        waiting.extend((child, number, board) for child in reversed(node.variations))
    start = Board.from_chess(tree.board())
    return {
        "tags": {name: shown(value) for name, value in game.tags.items()},
        "fen": start.fen(),
        "chess960": start.chess960,
        "comment": shown(tree.comment),
        "eval": _eval(tree, tree.board().turn),
        "nodes": nodes,
    }


def _move_of(node: chess.pgn.ChildNode, parent: int, before: chess.Board) -> dict[str, Any]:
    return {
        "parent": parent,
        "uci": before.uci(node.move),
        "san": before.san(node.move) if node.move else "--",
        "fen": played(before, node.move).fen(),
        "nags": sorted(node.nags),
        "comment": shown(node.comment),
        "eval": _eval(node, not before.turn),
    }


def _eval(node: chess.pgn.GameNode, turn: chess.Color) -> list[Any] | None:
    """The kind of score and its amount, for White, that a comment has."""
    score = eval_of(node, turn)
    if score is None:
        return None
    white = score.white()
    return ["mate", white.mate()] if white.is_mate() else ["cp", white.score()]


# --- games that are written -----------------------------------------------------------------------


class Node(msgspec.Struct, frozen=True):
    """A move of the page's tree; `parent` is the number of the one before it, -1 at the start."""

    parent: int
    uci: str
    comment: str = ""
    nags: tuple[int, ...] = ()


def pgn_of(
    place: PagePosition, tags: dict[str, str], nodes: tuple[Node, ...], comment: str = ""
) -> str:
    """The PGN of a tree of moves."""
    board = place.board().to_chess()
    tree = chess.pgn.Game()
    if board.fen() != chess.STARTING_FEN:
        tree.setup(board)
    tree.headers.update({name: value for name, value in tags.items() if name.isalnum()})
    tree.comment = comment
    made: list[tuple[chess.pgn.GameNode, chess.Board]] = [(tree, board)]
    for node in nodes:
        if not -1 <= node.parent < len(made) - 1:
            raise InputError("a move without the move before it", value=node.parent)
        above, before = made[node.parent + 1]
        try:
            move = before.parse_uci(node.uci)
        except ValueError as error:
            raise InputError("not a legal move", value=node.uci) from error
        child = above.add_variation(move, comment=node.comment, nags=node.nags)
        made.append((child, played(before, move)))
    return text_of(tree)
