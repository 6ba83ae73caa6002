"""Mistakes as a deck: positions of a player's games where a good move was there and was missed.

A position becomes an item only if it is fair. With each of `PROOFS` nodes for the position, and as
many after the move that was made and after the best one:

- the best move keeps `NOT_LOST` of winning chances at least, and the move made throws away
  `CLEAR` of them or more, down to less than `STILL_WON`;
- all moves within `ALIKE` of the best by any of them are right, `MOST_GOOD` at most;
- every other move is worse by `CLEAR`: what lies between is a matter of taste, and no item;
- the search after the best move sees no less in it, but for `ALIKE`, than the one before it;
- the best move does not just take back, and is not one of two legal moves;
- there is an idea: a motif in the best line or in what the mistake allows, or a reason in words.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import chess
import msgspec

from kibitz.coach.database import Database, StoredGame
from kibitz.coach.puzzles.solve import motifs_of
from kibitz.comment.annotate import comment_on
from kibitz.comment.judge import Evaluation, Label, evaluation_of, label, score_before, value_of
from kibitz.comment.words.language import Language
from kibitz.comment.words.languages import ENGLISH, Code, language_of
from kibitz.position.board import Board
from kibitz.search.limits import Limits
from kibitz.search.report import Score

if TYPE_CHECKING:
    from kibitz.engine import Engine

DeckName: TypeAlias = Literal["own", "opponent"]  # whose mistakes
PROOFS = (100_000, 800_000)  # nodes; what one in ten strong players would dispute fails the second
WORDS = 4_000  # of the commentary's first look at a move
ALIKE, CLEAR = 0.08, 0.2  # of winning chances in [-1, 1]
NOT_LOST, STILL_WON = -0.3, 0.6
MOST_GOOD = 3
LINES = MOST_GOOD + 2  # best moves that are searched; one more than may be right, and the next
LEAST_LEGAL = 3
SHOWN = 7  # plies of a line
MOST_HINTS = 3
SERIOUS = (Label.MISTAKE, Label.BLUNDER)
THEMES = ENGLISH.motifs.keys()  # which a hint may name


class Good(msgspec.Struct, frozen=True, array_like=True):
    """A move that is right."""

    move: str  # UCI
    kind: str  # of its score, for the side to move: cp or mate
    amount: int


class Item(msgspec.Struct, frozen=True):
    """A position to be solved, and what is said of it afterwards."""

    ply: int
    deck: str
    fen: str  # of the position, from which `last` has been made already
    last: str  # the move that led to it, UCI; may be empty
    played: str  # the mistake, UCI
    good: tuple[Good, ...]  # the best first
    line: tuple[str, ...]  # the best move and what follows it
    refutation: tuple[str, ...]  # what follows the mistake
    lost: float  # of winning chances
    margin: float  # by which the best move that is not right is worse
    nodes: int  # of each search that says so
    hints: tuple[str, ...] = ()  # in English; `hints_of` has them in any language
    why: str = ""  # the best move is good
    wrong: str = ""  # and the mistake is none
    before: str = ""  # FEN of the position before `last`
    themes: tuple[str, ...] = ()
    language: Code = "en"  # of why and wrong

    def __post_init__(self) -> None:
        """Refuse an item, of a file for one, that could not be asked."""
        board = self.board()
        if not self.good:
            raise ValueError("no move is right")
        for moves in (
            [self.played],
            *([good.move] for good in self.good),
            self.line,
            self.refutation,
        ):
            board.variation_san([chess.Move.from_uci(move) for move in moves])
        if self.before and self.last:
            chess.Board(self.before, chess960=True).parse_uci(self.last)

    @property
    def position(self) -> str:
        """The same for the same position, however the game came to it."""
        return " ".join(self.fen.split()[:4])

    def board(self) -> chess.Board:
        """The position for python-chess."""
        return chess.Board(self.fen, chess960=_is_chess960(self.fen))


class Engines(NamedTuple):
    """What proves an item and talks about it; of the same network."""

    pairs: Engine  # with two lines
    wide: Engine  # with LINES


def items_of(
    boards: Sequence[chess.Board],
    moves: Sequence[chess.Move],
    views: Sequence[Evaluation],
    white: bool,
    engines: Engines,
    language: Code = "en",
) -> Iterator[Item]:
    """The fair items of a game; `white` says which side is the player's."""
    bad = [label(views[ply], views[ply + 1]) in SERIOUS for ply in range(len(moves))]
    for ply, move in enumerate(moves):
        own = boards[ply].turn == white
        # The opponent's mistakes count where they let the player get away with one.
        if bad[ply] and (own or (ply and bad[ply - 1])):
            deck: DeckName = "own" if own else "opponent"
            item = proved(boards[ply], move, ply, deck, engines, language)
            if item is not None:
                yield item


