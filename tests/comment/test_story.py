"""The story of a game agrees with the values that it is made from."""

import io
import lzma
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import chess
import chess.pgn
import pytest

from kibitz.comment import force
from kibitz.comment.claims.claim import Claim, Step
from kibitz.comment.claims.faults import AllowsMate, faults
from kibitz.comment.claims.lines.aftermath import PicksUp
from kibitz.comment.claims.lines.outcomes import ComesOut, MatesLater
from kibitz.comment.claims.merits import Wins
from kibitz.comment.claims.tactical import TakesLoose
from kibitz.comment.facts import Scene, Unit, played
from kibitz.comment.judge import BAD, Label
from kibitz.comment.words.speaker import Comment
from kibitz.comment.words.story import Figures, Teller, decisive, figures_in, story_of
from kibitz.comment.words.story import _outplayed as outplayed
from kibitz.position.pgn import parse_game
from tests.comment.stories import BETTER, ROUNDED, WON, Turn, story_statements


def story(values: list[float], tags: str = '[Result "1-0"]') -> str:
    """The story of a game of queens that go to and fro, with these values in pawns."""
    moves = ["Qd2", "Qd7", "Qd1", "Qd8"]
    text = " ".join(
        f"{moves[ply % 4]} {{ [%eval {value:.2f}] }}" for ply, value in enumerate(values)
    )
    fen = '[FEN "3qk3/pppppp2/8/8/8/8/2PPPPPP/3QK3 w - - 0 1"]'
    fen = fen.replace("pppppp2", "8").replace("2PPPPPP", "8")
    game = parse_game(f'[SetUp "1"]\n{fen}\n{tags}\n\n{{ [%eval 0.00] }} {text} *')
    told = figures_in(game.tree)
    assert told is not None
    return story_of(game.tree, told, [Comment()] * len(values))


LEVEL = [0.0] * 24


@pytest.mark.parametrize(
    ("values", "tags", "part"),
    [
        ([*LEVEL, 0.0, 6.0, 6.0], '[Result "1-0"]', "13...Qd7"),
        ([*LEVEL, 0.0, 6.0, 0.0, 0.0], '[Result "1/2-1/2"]', "win"),
        ([*LEVEL], '[Result "1/2-1/2"]', "draw"),
        (
            [*LEVEL],
            '[Result "1-0"]\n[Termination "Time forfeit"]',
            "Black lost on time on move 12.",
        ),
        ([*LEVEL], '[Result "1-0"]\n[Termination "Black resigned"]', "that looks level"),
        ([*LEVEL, 0.0, -0.3], '[Result "1-0"]\n[Termination "Black resigned"]', "looks level"),
        (
            *([*LEVEL, 0.0, 6.0], '[Result "0-1"]\n[Termination "Time forfeit"]'),
            "White lost on time on move 14, in a winning position.",
        ),
        ([*LEVEL, 0.0, 6.0], '[Result "1/2-1/2"]', "though White was winning"),
        ([*LEVEL, 0.0, 6.0], '[Result "0-1"]', "though White was better"),
        ([0.2 * ply for ply in range(30)], '[Result "1-0"]', "White"),
    ],
)
def test_a_story_names_what_happened(values: list[float], tags: str, part: str) -> None:
    text = story(values, tags)
    assert part in text
    assert ",." not in text
    assert "{" not in text


