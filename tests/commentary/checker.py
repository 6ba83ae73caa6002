"""Reads annotated games, takes every statement out of their comments and counts the false ones.

    python -m tests.commentary.checker ANNOTATED.pgn [--engine STOCKFISH] [--nodes N] [--show]

It shares no code with what makes comments: python-chess, plain rules and, for what is tactical, an
outside engine. A sentence with no statement that is understood is counted apart.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import chess
import chess.engine
import chess.pgn

KINDS = {name: kind for kind, name in enumerate(chess.PIECE_NAMES) if name}
WORTH = {1: 1, 2: 3, 3: 3, 4: 5, 5: 9, 6: 0}
UNIT = r"the (?:king|(?:pawn|knight|bishop|rook|queen) on [a-h][1-8])"
MOVE = r"\d+\.(?:\.\.)?(?:O-O(?:-O)?|[KQRBNa-h][\w=]*)[+#]?"
COUNTS = {"a": 1, "two": 2, "three": 3, "four": 4, "five": 5, "no": 0}


@dataclass
class At:
    """The move that a statement is about."""

    before: chess.Board
    move: chess.Move
    after: chess.Board

    @property
    def mover(self) -> bool:
        return self.before.turn


def subject(board: chess.Board, text: str) -> At | None:
    """A numbered move of a position, if it is legal there."""
    number, _, san = text.rpartition(".")
    black = number.endswith("..")
    if board.turn == black or int(number.strip(".")) != board.fullmove_number:
        return None
    try:
        move = board.parse_san(san)
    except ValueError:
        return None
    after = board.copy()
    after.push(move)
    return At(board, move, after)


def units(text: str) -> list[tuple[int, int | None]]:
    """The pieces named in a text; a king has no square."""
    found = []
    for name, square in re.findall(
        r"the (king|pawn|knight|bishop|rook|queen)(?: on ([a-h][1-8]))?", text
    ):
        if name == "king" or square:
            found.append((KINDS[name], chess.parse_square(square) if square else None))
    return found


def place(board: chess.Board, piece: tuple[int, int | None], white: bool) -> int | None:
    """The square of a named piece of a side, if it is there."""
    kind, square = piece
    if square is None:
        return board.king(white)
    return square if board.piece_at(square) == chess.Piece(kind, white) else None


def attacked(at: At, text: str) -> bool:
    """All pieces named are the other side's and attacked by the piece that moved."""
    squares = [place(at.after, one, not at.mover) for one in units(text)]
    seen = at.after.attacks(at.move.to_square)
    return bool(squares) and all(one is not None and one in seen for one in squares)


def pinned(at: At, text: str) -> bool:
    """The first piece stands between an attacker of the mover and the second."""
    pieces = [place(at.after, one, not at.mover) for one in units(text)]
    if len(pieces) < 2 or None in pieces[:2]:
        return False
    front, back = pieces[0], pieces[1]
    assert front is not None
    assert back is not None
    without = at.after.copy()
    without.remove_piece_at(front)
    new = without.attackers(at.mover, back) - at.after.attackers(at.mover, back)
    return any(front in at.after.attacks(one) for one in new)


def discovered(at: At, text: str) -> bool:
    """A piece of the mover, not the one that moved, attacks a piece that it did not attack."""
    pieces = units(text)
    by = next((s for one in pieces if (s := place(at.after, one, at.mover)) is not None), None)
    target = next(
        (s for one in pieces if (s := place(at.after, one, not at.mover)) is not None), None
    )
    if "check" in text:
        by = place(at.after, pieces[0], at.mover) if pieces else None
        target = at.after.king(not at.mover)
    if by is None or target is None or by == at.move.to_square:
        return False
    return target in at.after.attacks(by) and target not in at.before.attacks(by)


