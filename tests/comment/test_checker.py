"""The checker notices what is false, in a story as in a comment."""

import io
from collections import Counter

import chess
import chess.engine
import chess.pgn
import pytest

from kibitz.comment.words.english.mistakes import TURNS
from tests.comment.checker import (
    At,
    Count,
    Judge,
    gains,
    into_pin,
    judged_sacrifice,
    of_what_is_met,
    only_pawns,
    outnumbered,
    read,
    read_game,
    statements,
    takes_that_kind,
    threat,
)
from tests.comment.stories import sentences

STORY = (
    "They played the Italian Game: Blackburne-Kostić Gambit (C50). "
    "The decisive mistake was 4.Nxe5, which allowed mate. 4.O-O would have held the balance. "
    "Black mated on move 7. Accuracy: White 51 %, Black 100 %. White: 1 blunder."
)
GAME = """[Result "0-1"]

{{ [%eval 0.30] {story} }} 1. e4 {{ [%eval 0.3] }} e5 {{ [%eval 0.3] }} 2. Nf3 {{ [%eval 0.3] }}
Nc6 {{ [%eval 0.3] }} 3. Bc4 {{ [%eval 0.3] }} Nd4 {{ [%eval 0.3] }} 4. Nxe5 $4 {{ [%eval -4] }}
Qg5 {{ [%eval -4] }} 5. Nxf7 {{ [%eval -8] {comment} }} Qxg2 {{ [%eval -8] }}
6. Rf1 {{ [%eval -8] }} Qxe4+ {{ [%eval -8] }} 7. Be2 {{ [%eval #-1] }} Nf3# {{ [%eval #-0] }} 0-1
"""


def false_in(story: str, comment: str = "") -> Counter[str]:
    """The kinds of what the checker finds false, of statements that it understands."""
    game = chess.pgn.read_game(io.StringIO(GAME.format(story=story, comment=comment)))
    assert game is not None
    count = Count()
    read_game(game, count, None)
    assert not count.unknown
    return count.false


def test_a_true_story_has_nothing_false() -> None:
    assert not false_in(STORY)


@pytest.mark.parametrize(
    ("part", "other", "kind"),
    [
        ("Italian Game: Blackburne-Kostić Gambit (C50)", "Italian Game (C50)", "story opening"),
        ("4.Nxe5", "5.Nxf7", "story turn"),
        ("4.O-O", "4.Nb5", "story better"),
        ("held the balance", "kept the win", "story better"),
        ("on move 7", "on move 8", "story end"),
        ("Black mated", "White mated", "story end"),
        ("Black 100 %", "Black 90 %", "story accuracy"),
        ("1 blunder", "2 blunders", "story counts"),
    ],
)
def test_what_is_false_in_a_story_is_noticed(part: str, other: str, kind: str) -> None:
    assert kind in false_in(STORY.replace(part, other))


def test_false_comments_are_noticed() -> None:
    assert not false_in(STORY, "This forks the queen on g5 and the rook on h8.")
    assert false_in(STORY, "This forks the queen on d8 and the rook on h8.")["fork"] == 1


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("5...Qxg2 6.Rf1 Qxe4+", 0),
        ("5...Qxg2 6.Rf1 Qa5", 1),
        ("5...Qxg2 7.Rf1 Qxe4+", 1),
        ("5...Qxg2 6.Rf1 6.Qxe4+", 1),
        ("5...Qxg2 6.Rf1 Qxe5", 1),
    ],
)
def test_every_move_of_a_line_is_tried(line: str, wrong: int) -> None:
    found = false_in(STORY, f"After {line} the score is \u22128.00.")
    assert found["line"] == wrong
    assert not found["score"]


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("The trouble is 5...Qxg2 6.Rf1 Qxe4+, which forks the king and the pawn on c2.", ""),
        ("The trouble is 5...Qxg2 6.Rf1 Qxe4+, which forks the king and the pawn on h2.", "fork"),
        (
            "The trouble is 5...Qxg2 6.Rf1 Qxe4+: the last move hits the king and the pawn on b2"
            " at once.",
            "fork",
        ),
        ("This gains time on the queen on f6: 5...Qf6 6.e5.", ""),
        ("This gains time on the queen on f6: 5...Qf6 6.d3.", "time"),
        ("This drives Black's king out: 5...Ke7 6.d3 Kf6.", ""),
        ("This drives Black's king out: 5...Ke7 6.d3.", "king out"),
        ("This brings a rook to f1: 5...Qxg2 6.Rf1 d6.", ""),
        ("This brings a rook to g1: 5...Qxg2 6.Rf1 d6.", "rook in"),
        ("The line from the bishop on c8 to the pawn on d2 is open now.", "line open"),
        ("The knight on f7 no longer guards the bishop on c4.", ""),
        ("The knight on f7 no longer guards the pawn on d2.", "let go"),
        ("This guards the pawn on e4.", "covers"),
        ("This meets 5...Kxf7 with 6.Bc4.", "meets"),
        ("This meets 5...Qxg2 with 6.Rf1.", ""),
        ("This keeps the queen off g2: 5...Qxg2 loses the queen to 6.Rf1.", ""),
        ("This keeps the king off f7: 5...Kxf7 loses the king to 6.Bc4.", "meets"),
        ("This keeps the knight off f3: 5...Nf3+ loses the knight to 6.gxf3.", ""),
        (
            "This keeps the knight off e6: 5...Ne6 loses the knight to 6.Bxe6.",
            "meets",
        ),  # an exchange
        ("This meets 5...Qxg2, which threatens 6...Qxh1#, with 6.Rf1.", "threat"),
        ("This takes aim at the pawn on e4.", "aims"),
        ("This avoids a trade of knights.", "trade avoided"),
        ("This prepares to castle.", "castling next"),
        ("This heads for a8.", "goes on"),
        ("The knight on f7 no longer blocks the pawn on g7.", "blockade"),
        ("This gives up the blockade of the pawn on g7.", "blockade"),
        ("The f-file beside White's own king is open now.", "own king"),
        ("The pawn on d2 is pinned and cannot take back on g2.", "pinned guard"),
        ("The knight on f7 now stands between the bishop on c4 and the pawn on e4.", "shut off"),
        ("This gets a knight to the outpost c3: 5...Qxg2 6.Rf1 d6.", "knight in"),
        ("This leaves only White with both bishops: 5...Qxg2 6.Rf1 d6.", "bishop pair"),
        ("This gives a knight for only a pawn: 5...Qxg2 6.d3.", "given"),
        ("The knight on f7 is pinned to the king there.", "into a pin"),
        ("This gives up the guard of d3.", ""),
        ("This gives up the guard of a8.", "square let go"),
        ("This takes the square d6 from the bishop on f8.", ""),
        ("This takes c5 away from the bishop on f8.", "square taken"),
    ],
)
def test_what_is_said_of_a_line_is_tried_at_its_end(said: str, kind: str) -> None:
    assert [*false_in(STORY, said)] == ([kind] if kind else [])


