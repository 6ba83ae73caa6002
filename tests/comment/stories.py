"""Reads the story before a game's first move, statement by statement, for `checker`.

Values are the `[%eval]` marks, in White's winning chances from -1 to 1; what a story says of a
turning point, an outside engine is asked about, too.
"""

from __future__ import annotations

import hashlib
import lzma
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from itertools import pairwise
from statistics import fmean, harmonic_mean, pstdev

import chess
import chess.engine
import chess.pgn

MOVE = r"\d+\.(?:\.\.)?(?:O-O(?:-O)?|[KQRBNa-h][\w=]*)[+#]?"
WHY = re.compile(
    r", which (allowed mate|missed a mate|missed the win of [a-z ]+|lost [a-z ]+)(?:,|(?=[ .]|$))"
)
ABBREVIATION = r"(?<!\b[A-Z][a-z])"  # as in "St. Petersburg"
WORTH = {chess.KNIGHT: 3, chess.BISHOP: 3, chess.ROOK: 5, chess.QUEEN: 9}
WON, BETTER, SWING = 0.6, 0.25, 0.3
A_PAWN = 0.18  # +1.00
ROUNDED = 0.01  # by which a value in the PGN differs from the one it was made of


def sentences(text: str) -> list[str]:
    """The sentences of a text, without their full stops; what others wrote is before the value."""
    plain = re.sub(r"\[%.*?\]", "", text[max(0, text.rfind("[%eval ")) :]).strip()
    ends = r"(?:(?<=[a-zO0-9#+!)%\]])|(?<==[QRBN]))"  # a promotion, too
    parts = re.split(rf"{ends}{ABBREVIATION}\. (?=[A-Z0-9])|\.$", plain)
    return [one for one in parts if one.strip()]


def chance(score: chess.engine.Score) -> float:
    """Winning chances in [-1, 1], with Lichess's slope; a mate is 1."""
    amount = score.score()
    if amount is None:
        return 1.0 if score > chess.engine.Cp(0) else -1.0
    return 2.0 / (1.0 + math.exp(-0.00368208 * max(-1000, min(1000, amount)))) - 1.0


@dataclass
class Tale:
    """A game as its story tells it."""

    game: chess.pgn.Game

    @cached_property
    def boards(self) -> list[chess.Board]:
        return [self.game.board(), *(node.board() for node in self.game.mainline())]

    @cached_property
    def moves(self) -> list[str]:
        """Moves as they are written, with their numbers."""
        return [
            f"{board.fullmove_number}{'.' if board.turn else '...'}{board.san(node.move)}"
            for board, node in zip(self.boards, self.game.mainline(), strict=False)
        ]

    @cached_property
    def values(self) -> list[float]:
        """White's chances in every position, by the marks."""
        marks = [node.eval() for node in (self.game, *self.game.mainline())]
        return [chance(one.white()) if one else math.nan for one in marks]

    @cached_property
    def named(self) -> list[int]:
        """The plies of the moves on which the game turned, by the story."""
        told = [one for one in sentences(self.game.comment) if "would have" not in one]
        found = [name for one in told for name in re.findall(MOVE, one)]
        return [self.moves.index(one) for one in found if one in self.moves]

    def of(self, white: bool, ply: int) -> float:
        """The chances of a side in a position."""
        return self.values[ply] if white else -self.values[ply]

    def values_of(self, white: bool) -> list[float]:
        """The chances of a side in every position."""
        return [self.of(white, ply) for ply in range(len(self.values))]

    def phase(self, ply: int) -> str:
        """The phase of a position: by the pieces that are left and those still at home."""
        board = self.boards[ply]
        if sum(n * len(board.pieces(k, s)) for k, n in WORTH.items() for s in (True, False)) <= 26:
            return "endgame"
        home = (board.knights | board.bishops) & (chess.BB_RANK_1 | chess.BB_RANK_8)
        early = board.fullmove_number <= 12 and chess.popcount(home) >= 3
        return "opening" if early else "middlegame"


@dataclass
class Turn:
    """A statement about a move on which the game turned."""

    tale: Tale
    ply: int
    text: str

    @property
    def mover(self) -> bool:
        return self.tale.boards[self.ply].turn