@pytest.mark.parametrize(
    ("values", "tags", "told", "not_told"),
    [
        # A pawn's worth is a better game, and so is what a mistake leaves.
        ([*LEVEL, 1.2, 1.2, -6.0], '[Result "0-1"]', "Black", "neither side was"),
        ([*LEVEL[:9], 0.9, -0.6, *LEVEL, -6.0], '[Result "0-1"]', "Black", "neither side was"),
        # A mistake that changed no standing is yet one; a blunder after the turn is no small step.
        ([*LEVEL, -1.2, -1.2, 0.0], '[Result "1/2-1/2"]', "draw", "Neither side made a mistake"),
        ([*LEVEL, -1.2, -1.2, 0.0], '[Result "1/2-1/2"]', "draw", "balance never"),
        ([*LEVEL, 0.0, 2.1, -6.0, 0.0, 0.0], '[Result "1/2-1/2"]', "White", "the worse one"),
        ([*LEVEL, 0.0, 6.0, -6.0, 0.0, 0.0], '[Result "1/2-1/2"]', "White", "the worse game"),
        (
            [*LEVEL, *[0.0, 6.0, 0.0, 0.0, -1.3, -1.4, -2.2]],
            '[Result "0-1"]',
            "Black",
            "in small steps",
        ),
        (
            [*LEVEL, 0.0, -1.31],
            '[Result "1-0"]\n[Termination "Black resigned"]',
            "resigned",
            "level",
        ),
    ],
)
def test_a_story_does_not_play_down_what_is_marked(
    values: list[float], tags: str, told: str, not_told: str
) -> None:
    # One move more, as its number decides which of two forms comes first.
    for text in (story(values, tags), story([0.0, 0.0, *values], tags)):
        assert told in text
        assert not_told not in text


def test_turning_points_that_are_only_scores_are_one_sentence() -> None:
    swings = [0.76, 3.08, -1.18, 2.77, 2.77]
    text = story([*LEVEL, *swings])
    listed = (
        "Turning points were 13...Qd7 (+0.76 to +3.08), 14.Qd1 (+3.08 to \N{MINUS SIGN}1.18)"
        " and 14...Qd8 (\N{MINUS SIGN}1.18 to +2.77)."
    )
    assert listed in text
    assert "the score" not in text
    assert "Turning points" not in story([*LEVEL, *swings[:3], -1.18])


STALEMATE = (  # Loyd's
    "1. e3 a5 2. Qh5 Ra6 3. Qxa5 h5 4. h4 Rah6 5. Qxc7 f6 6. Qxd7+ Kf7 7. Qxb7 Qd3 8. Qxb8 Qh7"
    " 9. Qxc8 Kg6 10. Qe6"
)


@pytest.mark.parametrize(
    ("moves", "result", "part"),
    [
        ("1. f3 e5 2. g4 Qh4#", "*", "Black mated on move 2."),
        ("1. f3 e5 2. g4 Qh4#", "1-0", "Black mated on move 2, though the game is given as 1-0."),
        (STALEMATE, "0-1", "Stalemate ended it on move 10, though the game is given as 0-1."),
        (STALEMATE, "1/2-1/2", "Stalemate on move 10 made it a draw."),
        ("1. f3 e5 2. g4 Qf6", "*", "The record ends with move 2."),
        ("1. Nf3 Nf6 2. Ng1 Ng8 3. Nf3 Nf6 4. Ng1 Ng8", "1/2-1/2", "draw by repetition"),
        ("1. Nf3 Nf6 2. Ng1 Ng8", "1/2-1/2", "draw"),
    ],
)
def test_a_story_says_by_what_rule_a_game_ended(moves: str, result: str, part: str) -> None:
    game = parse_game(f'[Result "{result}"]\n\n{moves} {result}')
    plies = sum(1 for _ in game.tree.mainline())
    told = Figures((0.0,) * (plies + 1), (Label.NONE,) * plies, None)
    text = story_of(game.tree, told, [Comment()] * plies)
    assert part in text
    assert ("repetition" in text) is ("repetition" in part)


@pytest.mark.parametrize(("first", "said"), [(0.0, True), (-0.8, False)])
def test_nobody_gets_the_upper_hand_who_had_it_before_the_first_move(
    first: float, said: bool
) -> None:
    game = parse_game(f'[Result "0-1"]\n\n{"1. Nf3 Nf6 2. Ng1 Ng8 " * 7} 0-1')
    values = tuple(first + ply / 28 * (-0.8 - first) for ply in range(29))
    text = story_of(game.tree, Figures(values, (Label.NONE,) * 28, None), [Comment()] * 28)
    assert ("bit by bit" in text or "no one mistake" in text) is said