def test_an_abbreviation_does_not_end_a_sentence() -> None:
    name = "Pirc Defense: Classical, St. Petersburg Variation (B08). White won on move 30."
    assert len(sentences(name)) == 2


def test_a_promotion_ends_a_sentence() -> None:
    assert sentences("This queens: 72.Rb3+ f1=Q. 70.Kf2 was possible.") == [
        "This queens: 72.Rb3+ f1=Q",
        "70.Kf2 was possible",
    ]


def test_a_pawn_opens_the_line_behind_it_as_it_takes() -> None:
    """Pawn, knight, both rooks and then the bishop attack d4, which four guard."""
    fen = "3r2k1/3r1pp1/1pn1pb1p/1q6/3P4/2B1QN1P/1P3PP1/R2R2K1 b - - 0 26"
    board = chess.Board(fen)
    after = board.copy()
    after.push_uci("e6e5")
    said = "attacks the pawn on d4, which is not guarded often enough"
    assert outnumbered(At(board, after.peek(), after), said)
    after.set_piece_at(chess.E5, None)
    after.set_piece_at(chess.H4, chess.Piece(chess.PAWN, chess.BLACK))
    assert not outnumbered(At(board, chess.Move.from_uci("h5h4"), after), said)


def test_what_others_wrote_is_not_read() -> None:
    ours = "A move. [%eval 0.30] [%cal Gg1f3] Pirc Defense (B00). White won on move 30."
    assert sentences(ours) == ["Pirc Defense (B00)", "White won on move 30"]


class Fixed(Judge):
    """A judge by whom one reply is worth so many centipawns, and every other nothing."""

    def __init__(self, reply: str, worth: int) -> None:
        self.reply, self.worth = chess.Move.from_uci(reply), worth

    def lines(
        self, board: chess.Board, nodes: int, move: chess.Move | None = None, count: int = 1
    ) -> list[chess.engine.InfoDict]:
        """The best replies by these values."""
        assert nodes > 0
        asked = [move] if move else list(board.legal_moves)
        worth = {one: self.worth if one == self.reply else 0 for one in asked}
        best = sorted(worth, key=lambda one: -worth[one])[:count]
        found: list[chess.engine.InfoDict] = []
        for one in best:
            score = chess.engine.PovScore(chess.engine.Cp(worth[one]), board.turn)
            found.append({"pv": [one], "score": score})
        return found


@pytest.mark.parametrize(
    ("moves", "true"),
    [("Bxc6+ bxc6 Rxa7", True), ("Bxc6+ Ke7 Kd1 Kd8 Kd2 bxc6 Rxa7", False)],
)
def test_what_was_taken_back_at_once_was_never_had(moves: str, true: bool) -> None:
    board = chess.Board("4k3/pp6/2n5/1B6/8/8/8/R3K3 w - - 0 1")
    for move in moves.split():
        board.push_san(move)
    before = board.copy()
    at = At(before, before.pop(), board)
    assert gains(at, Fixed("c6c5", 10), 1) == true


# New York 1956: 17...Be6 offers the queen.
OFFER = "r3r1k1/pp3pbp/1qp3p1/2B5/2BP2b1/Q1n2N2/P4PPP/3R1K1R b - - 3 17"