EDGE = r"^From .* on \w+ was better|better to the end|edge for good"
# Of the mover's chances before and after a turning move: least and most by the marks. An outside
# engine has to agree within the second pair, which leaves more room.
Limits = tuple[float, float]
ANY = (-1.0, 1.0)
WINNING, AHEAD, EVEN, NOT_LOST = (WON, 1.0), (BETTER, WON), (-BETTER, BETTER), (-WON, 1.0)
LOSING = (-1.0, -0.35)
BEHIND, LOST, DOWN = (-WON, -BETTER), (-1.0, -WON), (-1.0, -BETTER)
LOOSE = {
    WINNING: (0.35, 1.0),
    AHEAD: (0.05, 0.85),
    EVEN: (-0.35, 0.35),
    BEHIND: (-0.85, -0.05),
    LOST: (-1.0, -0.35),
    LOSING: (-1.0, -0.15),
    DOWN: (-1.0, -0.05),
    NOT_LOST: (-0.85, 1.0),
    ANY: ANY,
}
TURNS: list[tuple[str, Limits, Limits]] = [
    (EDGE, ANY, ANY),
    (r"win was in doubt after|made the win harder", WINNING, AHEAD),
    (r"a win slip|threw a win|win was gone after", WINNING, EVEN),
    (r"turned the game round|turned a win into", WINNING, DOWN),
    (r"advantage was gone|advantage back|let it slip", AHEAD, EVEN),
    (r"the better game into|handed the game", AHEAD, DOWN),
    (r"the better game$|was better$|upper hand after", EVEN, BEHIND),
    (r"cost \w+ a level|level position|lost the balance", EVEN, LOST),
    (r"a lost one|left a lost position", BEHIND, LOST),
    (r"decisive mistake|decided the game", NOT_LOST, LOSING),
]
KEPT = {"kept the win": WINNING, "kept the better": AHEAD, "held the": EVEN, "in the game": BEHIND}
KEPT["mated by force"] = WINNING


def turned(one: Turn) -> bool:
    """The marks have the standings that are named, and a side named is the mover or not."""
    tale, ply, white = one.tale, one.ply, one.mover
    had, has = tale.of(white, ply), tale.of(white, ply + 1)
    if re.search(EDGE, one.text):
        side = re.findall("White|Black", one.text)[-1] == "White"
        later = [tale.of(side, at) for at in range(ply + 1, len(tale.values))]
        return tale.of(side, ply) <= BETTER + ROUNDED and min(later) >= BETTER - ROUNDED
    if re.search(r"found|changed the game", one.text):
        return has - had >= SWING - ROUNDED
    if re.search("the score (went )?from", one.text):
        return scores_told(one)
    if "Nothing cost" in one.text or "'s worst was" in one.text:
        return costliest(one) and ("White" in one.text) == white
    return all(
        least - ROUNDED <= value <= most + ROUNDED
        for value, (least, most) in zip((had, has), limits_of(one.text), strict=True)
    )


def scores_told(one: Turn) -> bool:
    """The scores before and after the move are those of the marks, in pawns."""
    texts = re.findall("[+\N{MINUS SIGN}]\\d+\\.\\d+|\\b0\\.00", one.text)
    told = [float(text.replace("\N{MINUS SIGN}", "-")) for text in texts]
    marks = one.tale.values[one.ply : one.ply + 2]
    values = [chance(chess.engine.Cp(round(100 * pawns))) for pawns in told]
    return all(abs(had - has) <= ROUNDED for had, has in zip(values, marks, strict=True))


def costliest(one: Turn) -> bool:
    """No other move of the mover's has lost more, where the game was not lost already."""
    tale, white = one.tale, one.mover
    lost = {
        ply: tale.of(white, ply) - tale.of(white, ply + 1)
        for ply in range(len(tale.moves))
        if tale.boards[ply].turn == white and tale.of(white, ply) > -WON
    }
    return lost[one.ply] >= max(lost.values()) - ROUNDED


def limits_of(text: str) -> tuple[Limits, Limits]:
    return next(((had, has) for form, had, has in TURNS if re.search(form, text)), (ANY, ANY))


def kept(one: Turn) -> bool:
    """The move that would have been right is legal, and the standing was what it kept."""
    board = one.tale.boards[one.ply]
    try:
        board.parse_san(better_named(one).rpartition(".")[2])
    except ValueError:
        return False
    least, most = next(limits for words, limits in KEPT.items() if words in one.text)
    return least - ROUNDED <= one.tale.of(one.mover, one.ply) <= most + ROUNDED


def better_named(one: Turn) -> str:
    return str(re.findall(MOVE, one.text)[0])


# --- the other sentences --------------------------------------------------------------------------


@cache
def openings() -> dict[str, str]:
    """Codes and names of openings, by the digest of a position."""
    packed = resources.files("kibitz.comment").joinpath("openings.tsv.xz").read_bytes()
    rows = (row.split("\t", 1) for row in lzma.decompress(packed).decode().splitlines())
    return {digest: named for digest, named in rows if named.strip()}


def opening_told(tale: Tale, text: str) -> bool:
    """The last position within forty moves of both that has a name has this one."""
    rows = openings()
    digests = [hashlib.sha256(one.epd().encode()).hexdigest()[:12] for one in tale.boards[1:41]]
    names = [rows[one] for one in digests if one in rows]
    code, _, name = names[-1].partition("\t") if names else ("", "", "")
    return bool(name) and f" the {name} ({code})" in text