def passed(board: chess.Board, square: int, white: bool) -> bool:
    """No enemy pawn on the three files before the pawn, and it is a pawn."""
    if board.piece_at(square) != chess.Piece(chess.PAWN, white):
        return False
    for enemy in board.pieces(chess.PAWN, not white):
        ahead = enemy // 8 > square // 8 if white else enemy // 8 < square // 8
        if ahead and abs(enemy % 8 - square % 8) <= 1:
            return False
    return True


def isolated(board: chess.Board, square: int, white: bool) -> bool:
    if board.piece_at(square) != chess.Piece(chess.PAWN, white):
        return False
    return all(abs(one % 8 - square % 8) != 1 for one in board.pieces(chess.PAWN, white))


def side(text: str) -> bool:
    return "White" in text


def square_in(text: str) -> int:
    return chess.parse_square(re.findall(r"\b[a-h][1-8]\b", text)[-1])


def pawns_on(board: chess.Board, white: bool, text: str) -> int:
    file = ord(re.findall(r"\b([a-h])-(?:file|pawn)", text)[0]) - ord("a")
    return sum(one % 8 == file for one in board.pieces(chess.PAWN, white))


def pair(board: chess.Board, white: bool) -> bool:
    shades = {(one // 8 + one % 8) % 2 for one in board.pieces(chess.BISHOP, white)}
    return len(shades) == 2


def threat(at: At, text: str) -> bool:
    """The move named is legal after a pass, and takes something or mates."""
    if at.after.is_check():
        return False
    board = at.after.copy()
    board.push(chess.Move.null())
    san = re.findall(MOVE, text)[-1].rpartition(".")[2]
    try:
        move = board.parse_san(san)
    except ValueError:
        return False
    captures = board.is_capture(move)
    board.push(move)
    return board.is_checkmate() if "mate" in text or "#" in san else captures


def parried(at: At, text: str) -> bool:
    """A named piece of the mover stands, or a named move of the other side is no mate any more."""
    named = re.findall(MOVE, text)
    pieces = [place(at.before, one, at.mover) for one in units(text)]
    if pieces and None in pieces:
        return False
    if named and "#" in named[0]:
        try:
            move = at.after.parse_san(named[0].rpartition(".")[2])
        except ValueError:
            return True
        board = at.after.copy()
        board.push(move)
        return not board.is_checkmate()
    return bool(pieces or named or "mate" in text)


def named_pieces_exist(at: At, text: str) -> bool:
    """Every piece named stands there before or after the move."""
    return all(
        any(
            place(board, one, white) is not None
            for board in (at.before, at.after)
            for white in (True, False)
        )
        for one in units(text)
    )


def guard_taken(at: At, text: str) -> bool:
    pieces = units(text)
    if len(pieces) < 2:
        return False
    taken, target = pieces[0], pieces[-1]
    square = place(at.before, taken, not at.mover)
    goal = place(at.before, target, not at.mover)
    return square == at.move.to_square and goal is not None and goal in at.before.attacks(square)


def loose(at: At, text: str) -> bool:
    if not units(text):
        return False
    square = place(at.before, units(text)[0], not at.mover)
    return square == at.move.to_square and not at.before.attackers(not at.mover, square)


def file_taken(at: At, text: str) -> bool:
    rook = at.after.piece_type_at(at.move.to_square) == chess.ROOK
    own = pawns_on(at.after, at.mover, text)
    other = pawns_on(at.after, not at.mover, text)
    return rook and own == 0 and (other > 0) == ("half-open" in text)


def outpost(at: At, text: str) -> bool:
    square, white = square_in(text), at.mover
    guards = at.after.attackers(white, square) & at.after.pieces(chess.PAWN, white)
    enemies = [
        one
        for one in at.after.pieces(chess.PAWN, not white)
        if abs(one % 8 - square % 8) == 1
        and (one // 8 > square // 8) == white
        and one // 8 != square // 8
    ]
    return square == at.move.to_square and bool(guards) and not enemies


def seventh(at: At, text: str) -> bool:
    rank = 6 if "seventh" in text else 1
    return (
        at.move.to_square // 8 == rank and at.after.piece_type_at(at.move.to_square) == chess.ROOK
    )


def opposite_bishops(at: At, _: str) -> bool:
    shades = [
        {(one // 8 + one % 8) % 2 for one in at.after.pieces(chess.BISHOP, white)}
        for white in (True, False)
    ]
    return len(shades[0]) == len(shades[1]) == 1 and shades[0] != shades[1]


def opposite_wings(at: At, _: str) -> bool:
    kings = [at.after.king(white) for white in (True, False)]
    files = sorted((king or 0) % 8 for king in kings)
    return at.before.is_castling(at.move) and files[0] <= 2 and files[1] >= 5


def can_castle_no_more(at: At, _: str) -> bool:
    return at.before.has_castling_rights(at.mover) and not at.after.has_castling_rights(at.mover)


def mates_in(board: chess.Board, moves: int) -> bool:
    """Whether the side to move mates within so many moves, by trying everything."""
    for move in board.legal_moves:
        if moves > 1 and not board.gives_check(move) and moves > 2:
            continue  # long mates are tried by checks only
        board.push(move)
        found = board.is_checkmate() or (moves > 1 and mated_in(board, moves - 1))
        board.pop()
        if found:
            return True
    return False


def mated_in(board: chess.Board, moves: int) -> bool:
    """Whether every move of the side to move allows mate within so many moves."""
    replies = list(board.legal_moves)
    for move in replies:
        board.push(move)
        found = mates_in(board, moves)
        board.pop()
        if not found:
            return False
    return bool(replies)


def mate_statement(at: At, text: str) -> bool:
    """Mate in so many moves after the move, or with it as the first one."""
    found = re.search(r"mate in (\d+)", text)
    count = int(found.group(1)) if found else 1
    if count > 3:
        return True  # left to the engine
    named = re.findall(MOVE, text)
    if named:  # a mate that begins with another move, of either side
        for board in (at.after, at.before):
            other = subject(board, named[0])
            if other is not None:
                return (
                    count > 1 and mated_in(other.after, count - 1)
                ) or other.after.is_checkmate()
        return False
    if "forces" in text or "by force" in text or "next move" in text:
        return mated_in(at.after.copy(), count)
    return at.after.is_checkmate() if count == 1 else mated_in(at.after.copy(), count - 1)


Check = Callable[[At, str], bool]
STATEMENTS: list[tuple[str, str, Check]] = [
    (
        "fork",
        r"\b(?:forks|hits .* at once|attacks (?:both|.* at the same time|.* all at once))",
        attacked,
    ),
    ("pin", r"\bpins\b|in a pin to", pinned),
    ("skewer", r"\bskewers\b|and, behind it,", pinned),
    (
        "pinned",
        r"which is pinned to|pinned to the king as it is",
        lambda at, t: any(
            (s := place(at.after, one, not at.mover)) is not None
            and at.after.is_pinned(not at.mover, s)
            for one in units(t)
        ),
    ),
    ("discovery", r"uncovers|opens the line of|discovers an attack|discovered check", discovered),
    ("double check", r"double check", lambda at, _: len(at.after.checkers()) == 2),
    ("guard", r"removes the|, which guarded", guard_taken),
    ("loose", r"which nothing guarded|for nothing", loose),
    ("passed", r"passed pawn", lambda at, t: passed(at.after, square_in(t), at.mover)),
    ("isolated", r"isolate", lambda at, t: isolated(at.after, square_in(t), side(t))),
    (
        "doubled",
        r"double[sd]\b.*pawns|doubled pawns",
        lambda at, t: pawns_on(at.after, side(t), t) > 1,
    ),
    ("file", r"takes the (?:half-)?open|on the (?:half-)?open", file_taken),
    ("rank", r"seventh rank|second rank", seventh),
    ("outpost", r"outpost|no pawn can drive", outpost),
    (
        "bishop pair",
        r"bishop pair",
        lambda at, t: pair(at.after, side(t)) and not pair(at.after, not side(t)),
    ),
    ("castling", r"right to castle|no longer castle", can_castle_no_more),
    ("wings", r"opposite wings|opposite sides", opposite_wings),
    ("queens", r"queens off|without queens", lambda at, _: not at.after.queens),
    (
        "pawn ending",
        r"pawn ending|only kings and pawns",
        lambda at, _: at.after.occupied == at.after.pawns | at.after.kings,
    ),
    ("opposite bishops", r"opposite colours|opposite-coloured", opposite_bishops),
    (
        "king's file",
        r"beside \w+'s king|in front of \w+'s king",
        lambda at, t: (
            pawns_on(
                at.after,
                side(t.rpartition(" of ")[2] if " of " in t else t.rpartition("beside")[2]),
                t,
            )
            == 0
        ),
    ),
    ("threat", r"threatens", threat),
    ("parry", r"\b(?:saves|meets the threat|secures|stops|parries)\b", parried),
    ("mate pattern", r"is a (?:back-rank|smothered) mate", lambda at, _: at.after.is_checkmate()),
    ("mate", r"mate in \w+|mate next move", mate_statement),
    ("wins", r"\b(?:wins|nets|gains)\b(?! as| the game)", lambda *_: True),
    ("only", r"only good move|one good move|only move that does not", lambda *_: True),
    ("trap", r"\btraps\b|without a safe square", named_pieces_exist),
    (
        "other tactics",
        r"lures|deflects|overloads|one job too many|draws the|decoys|cuts|in between|in-between"
        r"|clears|vacates|gives up|sacrifices|offers|is safe from",
        named_pieces_exist,
    ),
    (
        "standing",
        r"\b(?:winning|lost|better|worse|level|advantage|the win|balance)\b",
        lambda *_: True,
    ),
]

RULES = [(kind, re.compile(form), rule) for kind, form, rule in STATEMENTS]


def statements(node: chess.pgn.ChildNode) -> Iterator[tuple[str, At, str]]:
    """The sentences of a comment with the move each is about, and the clauses of a sentence."""
    own = At(node.parent.board(), node.move, node.board())
    text = re.sub(r"\[%.*?\]", "", node.comment)
    for sentence in re.split(r"(?<=[a-z0-9#+!)\]])\. (?=[A-Z0-9])|\.$", text.strip()):
        if not sentence.strip():
            continue
        about = own
        rest = sentence
        for found in re.finditer(MOVE, sentence):
            other = subject(own.after, found.group()) or subject(own.before, found.group())
            verb = re.match(r"(?:, which| now|:? it| [a-z]+s\b)", sentence[found.end() :])
            if other is not None and verb and "threatens" not in sentence[: found.start()]:
                about, rest = other, sentence[found.end() :]
                break
        clauses = re.split(r" and (?=[a-z]+s\b)(?!the )|; ", rest)
        for clause in clauses:
            yield sentence, about, clause


def main() -> None:
    """Count statements by kind, and those that are false."""
    options = argparse.ArgumentParser()
    options.add_argument("files", nargs="+")
    options.add_argument("--engine")
    options.add_argument("--nodes", type=int, default=200_000)
    options.add_argument("--show", action="store_true")
    asked = options.parse_args()
    engine = chess.engine.SimpleEngine.popen_uci(asked.engine) if asked.engine else None
    made, false, comments, silent = Counter[str](), Counter[str](), 0, Counter[str]()
    counts: list[int] = []
    for path in asked.files:
        with Path(path).open(encoding="utf-8") as file:
            while (game := chess.pgn.read_game(file)) is not None:
                for node in everything(game):
                    number = 0
                    for sentence, at, clause in statements(node):
                        known = [
                            (kind, rule) for kind, form, rule in RULES if re.search(form, clause)
                        ]
                        if not named_pieces_exist(at, clause) and "threat" not in clause:
                            known.append(("piece", named_pieces_exist))
                        if not known:
                            silent[re.sub(MOVE, "M", clause)[:60]] += 1
                        for kind, rule in known:
                            number += 1
                            made[kind] += 1
                            true = rule(at, clause)
                            if true and engine is not None:
                                true = by_engine(kind, at, clause, engine, asked.nodes)
                            if not true:
                                false[kind] += 1
                                about = f"{at.before.fen()} {at.move}"
                                sys.stdout.write(f"FALSE {kind}: {clause} | {sentence} | {about}\n")
                    if number:
                        comments += 1
                        counts.append(number)
    if engine is not None:
        engine.quit()
    if asked.show:
        for text, count in silent.most_common(40):
            sys.stdout.write(f"not understood {count}: {text}\n")
    counts.sort()
    median = counts[len(counts) // 2] if counts else 0
    sys.stdout.write(f"{comments} comments, {made.total()} statements, median {median}\n")
    sys.stdout.write(f"{silent.total()} clauses without a statement that is understood\n")
    for kind, count in made.most_common():
        sys.stdout.write(f"{kind:18} {count:6} false {false[kind]}\n")


def by_engine(kind: str, at: At, text: str, engine: chess.engine.SimpleEngine, nodes: int) -> bool:
    """What an engine says of gains, mates and moves that are said to be the only ones."""
    limit = chess.engine.Limit(nodes=nodes)
    if kind == "mate":
        found = re.search(r"mate in (\d+)", text)
        if not found or int(found.group(1)) <= 3:
            return True
        score = engine.analyse(at.after, limit)["score"].pov(at.mover)
        return score.is_mate() and (score.mate() or 0) >= 0
    if kind == "wins":
        return gains(at, engine, limit)
    if kind == "standing":
        found = re.search(r"(White|Black) is (winning|lost|better|worse)\b(?! any)", text)
        if not found or "was" in text:
            return True
        value = chance(engine.analyse(at.after, limit)["score"].pov(found.group(1) == "White"))
        good = found.group(2) in ("winning", "better")
        bound = 0.35 if found.group(2) in ("winning", "lost") else 0.05
        return value >= bound if good else value <= -bound
    if kind == "only":
        lines = engine.analyse(at.before, limit, multipv=2)
        if len(lines) < 2:
            return True
        best, second = (chance(one["score"].pov(at.mover)) for one in lines)
        return lines[0]["pv"][0] == at.move and best - second >= 0.12
    return True


def gains(at: At, engine: chess.engine.SimpleEngine, limit: chess.engine.Limit) -> bool:
    """The engine's main line leaves the mover with more material than some plies before."""
    past = at.before.copy()
    least = material(past, at.mover)
    for _ in range(6):
        if not past.move_stack:
            break
        past.pop()
        least = max(least, material(past, at.mover))
    info = engine.analyse(at.after, limit)
    if info["score"].pov(at.mover).is_mate():
        return True
    board, best = at.after.copy(), -99
    for ply, move in enumerate(info.get("pv", [])):
        board.push(move)
        if ply % 2 == 0:
            best = max(best, material(board, at.mover))
    return best > least or material(board, at.mover) > least


def material(board: chess.Board, white: bool) -> int:
    return sum(
        worth * (len(board.pieces(kind, white)) - len(board.pieces(kind, not white)))
        for kind, worth in WORTH.items()
    )


def chance(score: chess.engine.Score) -> float:
    """Winning chances in [-1, 1], with Lichess's slope."""
    amount = score.score(mate_score=100_000)
    assert amount is not None
    return 2.0 / (1.0 + math.exp(-0.00368208 * max(-1000, min(1000, amount)))) - 1.0


def everything(game: chess.pgn.GameNode) -> Iterator[chess.pgn.ChildNode]:
    """All moves with a comment, variations included."""
    stack = list(game.variations)
    while stack:
        node = stack.pop()
        if node.comment:
            yield node
        stack.extend(node.variations)


if __name__ == "__main__":
    main()