THREAT = """[FEN "1rbq1k2/5p2/1b5R/pp2r3/3p1N2/1Q4P1/PP2PP1P/2R3K1 b - - 2 27"]
[SetUp "1"]

27... Ke7 {This allows 28.Rcc6, which threatens 29.Ng6+, and that COMMENT.} *
"""


@pytest.mark.parametrize(
    ("does", "false"),
    [
        ("gives check", []),
        ("attacks both the king and the rook on e5", []),
        ("attacks both the king and the rook on e7", ["fork", "piece"]),
        ("takes the rook on e5", ["takes"]),
    ],
)
def test_what_a_threat_does_is_read_by_itself(does: str, false: list[str]) -> None:
    game = chess.pgn.read_game(io.StringIO(THREAT.replace("COMMENT", does)))
    assert game is not None
    count = Count()
    read(next(iter(game.mainline())), count, None)
    assert count.made["threat"] == 1
    assert [*count.false] == false


@pytest.mark.parametrize(("accepting", "true"), [(-200, True), (60, False)])
def test_an_offer_is_judged_by_its_acceptance(accepting: int, true: bool) -> None:
    before = chess.Board(OFFER)
    after = before.copy()
    move = after.push_san("Be6")
    text = "This offers the queen for a bishop, and White had better not accept it."
    judge = Fixed("c5b6", accepting)
    assert judged_sacrifice(judge, At(before, move, after), text, text, 1, 0.0) == true


@pytest.mark.parametrize("phrase", [phrase for phrases in TURNS.values() for phrase in phrases])
def test_the_words_for_a_turn_of_the_game_are_understood(phrase: str) -> None:
    false_in(STORY, phrase.format(mover="White", other="Black"))


@pytest.mark.parametrize("words", ["to be preferred to 5.Bxf7+", "better than 5.Bxf7+, the next"])
def test_the_move_made_is_the_one_that_is_preferred(words: str) -> None:
    game = chess.pgn.read_game(io.StringIO(GAME.format(story="", comment=f"5.Nxf7 is {words}.")))
    assert game is not None
    node = next(node for node in game.mainline() if node.san() == "Nxf7")
    better = [at for _, at, clause in statements(node) if clause == "#better"]
    pairs = [(at.before.san(at.move), at.before.san(at.played)) for at in better if at.played]
    assert pairs == [("Nxf7", "Bxf7+")]


@pytest.mark.parametrize(
    ("line", "true"), [("Rxc6+ Kxc6 35.h4", True), ("Rxc6+ Kb7 35.h4", False), ("h4 g5", False)]
)
def test_a_pawn_ending_is_one_after_what_takes_back(line: str, true: bool) -> None:
    board = chess.Board("8/2r3p1/1k1R1pp1/1p6/pP6/P7/1KP2PPP/8 b - - 2 33")
    after = board.copy()
    after.push_uci("c7c6")
    at = At(board, after.peek(), after)
    assert only_pawns(at, f"The pawn ending is lost: 34.{line}") is true


@pytest.mark.parametrize(
    ("said", "true"),
    [
        ("wins a bishop for two pawns", False),
        ("wins a knight for two pawns", True),
        ("wins the exchange", True),
        ("wins a bishop: 20...hxg5", True),
    ],
)
def test_what_is_won_is_of_the_kind_that_is_taken(said: str, true: bool) -> None:
    board = chess.Board("r1bq1k2/pp2p1b1/5r1p/3p2NP/3p1P2/P2Q4/1PPN2P1/2KR3R b - - 0 20")
    after = board.copy()
    after.push_san("hxg5")
    assert takes_that_kind(At(board, after.peek(), after), said) is true


@pytest.mark.parametrize(("rook", "mates"), [("5r2", True), ("5n2", False)])
def test_a_threat_of_what_is_met_is_that_of_the_reply(rook: str, mates: bool) -> None:
    board = chess.Board(f"4r2k/pp4pp/{rook}/4n3/2P2p2/q1P2Q2/PR2B1PP/2KR4 w - - 6 21")
    after = board.copy()
    after.push_san("Qd5")
    reply = "21...Rb6" if mates else "21...Nc6"
    text = f"it meets {reply}, which threatens 22...Qxb2#, with 22.Qd2"
    assert threat(At(board, after.peek(), after), text) is mates
    met_there = of_what_is_met(At(board, after.peek(), after), text)
    assert met_there is not None
    assert met_there[0].move.uci() == ("f6b6" if mates else "e5c6")


@pytest.mark.parametrize(("to", "true"), [("the king", True), ("the rook on a8", False)])
def test_a_piece_at_the_beginning_of_a_sentence_is_read(to: str, true: bool) -> None:
    board = chess.Board("r1b1k1nr/pppp2pp/8/8/8/2P1RN2/P4PPP/R5K1 b kq - 0 16")
    after = board.copy()
    after.push_san("Ne7")
    text = f"The knight on e7 is pinned to {to} there"
    assert into_pin(At(board, after.peek(), after), text) is true