@pytest.mark.parametrize(("slip", "said"), [(0.0, True), (-1.0, False)])
def test_no_mistake_is_denied_that_is_counted(slip: float, said: bool) -> None:
    values = [0.2 * ply for ply in range(30)]
    values[10] += 3 * slip
    text = story(values)
    assert ("bit by bit" in text or "no one mistake" in text) is said
    assert ("mistake" in text.partition("Accuracy")[2] or "blunder" in text) is not said


@pytest.mark.parametrize("value", [6.0, -6.0])
def test_a_game_of_one_move_that_turns_it_has_a_story(value: float) -> None:
    assert story([value], '[Result "*"]')


@pytest.mark.parametrize(("mark", "said"), [(Label.BLUNDER, False), (Label.NONE, True)])
def test_blunders_are_no_small_steps(mark: Label, said: bool) -> None:
    told = Figures((0.0, 0.0, 0.3, 0.3, 0.6, 0.6, 0.9), (Label.NONE, mark) * 3, None)
    boards = [chess.Board(fen=chess.STARTING_FEN) for _ in told.values]
    for ply, board in enumerate(boards):
        board.turn = ply % 2 == 0
    assert bool(outplayed(boards, told, [], Teller(6))) is said


@pytest.mark.parametrize(
    ("values", "edge", "decides"),
    [
        # White's second mistake changes nothing any more, or loses what Black had given back.
        ((0.0, 0.1, -0.7, -0.7, -0.9, -0.9), None, 1),
        ((0.0, 0.1, -0.7, -0.3, -0.9, -0.9), None, 3),
        # White was worse for some moves before the one that lost.
        ((0.0, 0.0, -0.28, -0.28, -0.28, -0.3, -0.8, -0.9), 1, 5),
        ((0.0, 0.0, -0.28, -0.3, -0.8, -0.9), None, 3),
        # Black was better before, and for a move only a little.
        ((0.0, -0.3, -0.3, -0.2, -0.3, -0.3, -0.8, -0.9), None, 5),
        # It was level again in between.
        ((0.0, 0.1, -0.7, 0.0, -0.9, -0.9), None, 3),
    ],
)
def test_what_decides_is_the_greatest_mistake_that_was_not_given_back(
    values: tuple[float, ...], edge: int | None, decides: int
) -> None:
    tree = parse_game('[Result "0-1"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bc4 0-1').tree
    marks = tuple(Label.BLUNDER if had - has > 0.3 else Label.NONE for had, has in pairwise(values))
    black = parse_game('[FEN "7k/8/8/8/8/8/8/K7 b - - 0 1"]\n\n1... Kg8 0-1').tree
    black.headers["Result"] = "0-1"
    told = Figures(values, marks, None)
    assert decisive(black, told) == (edge, decides)
    black.headers["Result"] = "*"  # of an open game nothing has been decided
    tree.headers["Result"] = "1-0"
    assert decisive(black, told) == decisive(tree, told) == (None, None)


@pytest.mark.parametrize(
    ("moves", "tags", "part"),
    [
        ("1. e4 e6 2. Ba6 Nxa6 3. d3 d6", '[Termination "White resigned"]', "White resigned on"),
        ("1. e4 e6 2. Ba6 Nxa6 3. d3 d6", "", "Black won on move 3, a bishop up"),
        ("1. e4 e6 2. Ba6 d6 3. d3 Nf6", "", "move 3."),
    ],
)
def test_a_won_game_says_by_how_much(moves: str, tags: str, part: str) -> None:
    game = parse_game(f'{tags}[Result "0-1"]\n\n{moves} 0-1')
    told = Figures((0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.9), (Label.NONE,) * 6, None)
    text = story_of(game.tree, told, [Comment()] * 6)
    assert part in text
    assert ("bishop" in text) is ("Nxa6" in moves)


@pytest.mark.parametrize(("value", "end"), [(-0.7, ", a pawn up"), (-0.9, "")])
def test_a_pawn_is_not_what_decides_a_game_that_is_as_good_as_won(value: float, end: str) -> None:
    game = parse_game('[Result "0-1"]\n\n1. e4 d5 2. a3 dxe4 3. h3 a6 0-1')
    told = Figures((0.0,) * 6 + (value,), (Label.NONE,) * 6, None)
    assert f"Black won on move 3{end}." in story_of(game.tree, told, [Comment()] * 6)