def calm(tale: Tale, text: str) -> bool:
    number = int(re.findall(r"\d+", text)[0]) + (0 if text.startswith("Until") else 1)
    early = [ply for ply, one in enumerate(tale.boards) if one.fullmove_number < number]
    return all(abs(tale.values[ply]) < A_PAWN + ROUNDED for ply in early)


def outplayed(tale: Tale, text: str) -> bool:
    """In the phase named the other side lost more by moves on which the game did not turn."""
    white = re.findall("White|Black", text)[0] == "White"
    where = re.findall("opening|middlegame|endgame", text.lower())[0]
    lost = {True: 0.0, False: 0.0}
    for ply in set(range(len(tale.moves))) - set(tale.named):
        mover = tale.boards[ply].turn
        if tale.phase(ply) == where:
            lost[mover] += max(0.0, tale.of(mover, ply) - tale.of(mover, ply + 1))
    return lost[not white] - lost[white] >= 0.4 - 10 * ROUNDED


def swung(tale: Tale, text: str) -> bool:
    """So many times the side that is better is not the one that was."""
    better = [one > 0 for one in tale.values if abs(one) >= BETTER]
    changes = sum(one != other for one, other in pairwise(better))
    return changes == int(re.findall(r"\d+", text)[0])


def gradual(tale: Tale, text: str) -> bool:
    """The side named stands better at the end, and did not after the last turning point."""
    white = "White" in text
    before = tale.of(white, tale.named[-1] + 1 if tale.named else 0)
    return tale.of(white, len(tale.moves)) >= BETTER - ROUNDED and before < BETTER + ROUNDED


def still(tale: Tale, _: str) -> bool:
    """No move changed the chances by much and the standing by it."""
    turns = [
        abs(had - has) >= SWING + ROUNDED and (abs(had) < BETTER) != (abs(has) < BETTER)
        for had, has in pairwise(tale.values)
    ]
    return abs(tale.values[-1]) < BETTER + ROUNDED and not any(turns)


def ended(tale: Tale, text: str) -> bool:
    """How the game ended: the number, the result, what the last position and the tags say."""
    tags, last, final = tale.game.headers, tale.boards[-1], tale.values[-1]
    number = int(re.findall(r"\d+", text)[0])
    result = tags.get("Result", "*")
    names = re.findall("White|Black", text)
    mated = ("Black" if last.turn else "White") if last.is_checkmate() and result == "*" else ""
    winner = {"1-0": "White", "0-1": "Black"}.get(result, mated)
    flagged = "lost on time" in text and names[0] == ("White" if last.turn else "Black")
    true = number == (last if flagged else tale.boards[-2]).fullmove_number
    if "The record ends" in text:
        return true and result == "*"
    if " draw" in text:
        if "Perpetual" in text:
            checks = [one.is_check() for one in tale.boards[-1:-6:-2]]
            checker = "Black" if last.turn else "White"
            return true and all(checks) and last.is_repetition(3) and names == [checker]
        reasons = {
            "repetition": last.is_repetition(3),
            "stalemate": last.is_stalemate(),
            "material": last.is_insufficient_material(),
            "fifty": last.halfmove_clock >= 100,
        }
        if not all(holds for word, holds in reasons.items() if word in text):
            return False
        winning = "White" if final > 0 else "Black"
        return true and result == "1/2-1/2" and all(one == winning for one in names)
    if found := re.search(r", ([a-z ,]+) (?:up|down)", text):
        true = true and said_more(last, winner == "White", found[1])
    if "resigned" in text:
        ended = tags.get("Termination", "").lower()
        true = true and ("resign" in ended or "lichess.org" in tags.get("Site", ""))
        true = true and not last.is_checkmate() and (len(names) == 1 or names[1] == winner)
        if "better position" in text:
            return true and tale.of(winner == "White", -1) < 0 and names[0] != winner
        even = "level" not in text or abs(final) < BETTER + ROUNDED
        return true and even and bool(winner) and names[0] != winner
    if "mated on" in text:
        return true and last.is_checkmate() and names == [winner]
    if "lost on time" in text:
        ahead = "winning position" not in text or tale.of(winner == "Black", -1) >= WON - ROUNDED
        on_time = "time" in tags.get("Termination", "").lower()
        return true and on_time and ahead and bool(winner) and names[0] != winner
    if "level" in text:
        true = true and abs(final) < BETTER + ROUNDED
    if "though" in text:
        true = true and tale.of(winner == "White", -1) < 0 and names[1] != winner
    return true and names[0] == winner