class Proof(NamedTuple):
    """What searches of so many nodes see of a mistake."""

    lines: list[tuple[Good, Score]]  # the best moves, the best first
    then: Evaluation  # after the best move, for the other side
    has: Evaluation  # after the mistake, for the other side
    nodes: int

    @property
    def value(self) -> float:
        """Of the position, by the search that sees less in the best move."""
        return min(_value(self.lines[0][0]), -self.then.value)

    @property
    def lost(self) -> float:
        """What the mistake throws away."""
        return self.value + self.has.value

    def good(self) -> list[Good]:
        """The moves that are right."""
        return [line for line, _ in self.lines if _value(line) >= self.value - ALIKE]

    def margin(self, right: Collection[str]) -> float:
        """By how much all moves that are not right are worse."""
        rest = [_value(line) for line, _ in self.lines if line.move not in right]
        return self.value - max([-self.has.value, *rest])

    def fair(self, right: Collection[str]) -> bool:
        """Whether the position is open, the mistake is clear, and no other move is nearly right."""
        return (
            self.value >= NOT_LOST
            and -self.has.value < STILL_WON
            and self.lost >= CLEAR
            and self.margin(right) >= CLEAR
            and _value(self.lines[0][0]) <= self.value + ALIKE
            and len(right) <= MOST_GOOD
        )


def proof(board: chess.Board, played: chess.Move, wide: Engine, nodes: int) -> Proof:
    """Search a position, and what comes after the best move and after the one that was made."""
    lines = _lines(board, wide, nodes)
    best = chess.Move.from_uci(lines[0][0].move)
    has, then = (_after(board, move, wide, nodes) for move in (played, best))
    return Proof(lines, then, has, nodes)


def proved(
    board: chess.Board,
    played: chess.Move,
    ply: int,
    deck: DeckName,
    engines: Engines,
    language: Code = "en",
) -> Item | None:
    """The item that a mistake makes, if it is a fair one."""
    if board.legal_moves.count() < LEAST_LEGAL:
        return None
    right: dict[str, Good] = {}
    for nodes in PROOFS:
        seen = proof(board, played, engines.wide, nodes)
        new = {good.move: good for good in seen.good()}
        right = new | {move: good for move, good in right.items() if move not in new}
        best = chess.Move.from_uci(seen.lines[0][0].move)
        if not seen.fair(right) or played.uci() in right or takes_back(board, best):
            return None
    line = (best.uci(), *(move.uci() for move in seen.then.line))[:SHOWN]
    shown = (played.uci(), *(move.uci() for move in seen.has.line))[:SHOWN]
    themes, words = _themes(board, line), language_of(language)
    why = _words(board, best, engines.pairs, words)
    allowed = set() if themes else _allowed(board, shown)
    if not (themes or allowed or why):
        return None
    made_last = board.move_stack[-1].uci() if board.move_stack else ""
    return Item(
        ply, deck, _fen(board), made_last, played.uci(),
        _with_score(tuple(right.values()), seen.then), line, shown,
        round(seen.lost, 3), round(seen.margin(right), 3), seen.nodes,
        _hints(board, best, themes, bool(allowed), ENGLISH),
        why, _words(board, played, engines.pairs, words),
        _before(board), tuple(sorted(themes)), language,
    )  # fmt: skip


def _lines(board: chess.Board, wide: Engine, nodes: int) -> list[tuple[Good, Score]]:
    """The best moves by one search, the best first."""
    wide.new_game()
    report = wide.play(Board.from_chess(board), Limits(nodes=nodes)).report
    return [
        (Good(line.moves[0].uci(board.chess960), score.kind, score.amount), score)
        for line in report.lines
        for score in [line.common or line.score]
    ]


def _after(board: chess.Board, move: chess.Move, wide: Engine, nodes: int) -> Evaluation:
    """What a search sees after a move, for the other side."""
    after = board.copy()
    after.push(move)
    position = Board.from_chess(after)
    end = position.outcome()
    if end is not None:
        mated = end.winner is not None
        score = Score("mate", 0) if mated else Score("cp", 0)
        return Evaluation(score, -1.0 if mated else 0.0, ())
    wide.new_game()
    return evaluation_of(after, wide.play(position, Limits(nodes=nodes)).report)


def _value(good: Good) -> float:
    return value_of(Score("mate" if good.kind == "mate" else "cp", good.amount))