@pytest.mark.parametrize(
    ("value", "part"),
    [
        (-0.9, "Black won on move 3."),
        (0.05, "that looks level"),
        (0.18, "from a position that was a little worse"),
        (0.4, "though White was better in the last position"),
    ],
)
def test_who_won_without_standing_better_is_said_to_have_done_so(value: float, part: str) -> None:
    game = parse_game('[Result "0-1"]\n\n1. e4 e6 2. d4 d6 3. c3 Nf6 0-1')
    told = Figures((0.0, 0.0, 0.0, 0.0, 0.0, 0.0, value), (Label.NONE,) * 6, None)
    assert part in story_of(game.tree, told, [Comment()] * 6)


@pytest.mark.parametrize(("count", "said"), [(2, True), (1, False)])
def test_a_habit_is_what_more_than_one_bad_move_has_in_common(count: int, said: bool) -> None:
    game = parse_game("1. e4 e5 2. Nf3 Nc6 3. Bc4 Nf6 *")
    values = (0.0, -0.4, -0.1, -0.5, -0.2, -0.2, -0.2)
    marks = (Label.BLUNDER, Label.NONE, Label.BLUNDER, *[Label.NONE] * 3)
    bad = Comment(claims=(AllowsMate(2, Step(chess.Move.null(), "")),))
    comments = [bad if ply in (0, 2)[:count] else Comment() for ply in range(6)]
    text = story_of(game.tree, Figures(values, marks, None), comments)
    assert ("Of White's 2 bad moves 2 allowed a mate" in text) is said


@pytest.mark.parametrize(("then", "lost"), [(-0.9, True), (0.0, False)])
def test_nothing_was_lost_that_the_reply_did_not_take(then: float, lost: bool) -> None:
    game = parse_game("1. e4 e5 2. Nf3 Nc6 *")
    marks = (Label.BLUNDER, Label.NONE if lost else Label.BLUNDER, Label.NONE, Label.NONE)
    bad = Comment(claims=(), reply=(Wins((chess.ROOK,), ()),))
    figures = Figures((0.0, -0.9, then, then, then), marks, None)
    text = story_of(game.tree, figures, [bad, *[Comment()] * 3])
    assert "1.e4" in text
    assert ("which lost a rook" in text) is lost


@pytest.mark.parametrize(
    ("reply", "better", "why"),
    [
        (Wins((chess.PAWN,), ()), None, ""),  # for which alone no game turns
        (Wins((chess.ROOK,), (chess.KNIGHT,)), None, ""),  # something is given for it
        (ComesOut((chess.ROOK,), (), main=True), None, ""),  # other answers may keep it
        (ComesOut((chess.BISHOP,), ()), None, ", which lost a bishop"),
        (PicksUp(Unit(chess.KNIGHT, chess.F3, True)), None, ", which lost a knight"),
        (TakesLoose(Unit(chess.QUEEN, chess.D1, True)), None, ", which lost a queen"),
        (MatesLater(9), None, ", which allowed mate"),
        (None, MatesLater(9), ", which missed a mate"),
        (None, Wins((chess.ROOK,), ()), ", which missed the win of a rook"),
        (Wins((chess.KNIGHT,), ()), Wins((chess.ROOK,), ()), ", which missed the win of a rook"),
        (Wins((chess.ROOK,), ()), Wins((chess.KNIGHT,), ()), ", which lost a rook"),
    ],
)
def test_a_story_says_why_the_game_turned(
    reply: Claim | None, better: Claim | None, why: str
) -> None:
    game = parse_game("1. e4 e5 2. Nf3 Nc6 *")
    marks = (Label.BLUNDER, Label.NONE, Label.NONE, Label.NONE)
    claims = (() if each is None else (each,) for each in (better, reply))
    bad = Comment("", (), *claims)
    for had in (0.5, 0.0):
        figures = Figures((had, -0.9, -0.9, -0.9, -0.9), marks, None)
        text = story_of(game.tree, figures, [bad, *[Comment()] * 3])
        back = had == 0.0 and "the win of" in why  # what only makes the game level is won back
        assert (why in text) if why and not back else (", which " not in text)


