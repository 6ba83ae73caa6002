"""The story of a game agrees with the values that it is made from."""

import chess
import pytest

from kibitz.comment.english.comment import Comment
from kibitz.comment.english.story import Teller, Told, story_of, told_by
from kibitz.comment.english.story import _outplayed as outplayed
from kibitz.comment.english.story import _was_lost_before as was_lost_before
from kibitz.comment.judge import Label
from kibitz.position.pgn import parse_game


def story(values: list[float], tags: str = '[Result "1-0"]') -> str:
    """The story of a game of queens that go to and fro, with these values in pawns."""
    moves = ["Qd2", "Qd7", "Qd1", "Qd8"]
    text = " ".join(
        f"{moves[ply % 4]} {{ [%eval {value:.2f}] }}" for ply, value in enumerate(values)
    )
    fen = '[FEN "3qk3/pppppp2/8/8/8/8/2PPPPPP/3QK3 w - - 0 1"]'
    fen = fen.replace("pppppp2", "8").replace("2PPPPPP", "8")
    game = parse_game(f'[SetUp "1"]\n{fen}\n{tags}\n\n{{ [%eval 0.00] }} {text} *')
    told = told_by(game.tree)
    assert told is not None
    return story_of(game.tree, told, [Comment()] * len(values))


LEVEL = [0.0] * 24


@pytest.mark.parametrize(
    ("values", "tags", "part"),
    [
        ([*LEVEL, 0.0, 6.0, 6.0], '[Result "1-0"]', "13...Qd7"),
        ([*LEVEL, 0.0, 6.0, 0.0, 0.0], '[Result "1/2-1/2"]', "win"),
        ([*LEVEL], '[Result "1/2-1/2"]', "draw"),
        ([*LEVEL], '[Result "1-0"]\n[Termination "Time forfeit"]', "Black lost on time"),
        ([*LEVEL, 0.0, 6.0], '[Result "0-1"]\n[Termination "Time forfeit"]', "in a winning"),
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
        # A mistake that changed no standing is yet one; a blunder after the turn is no small step.
        ([*LEVEL, -1.2, -1.2, 0.0], '[Result "1/2-1/2"]', "draw", "Neither side made a mistake"),
        ([*LEVEL, -1.2, -1.2, 0.0], '[Result "1/2-1/2"]', "draw", "balance never"),
        ([*LEVEL, 0.0, 2.1, -6.0, 0.0, 0.0], '[Result "1/2-1/2"]', "White", "the worse one"),
        ([*LEVEL, 0.0, 6.0, -6.0, 0.0, 0.0], '[Result "1/2-1/2"]', "White", "the worse game"),
        ([*LEVEL, *[0.0, 2.1, -1.3, -1.4, -2.2]], '[Result "0-1"]', "Black", "in small steps"),
    ],
)
def test_a_story_does_not_play_down_what_is_marked(
    values: list[float], tags: str, told: str, not_told: str
) -> None:
    # One move more, as its number decides which of two forms comes first.
    for text in (story(values, tags), story([0.0, 0.0, *values], tags)):
        assert told in text
        assert not_told not in text


@pytest.mark.parametrize(
    ("moves", "result", "part"),
    [
        ("1. f3 e5 2. g4 Qh4#", "*", "Black mated on move 2."),
        ("1. f3 e5 2. g4 Qf6", "*", "The record ends with move 2."),
        ("1. Nf3 Nf6 2. Ng1 Ng8 3. Nf3 Nf6 4. Ng1 Ng8", "1/2-1/2", "draw by repetition"),
        ("1. Nf3 Nf6 2. Ng1 Ng8", "1/2-1/2", "draw"),
    ],
)
def test_a_story_says_by_what_rule_a_game_ended(moves: str, result: str, part: str) -> None:
    game = parse_game(f'[Result "{result}"]\n\n{moves} {result}')
    plies = sum(1 for _ in game.tree.mainline())
    told = Told((0.0,) * (plies + 1), (Label.NONE,) * plies, None)
    text = story_of(game.tree, told, [Comment()] * plies)
    assert part in text
    assert ("repetition" in text) is ("repetition" in part)


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
    told = Told((0.0, 0.0, 0.3, 0.3, 0.6, 0.6, 0.9), (Label.NONE, mark) * 3, None)
    boards = [chess.Board(fen=chess.STARTING_FEN) for _ in told.values]
    for ply, board in enumerate(boards):
        board.turn = ply % 2 == 0
    assert bool(outplayed(boards, told, [], Teller(6))) is said


def test_a_later_turn_decides_nothing_after_an_untold_blunder() -> None:
    values = (0.0, -0.1, -0.52, -0.55, -0.9, -0.9)
    before = Told(values, (Label.NONE, Label.BLUNDER, *[Label.NONE] * 3), None)
    assert was_lost_before(3, before, [3])
    assert not was_lost_before(3, before, [1, 3])
    assert not was_lost_before(2, before, [2])