def _with_score(good: tuple[Good, ...], then: Evaluation) -> tuple[Good, ...]:
    """The right moves, the best with the score that the search after it has seen."""
    score = score_before(then)
    return (Good(good[0].move, score.kind, score.amount), *good[1:])


def takes_back(board: chess.Board, best: chess.Move) -> bool:
    """Whether a move takes what has just taken something."""
    if not board.move_stack or not board.is_capture(best):
        return False
    before = board.copy(stack=1)
    last = before.pop()
    return before.is_capture(last) and last.to_square == best.to_square


def _themes(board: chess.Board, line: Sequence[str]) -> set[str]:
    """Motifs of the best line, by Lichess's names."""
    if not board.move_stack:
        return set()
    before = board.copy()
    last = before.pop()
    return motifs_of(before, last, line) & {*THEMES}


def _allowed(board: chess.Board, line: Sequence[str]) -> set[str]:
    """Motifs of the reply to a mistake."""
    mistake = chess.Move.from_uci(line[0])
    return motifs_of(board, mistake, line[1:]) & {*THEMES} if line[1:] else set()


def _hints(
    board: chess.Board, best: chess.Move, themes: set[str], defends: bool, language: Language
) -> tuple[str, ...]:
    """What helps without saying the move, the more the later."""
    texts, usual = language.coach, language.coach["defend"] if defends else ""
    motif = next((hint for name, (_, hint) in language.motifs.items() if name in themes), usual)
    piece = language.pieces[board.piece_type_at(best.from_square) or chess.PAWN]
    where = {"piece": piece, "square": chess.square_name(best.from_square)}
    pieces = (texts["piece"].format(**where), texts["square"].format(**where))
    return tuple(filter(None, (motif, *pieces)))


def hints_of(item: Item, language: Language) -> tuple[str, ...]:
    """The hints of an item in a language."""
    themes, defends = {*item.themes}, not item.themes and len(item.hints) == MOST_HINTS
    best = chess.Move.from_uci(item.good[0].move)
    return _hints(item.board(), best, themes, defends, language)


def said_in(item: Item, board: Board, pairs: Engine, code: Code) -> Item:
    """An item with its reasons in a language; `board` has the move that led to it."""
    if item.language == code:
        return item
    place, language = board.to_chess(), language_of(code)
    why, wrong = (
        _words(place, chess.Move.from_uci(move), pairs, language) if text else ""
        for move, text in ((item.good[0].move, item.why), (item.played, item.wrong))
    )
    return msgspec.structs.replace(item, why=why, wrong=wrong, language=code)


def _words(board: chess.Board, move: chess.Move, pairs: Engine, language: Language) -> str:
    """What the commentary says of a move; empty if that is nothing."""
    place, limits = Board.from_chess(board), Limits(nodes=WORDS)
    return comment_on(pairs, place, board.uci(move), "club", limits, language)


def _fen(board: chess.Board) -> str:
    return board.shredder_fen() if board.chess960 else board.fen()


def _before(board: chess.Board) -> str:
    if not board.move_stack:
        return ""
    before = board.copy(stack=1)
    before.pop()
    return _fen(before)


def _is_chess960(fen: str) -> bool:
    """Whether castling is written by the files of rooks."""
    return not {*fen.split()[2]} <= {*"KQkq-"}


# --- items in the database ------------------------------------------------------------------------


class Stored(NamedTuple):
    """An item of the deck in the database."""

    number: int
    item: Item
    game: StoredGame
    card: str  # what FSRS knows of it; empty if it was never asked
    due: int  # seconds since 1970


def stored_items(
    database: Database, deck: DeckName, where: str = "1", values: tuple[object, ...] = ()
) -> Iterator[Stored]:
    """Items of a deck, those of the latest games first."""
    query = (
        "SELECT items.id, items.content, items.game, items.card, items.due FROM items"
        f" JOIN games ON games.id = items.game WHERE deck = ? AND {where}"
        " ORDER BY games.played DESC, items.game DESC, items.ply"
    )
    for number, content, game, card, due in database.rows(query, (deck, *values)):
        with database.intact(f"item {number}"):
            item = msgspec.json.decode(content, type=Item)
        ((_, played),) = database.games("id = ?", (game,))
        yield Stored(number, item, played, card, due)


def due_items(database: Database, deck: DeckName, now: int, new: int) -> list[Stored]:
    """What is to be asked now: what is due, the longest waiting first, then so many new items."""
    due = sorted(
        stored_items(database, deck, "card != '' AND due <= ?", (now,)),
        key=lambda stored: stored.due,
    )
    fresh = stored_items(database, deck, "card = ''")
    return [*due, *(stored for stored, _ in zip(fresh, range(new), strict=False))]