@pytest.mark.parametrize(("mark", "said"), [(Label.BLUNDER, True), (Label.NONE, False)])
def test_what_was_just_let_go_was_missed_and_not_won_back(mark: Label, said: bool) -> None:
    """The game is level where the win of a rook is missed, as it was being lost before."""
    game = parse_game("1. e4 e5 2. Nf3 Nc6 *")
    missed = Comment("", (), (Wins((chess.ROOK,), ()),), ())
    figures = Figures((0.9, 0.0, 0.9, 0.9, 0.9), (mark, Label.BLUNDER, *[Label.NONE] * 2), None)
    text = story_of(game.tree, figures, [Comment(), missed, *[Comment()] * 2])
    assert (", which missed the win of a rook" in text) is said


# --- many games -----------------------------------------------------------------------------------


WITH_CAUSES = 4  # every so many games with the causes of its mistakes, which take time


def games() -> list[chess.pgn.Game]:
    """Lichess's games with values of quick searches."""
    packed = Path(__file__).parent.joinpath("data", "games.pgn.xz").read_bytes()
    file, found = io.StringIO(lzma.decompress(packed).decode()), []
    while (game := chess.pgn.read_game(file)) is not None:
        found.append(game)
    return found


def causes(board: chess.Board, move: chess.Move) -> Comment:
    """What the search of material alone says against a move."""
    after = played(board, move)
    best = force.best(after)
    line = () if best is None else (best,)
    claims = faults(Scene(board, move, line), ())
    return Comment(claims=tuple(claims[:1]))


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_no_story_contradicts_a_mark_or_the_result(every: int) -> None:
    told_of, kinds = 0, set()
    for number, game in enumerate(games()[::every]):
        told, nodes = figures_in(game), list(game.mainline())
        assert told is not None
        comments = []
        for node, mark in zip(nodes, told.labels, strict=True):
            node.nags |= {int(mark)} - {0}
            asked = mark in BAD and number % WITH_CAUSES == 0
            comments.append(causes(node.parent.board(), node.move) if asked else Comment())
        game.comment = f"{game.comment} {story_of(game, told, comments)}"
        for kind, true, sentence, turn in story_statements(game):
            assert kind, sentence
            assert true, (sentence, game)
            assert turn is None or not contradicts(turn, told.labels), (sentence, game)
            assert not plays_down(sentence, told.labels), (sentence, game)
            kinds.add(kind)
        told_of += 1
    assert told_of >= 200 // every
    assert {"story turn", "story habit", "story end", "story counts"} <= kinds


def contradicts(turn: Turn, labels: Sequence[Label]) -> bool:
    """Whether a move that is said to decide was none, or came after one that did."""
    if not re.search("decided the game|decisive", turn.text):
        return False
    other = not turn.mover
    later = [turn.tale.of(other, ply) for ply in range(turn.ply + 1, len(turn.tale.values))]
    earlier = range(turn.ply - 2, -1, -2)
    lost = next((ply for ply in earlier if labels[ply] is Label.BLUNDER), None)
    stayed = lost is not None and min(turn.tale.values_of(other)[lost + 1 : turn.ply + 1]) >= WON
    return labels[turn.ply] not in BAD or min(later) < BETTER - ROUNDED or stayed


def plays_down(sentence: str, labels: Sequence[Label]) -> bool:
    """Whether a sentence says that nobody made a mistake, and somebody did."""
    denied = re.search("No single move|no one mistake|Neither side made|never shifted", sentence)
    return bool(denied) and bool({*labels} & {*BAD})


@pytest.mark.parametrize(("after", "marked"), [(-0.24, False), (-2.5, True)])
def test_a_move_with_a_name_is_no_inaccuracy(after: float, marked: bool) -> None:
    """1.b3 is an opening; a mistake is one, whatever it is called."""
    text = f"{{ [%eval 0.40] }} 1. b3 {{ [%eval {after}] }} e5 {{ [%eval {after}] }} *"
    told = figures_in(parse_game(text).tree)
    assert told is not None
    assert (told.labels[0] is not Label.NONE) is marked