def said_more(board: chess.Board, white: bool, text: str) -> bool:
    """A side has the pieces that are named more, and the other side none."""
    count = {"a": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8}
    said = re.findall(r"(\w+) (pawn|knight|bishop|rook|queen)s?", text)
    named = {kind: count[number] for number, kind in said}
    more = {
        name: len(board.pieces(kind, white)) - len(board.pieces(kind, not white))
        for kind, name in enumerate(chess.PIECE_NAMES[:6])
        if name
    }
    return {name: number for name, number in more.items() if number} == named


def common(tale: Tale, text: str) -> bool:
    """No more moves have something in common than the side has made bad ones."""
    white = text.startswith("Of White")
    bad = sum(bool(one.nags & {2, 4, 6}) for one in tale.game.mainline() if one.turn() != white)
    total, count = map(int, re.findall(r"\d+", text))
    return 2 <= count <= total == bad


def accurate(tale: Tale, text: str) -> bool:
    """Lichess's accuracy of both players, to a per cent: lila's AccuracyPercent."""
    most = 2 / (1 + math.exp(-0.00368208 * 1000)) - 1  # a mate counts as ten pawns
    chances = [50 + 50 * max(-most, min(most, value)) for value in tale.values]
    size = max(2, min(8, (len(chances) - 1) // 10))
    by_side: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for ply, board in enumerate(tale.boards[:-1]):
        start = max(0, ply + 2 - size)
        weight = max(0.5, min(12.0, pstdev(chances[start : start + size])))
        sign = 1 if board.turn else -1
        loss = max(0.0, sign * (chances[ply] - chances[ply + 1]))
        exact = 103.1668 * math.exp(-0.04354 * loss) - 3.1669
        rate = max(0.0, min(100.0, exact + 1)) if loss else 100.0
        by_side[board.turn].append((rate, weight))
    said = [int(one) for one in re.findall(r"(\d+) %", text)]
    found = [
        fmean(
            [
                sum(rate * weight for rate, weight in one) / sum(weight for _, weight in one),
                harmonic_mean([max(rate, 1.0) for rate, _ in one]),
            ]
        )
        for one in (by_side[True], by_side[False])
    ]
    return all(abs(a - b) <= 1.0 for a, b in zip(said, found, strict=True))


def counted(tale: Tale, text: str) -> bool:
    """As many marks as are named."""
    white, marks = text.startswith("White"), {"inaccurac": 6, "mistake": 2, "blunder": 4}
    nodes = [one for one in tale.game.mainline() if one.turn() != white]
    said = {
        word: int(number) for number, word in re.findall(r"(\d+) ([a-z]+?)(?:y|ies|s)?\b", text)
    }
    return all(said.get(w, 0) == sum(m in n.nags for n in nodes) for w, m in marks.items())


SENTENCES: list[tuple[str, str, Callable[[Tale, str], bool]]] = [
    ("story opening", r"^The opening was|^They played", opening_told),
    ("story calm", r"^Until move|was level for \d|little separated", calm),
    ("story outplayed", r"outplayed|found the better moves|Move by move", outplayed),
    ("story swings", r"changed hands", swung),
    ("story gradual", r"bit by bit|ground move by move|took over|in small steps", gradual),
    ("story balance", r"^Neither side|balance never", still),
    ("story accuracy", r"^Accuracy", accurate),
    ("story habit", r"^Of \w+'s \d+ bad moves", common),
    ("story counts", r"^(?:White|Black): \d", counted),
    (
        "story end",
        r"on move \d+|ends with move",
        ended,
    ),
]


JUMP = re.compile(rf"({MOVE}) \((\S+ to \S+)\)")


def story_statements(game: chess.pgn.Game) -> Iterator[tuple[str, bool, str, Turn | None]]:
    """The kind, whether it is true by plain rules, and the text of what a story says.

    What an engine is to be asked about comes with the turning point; an unknown kind is empty.
    """
    tale, last = Tale(game), 0
    for sentence in sentences(game.comment):
        whys = WHY.findall(sentence)
        text = WHY.sub("", sentence).strip()
        found = next(((k, rule) for k, form, rule in SENTENCES if re.search(form, text)), None)
        if found is not None and not re.search(MOVE, text):
            yield found[0], found[1](tale, text), sentence, None
            continue
        if text.startswith("Turning points were"):
            for name, scores in JUMP.findall(text):
                last = tale.moves.index(name) if name in tale.moves else 0
                turn = Turn(tale, last, f"the score from {scores}")
                yield "story turn", name in tale.moves and turned(turn), sentence, turn
            continue
        names = re.findall(MOVE, text)
        if "would have" in text and names:
            yield "story better", kept(Turn(tale, last, text)), sentence, Turn(tale, last, text)
        elif names and names[0] in tale.moves:
            last = tale.moves.index(names[0])
            turn = Turn(tale, last, text)
            yield "story turn", turned(turn), sentence, turn
            for why in whys:
                yield "story why", True, sentence, Turn(tale, last, why)
        else:
            yield "", False, sentence, None
