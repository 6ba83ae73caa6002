"""What is chosen to be said of bad moves and of good ones."""

from __future__ import annotations

import random
from dataclasses import replace

import chess
import pytest

from kibitz.comment.analysis import LONGEST_LOOK, Analysis
from kibitz.comment.annotate import move_facts
from kibitz.comment.claims import faults as fault
from kibitz.comment.claims import grades, positional
from kibitz.comment.claims import merits as merit
from kibitz.comment.claims import tactical as tactic
from kibitz.comment.claims.claim import Claim, Step, emptied, is_forced, is_well_met, takes_for_good
from kibitz.comment.claims.features import Feature, chases
from kibitz.comment.claims.ideas import Fails, quiet_killer
from kibitz.comment.claims.lines import aftermath, outcomes, outlook
from kibitz.comment.claims.motifs import pays_off
from kibitz.comment.claims.sacrifices import Aim, GivesUp
from kibitz.comment.claims.structure import attacks_loose, attacks_two, guards
from kibitz.comment.claims.tempo import opposition
from kibitz.comment.facts import Scene, exposure
from kibitz.comment.judge import Evaluation
from kibitz.comment.select.contrast import (
    as_good,
    as_good_reply,
    ends_apart,
    falls_anyway,
    falls_too,
    is_guard_of_nothing,
    is_incidental,
    is_missed,
    is_shared,
    is_spent,
    is_the_cost,
    is_there_too,
    is_too_small,
    moves_of,
    taken,
    takes_later,
    was_threatened,
)
from kibitz.comment.select.criticism import (
    _and_main,
    _opened,
    is_there_anyway,
    telling,
    too_little,
    wins_more,
)
from kibitz.comment.select.criticism import _is_chaff as is_chaff
from kibitz.comment.select.further import (
    how_it_wins,
    intended,
    intends,
    later_in_line,
    met,
    on_the_board,
    with_threat,
)
from kibitz.comment.select.kinds import brief, is_declined, is_strong, pays, threatens_little
from kibitz.comment.select.rank import Memory, is_confirmed, kind_of, ranked, threatens_mate
from kibitz.comment.select.reasons import as_sure, plain_threats
from kibitz.comment.select.selection import (
    Selection,
    Tone,
    answer_works_too,
    remember,
    select,
)
from kibitz.comment.select.selection import _with_point as with_point
from kibitz.comment.words.slots import claim_key, claim_slots
from kibitz.comment.words.speaker import Speaker
from kibitz.search.report import Score
from tests.comment.looks import seen_by
from tests.comment.test_proofs import QUIET, SHOT, scene, seen, step, unit, where_legal


def chosen(fen: str, line: str, had: Evaluation, has: Evaluation, looks: Analysis) -> Selection:
    """What is said of the first move of a line."""
    made = scene(fen, line, had, has)
    return select(
        Scene(made.before, made.move, made.follow, looks, had=had, has=has), Memory(), "club"
    )


def always(value: float) -> Analysis:
    """Looks that see the same value everywhere."""
    return seen_by(lambda _board, _times: seen(value))


def after(board: chess.Board, *moves: str) -> Analysis:
    """Looks that expect some moves in a position, and nothing elsewhere."""
    return seen_by(lambda there, _times: seen(-0.5, *(moves if there.fen() == board.fen() else ())))


def along(fen: str, line: str, value: float) -> Analysis:
    """Looks that expect the rest of a line, and see its value for White everywhere."""
    moves, expected, board = ucis(fen, line), dict[str, list[str]](), chess.Board(fen)
    for at, move in enumerate(moves):
        board.push_uci(move)
        expected[board.fen()] = moves[at + 1 :]
    return seen_by(lambda at, _: seen(value if at.turn else -value, *expected.get(at.fen(), ())))


def kinds(claims: tuple[Claim, ...]) -> list[str]:
    return [*map(kind_of, claims)]


PAWN_ENDING = "8/p1p4p/2p1kp2/4n3/2P1K3/1PB5/P5PP/8 b - - 7 29"


@pytest.mark.parametrize(("value", "won"), [(-0.7, True), (-0.3, False)])
def test_a_won_pawn_ending_is_the_answer_where_a_long_look_agrees(value: float, won: bool) -> None:
    had = seen(-0.25, "f6f5", "e4f4", "e5d3")
    has = seen(0.62, "c3e5", "f6e5", "g2g4", "e6f6", "h2h4", "c7c5")
    told = chosen(PAWN_ENDING, "c5 Bxe5 fxe5 g4 Kf6 h4", had, has, always(value))
    assert ("simplifies" in kinds(told.reply)) is won


def test_a_missed_pawn_ending_that_is_won_is_named() -> None:
    """Other lines into pawn endings are not, as they hang on a tempo."""
    fen = (
        PAWN_ENDING.replace("2p1kp2", "4kp2").replace("4n3", "2p1n3").replace("b - - 7", "w - - 0")
    )
    line = ("c3e5", "f6e5", "g2g4", "e6f6", "h2h4", "c7c6")
    for value, named in ((-0.7, True), (-0.3, False)):
        told = chosen(fen, "h3 f5+ Kf4 Ng6+", seen(0.62, *line), seen(0.2, "f6f5"), always(value))
        better = [claim for claim in told.claims if isinstance(claim, fault.Better)]
        assert [kinds(claim.why) for claim in better] == ([["simplifies"]] if named else [])


@pytest.mark.parametrize(("made", "shared"), [("b5", True), ("h3", False)])
def test_what_both_moves_attack_is_no_reason_for_one_of_them(made: str, shared: bool) -> None:
    fen = "r2qk2r/pppbb3/2npp3/5p2/PP1P2p1/2PB1N2/3N1PPP/R2QR1K1 w kq - 0 14"
    had, has = seen(0.1, "d4d5", "g4f3", "d5c6"), seen(0.2, "g4f3")
    one = scene(fen, f"{made} gxf3", had, has)
    threat = merit.Threatens(step("d5c6"), unit("nc6"))
    assert threat.proved(one.instead)
    assert is_shared(threat, one) is shared


@pytest.mark.parametrize(("worth", "forced"), [(0.0, False), (-0.3, True)])
def test_an_answer_is_forced_where_no_other_is_as_good(worth: float, forced: bool) -> None:
    line = scene("r3k3/8/8/8/3N4/8/8/4K3 w - - 0 1", "Nb5 Kd7 Nd4")

    def look(board: chess.Board, _: int) -> Evaluation:
        if board.fen() != line.after.fen():
            return seen(0.0)
        return replace(seen(0.0, "e8d7"), other=seen(worth, "e8e7"))

    assert is_forced(replace(line, analysis=seen_by(look)), 2) is forced


@pytest.mark.parametrize(("line", "agrees"), [("c3d4 d8d4", True), ("g7h6 d4e3", False)])
def test_queens_leave_the_board_only_where_a_longer_look_agrees(line: str, agrees: bool) -> None:
    claim = outcomes.TradesQueens("39...Qxd4 40.Rxd4")
    made = scene("3R4/5pk1/6p1/8/P7/2q5/5Q2/7K w - - 0 39", "Qd4+ Qxd4 Rxd4 Kf6", seen(0.8))

    def look(board: chess.Board, _: int) -> Evaluation:
        return seen(-0.8, *line.split() if board.fen() == made.after.fen() else ())

    assert is_confirmed(claim, replace(made, analysis=seen_by(look))) is agrees


PINNED = "5rk1/p1p3pp/2p1b3/3nq3/4N3/2P5/PPQB2PP/R5K1 b - - 1 17"


def test_a_pin_to_the_queen_is_said_where_it_wins_something() -> None:
    wins = scene(PINNED, "Bf5 Re1 Re8 Qa4 Bxe4 Qxa7", has=seen(-0.6))
    pin = tactic.Pins(unit("Ne4"), unit("Qc2"), unit("bf5"))
    assert pin.proved(wins)
    assert pin in ranked(wins, [pin], Memory(), "club")
    guarded = scene(PINNED.replace("PPQB2PP", "PPQB1PPP"), "Bf5 f3 Re8", has=seen(0.0))
    assert pin.proved(guarded)
    assert pin not in ranked(guarded, [pin], Memory(), "club")


def test_a_pinned_pawn_does_not_save_what_another_pawn_takes() -> None:
    """Of 12...Nxe4 13.Nxg6: the f-pawn is pinned, and the h-pawn takes."""
    fen = "r2q1rk1/pp2bpp{}/2np2b1/2p5/2B1n1PN/2N4P/PPP2P2/R1BQR1K1 w - - 0 13"
    for pawns, said in (("p", False), ("1", True)):
        one = scene(fen.format(pawns), "Nxg6", has=seen(-0.5))
        pin = tactic.UsesPin(unit("pf7"), unit("kg8"), unit("Bc4"), unit("Ng6"))
        assert pin.proved(one)
        assert (pin in ranked(one, [pin], Memory(), "club")) is said


def test_a_pinned_pawn_that_shields_both_kings_holds_what_it_attacks() -> None:
    """Without the pawn on f4 the black king would stand in check with White to move."""
    fen = "8/3nrkb1/R7/p7/Pr3P1K/4BR2/6P1/8 b - - 0 32"
    one = scene(fen, "Ne5", has=seen(-0.5))
    pin = tactic.UsesPin(unit("Pf4"), unit("Kh4"), unit("rb4"), unit("ne5"))
    assert pin.proved(one)
    assert emptied(one.after, chess.F4) is None
    assert emptied(one.after, chess.E3) is not None
    assert pin in ranked(one, [pin], Memory(), "club")


def test_what_a_pawn_takes_as_it_is_promoted_is_picked_up() -> None:
    fen = "4n3/3P1k2/2K5/8/8/8/6P1/8 w - - 0 1"
    assert aftermath.picked_up(scene(fen, "dxe8=Q+ Kxe8 g4 Kf7 g5 Kg6")) == [
        aftermath.PicksUp(unit("ne8"), (chess.PAWN,))
    ]
    assert not aftermath.picked_up(scene(fen, "g4 Nf6 g5 Nxd7 Kxd7"))


def test_a_queen_that_comes_out_early_is_said_first_where_nothing_is_won() -> None:
    fen = "rnbqkbnr/pp1p1ppp/4p3/2p5/3PP3/4B3/PPP2PPP/RN1QKBNR b KQkq - 1 3"
    had = seen(-0.05, "c5d4", "d1d4", "b8c6", "d4d1", "g8f6", "b1c3")
    told = chosen(fen, "Qf6 Nf3 cxd4 Nxd4", had, seen(0.3, "g1f3", "c5d4", "f3d4"), always(0.0))
    assert isinstance(told.claims[0], fault.EarlyQueen)


def test_a_king_that_walks_out_by_itself_is_not_driven() -> None:
    for check, driven in (("Qd1+", True), ("Qe1", False)):
        one = scene("4k3/6pp/8/8/8/q7/8/3Q2K1 w - - 0 1", f"Qe2+ Kd7 {check} Kc6 Kh1 h6 Kg1 g6")
        assert bool(aftermath.driven_out(one)) is driven


def test_what_the_last_move_of_a_line_takes_may_be_taken_back() -> None:
    """A line that ends in the middle of an exchange keeps what was won before it."""
    for fen, kept in (
        ("3rk3/8/8/3r4/8/8/3R4/3RK3 w - - 0 1", True),
        ("3rk3/8/8/3r4/8/8/3R4/4K3 w - - 0 1", False),
    ):
        made = scene(fen, "Rxd5")
        looks = after(made.after, "d8d5")
        wins = outcomes.ComesOut((chess.ROOK,), (), "")
        assert wins.is_kept(Scene(made.before, made.move, made.follow, looks)) is kept


def test_a_queen_that_is_taken_is_no_move_in_between() -> None:
    """The recapture on b5 can wait, but the queen is what matters."""
    made = scene("7k/6b1/p7/1n6/3Q4/8/8/4KB2 w - - 0 1", "(Bxb5) Bxd4 Kd2 axb5")
    claim = tactic.Intermezzo(chess.B5)
    assert claim.proved(made)
    assert claim not in ranked(made, [claim], Memory(), "club")


@pytest.mark.parametrize(("taken", "said"), [("b", True), ("q", False)])
def test_a_move_in_between_takes_less_than_what_can_wait(taken: str, said: bool) -> None:
    """A bishop on g7 before the knight that has just taken a pawn, or a queen there."""
    fen = f"2bqr1k1/5p{taken}p/4pnp1/rp1P4/8/1B3N1P/PB1Q1PP1/R3R1K1 b - - 0 19"
    made = scene(fen, "(Nxd5) Bxg7 Kxg7 Bxd5 b4", has=seen(-0.6))
    claim = tactic.Intermezzo(chess.D5)
    assert claim.proved(made)
    assert (claim in ranked(made, [claim], Memory(), "club")) is said


@pytest.mark.parametrize(("bishop", "kept"), [("B", True), ("R", False)])
def test_a_motif_pays_though_its_line_ends_within_an_exchange(bishop: str, kept: bool) -> None:
    """The queen that falls a ply before the end is taken back, or is not."""
    fen = "r1bqk2r/ppp2ppp/4p3/2Pp4/1bnPn?2/2N2NP1/PP2PP1P/2RQKB1R w Kkq - 1 9"
    last = "Bxc7" if kept else "a3"
    line = f"Qa4+ Bd7 Qxb4 a5 Qxb7 Rb8 Qxc7 Qxc7 {last}"
    made = scene(fen.replace("?", bishop), line, has=seen(-0.7))
    fork = tactic.Fork(unit("Qa4"), (unit("ke8"), unit("bb4")))
    assert fork.proved(made)
    assert pays_off(fork, made) is kept


def test_what_is_not_asked_for_is_not_confirmed() -> None:
    """That would take searches."""
    made = scene("r3k3/8/8/1N6/8/8/8/4K3 w - - 0 1", "Nc7+ Kd7 Nxa8", has=seen(-0.5))
    fork = tactic.Fork(unit("Nc7"), (unit("ke8"), unit("ra8")))
    wins = merit.Wins((chess.ROOK,), ())
    assert ranked(made, [fork, wins], Memory(), "club", most=1) == [fork]
    assert wins not in made.memo
    assert ranked(made, [fork, wins], Memory(), "club", most=2)[:1] == [fork]
    assert wins in made.memo


@pytest.mark.parametrize(("taker", "loose"), [("Q", True), ("B", False)])
def test_a_queen_that_a_lesser_piece_takes_was_not_left_unguarded(taker: str, loose: bool) -> None:
    """No guard would have saved it."""
    made = scene(f"4k3/8/2q5/8/{taker}7/8/8/4K3 w - - 0 1", f"{taker}xc6+")
    claim = tactic.TakesLoose(unit("qc6"))
    assert claim.proved(made)
    text = Speaker().sentence_of(made, claim)
    assert "the queen on c6" in text
    assert ("guard" in text) is loose


BISHOPS = "1r1q1rk1/1b1pbppp/Np3n2/2p5/4PQ2/5P2/PPPBB1PP/R4RK1 b - - 0 15"


def test_a_bishop_given_for_a_knight_leaves_the_other_side_with_both() -> None:
    """In the exchange that the bad move began; not where the knight was lost before."""
    line = "Bxa6 d6 Bd3 d5 Rae1 Re8"
    assert aftermath.bishops_got(scene(BISHOPS, f"(Bxa6) {line}")) == [aftermath.GetsBishops()]
    after = scene(BISHOPS, f"Bxa6 {line}").after
    assert aftermath.bishops_got(scene(after.fen(), f"{line}")) == []


@pytest.mark.parametrize(
    ("fen", "line", "worth", "said"),
    [
        ("5rk1/1p4p1/2r1p3/p5Bp/2R1Q3/Pn6/1q3PPP/3R2K1 w - - 0 27", "f4 Nd2", 0.25, "TakesSquare"),
        ("5rk1/1p4p1/2r1p3/p5Bp/2R1Q3/Pn6/1q3PPP/3R2K1 w - - 0 27", "f4 Nd2", 0.5, ""),
        (BISHOPS, "Bxa6 Bxa6 d6 Bd3 d5 Rae1", 0.25, "GetsBishops"),
    ],
)
def test_a_square_that_is_taken_explains_a_mistake_at_most(
    fen: str, line: str, worth: float, said: str
) -> None:
    """Not a blunder, and not where the answer takes something."""
    best = {"f4": "d1f1", "Bxa6": "b8c8"}[line.split()[0]]
    made = scene(fen, line, seen(0.0, best))
    made = replace(made, has=seen(worth, *map(str, made.follow)))
    causes: list[Claim] = [fault.Allows(step(str(made.reply)), ())]
    lines: list[Claim] = [fault.Better(Step(made.instead.move, ""), ())]
    told, _ = on_the_board(made, causes, lines, "club")
    why = [
        kind_of(claim) for cause in told if isinstance(cause, fault.Allows) for claim in cause.why
    ]
    assert (said in why) if said else "TakesSquare" not in why


def told_of(fen: str, line: str, best: str, has: float) -> list[tuple[int, list[str]]]:
    """What the board says of the refutation of a move, where no line explains it."""
    made = scene(fen, line, seen(0.1, best))
    made = replace(made, has=seen(has, *map(str, made.follow)))
    causes: list[Claim] = [fault.Allows(step(str(made.reply)), ())]
    better: list[Claim] = [fault.Better(Step(made.instead.move, ""), ())]
    told, _ = on_the_board(made, causes, better, "club")
    return [(each.plies, kinds(each.why)) for each in told if isinstance(each, fault.Allows)]


def test_an_exchange_that_leaves_unlike_pieces_is_told_as_that() -> None:
    """Bishop and knight for rook and pawn; not where much more is lost."""
    fen = "r1bq1rk1/ppp1ppbp/2n3p1/4N1B1/2BPp3/8/PPP2PPP/R2Q1RK1 w - - 2 10"
    for has, why in ((0.2, ["imbalance"]), (0.6, [])):
        told = told_of(fen, "Nxf7 Rxf7 Bxf7+ Kxf7 c3 Qd5", "e5c6", has)
        assert told == [(2 * len(why), why)]


def test_what_only_takes_back_later_is_no_reason() -> None:
    fen = "5k2/4q2Q/4Pb2/2p3P1/8/6P1/1p2RPK1/1B1r4 b - - 0 47"
    assert told_of(fen, "Bd4 Qg6 Rxb1 Qxb1 Kg8", "e7h7", 0.3) == [(0, [])]
    free = "4k2r/p7/8/8/8/8/8/1R2K3 b - - 0 1"
    assert told_of(free, "Rg8 Ra1 Rg2 Rxa7 Rb2", "a7a6", 0.2) == [(2, ["Takes"])]


@pytest.mark.parametrize(
    ("pawn", "line", "why"),
    [
        ("19...e2", "e2 Re1 Rc8 Rxc8 Bxc8 Rxe2", ["attacks_loose"]),
        ("19...e2", "e2 Re1 Rc8 Rxc8 Bxc8 Kh2", []),  # it does not fall
        ("19...Kg8", "Kg8 Re1 Rc8 Rxc8+ Bxc8 Rxe3", ["ComesOut"]),  # another move loses it
    ],
)
def test_a_pawn_that_steps_to_where_it_is_lost_is_named(
    pawn: str, line: str, why: list[str]
) -> None:
    bishop = "3b1P2" if pawn == "19...e2" else "5P1b"
    fen = f"r7/p1R1pk2/2n3p1/5bBp/{bishop}/4p2P/P1P3P1/5R1K b - - 0 19"
    assert told_of(fen, line, "a8c8", 0.2)[0][1] == why


@pytest.mark.parametrize(("there", "said"), [("", True), (" c5", False)])
def test_a_break_that_comes_in_the_better_line_as_well_is_no_reason(there: str, said: bool) -> None:
    fen = "r3k2r/ppqnnpb1/2p1p1p1/3p3p/3P1P2/2P3P1/PP3PBP/R1BQRNK1 w kq - 1 12"
    line = "f3 h4 Ne3 c5 dxc5 Nxc5"
    good = f"h3 a5 a4 O-O g4 hxg4 hxg4{there}"
    had, has = seen(0.0, *ucis(fen, good)), seen(0.25, *ucis(fen, line)[1:])
    causes: list[Claim] = [fault.Allows(step("h5h4"), ())]
    better: list[Claim] = [fault.Better(step("h2h3"), ())]
    told, _ = later_in_line(scene(fen, line, had, has), causes, better, "club")
    assert [kinds(vars(claim)["why"]) for claim in told] == [["strikes"] if said else []]


@pytest.mark.parametrize(("answer", "there"), [("c7d6", True), ("a7a6", False)])
def test_a_bare_line_is_no_trouble_that_answers_the_better_move_as_well(
    answer: str, there: bool
) -> None:
    fen = "4r3/p1qn1kb1/1pp5/1n1p2P1/3P1P2/1P4P1/PB4B1/2R1Q1K1 w - - 1 29"
    made = scene(fen, "Qd1 Qd6 a4 Nc7", seen(0.2, "e1f2", answer), seen(0.0, "c7d6"))
    assert is_there_anyway(made, [fault.Better(step("e1f2"), ())]) is there
    assert not is_there_anyway(made, [])


@pytest.mark.parametrize(
    ("fen", "idle"),
    [("4k3/p4ppp/8/8/8/8/5PPP/R4K2 w - - 0 1", True), ("4k3/pp6/8/8/8/8/6P1/5K2 w - - 0 1", False)],
)
def test_the_king_goes_to_the_centre_for_a_reason_in_pawn_endings(fen: str, idle: bool) -> None:
    made = scene(fen, "Kg1 Kd7", seen(0.5, "f1e2"), seen(0.0, "e8d7"))
    assert ("king_to_centre" in too_little(made)) is idle


@pytest.mark.parametrize(("value", "said"), [(0.9, ["Intends"]), (0.5, [])])
def test_a_quiet_move_after_a_check_says_what_it_threatens(value: float, said: list[str]) -> None:
    """If it is as good as what a long look expects there."""
    fen = "5k2/4q3/4P3/2p2QP1/3b4/6P1/1p2RPK1/1B1r4 b - - 2 48"

    def look(at: chess.Board, _: int) -> Evaluation:
        if at.piece_at(chess.F4):
            return replace(seen(-1.0), score=Score("mate", -4))
        if not at.turn:
            return seen(-value if at.piece_at(chess.E4) else -0.9)
        if at.piece_at(chess.E4) and at.piece_at(chess.E7):  # the other side passes
            return replace(seen(1.0, "e4f4"), score=Score("mate", 5))
        return seen(0.9)

    made = scene(fen, "Kg8 Qg6+ Kf8 Re4 Qb7", seen(-0.5, "f8e8"))
    has = seen(0.9, *map(str, made.follow))
    made = Scene(made.before, made.move, made.follow, seen_by(look), had=made.had, has=has)
    causes: list[Claim] = [fault.Allows(step("f5g6"), ())]
    told, _ = later_in_line(made, causes, [], "club")
    assert [kinds(each.why) for each in told if isinstance(each, fault.Allows)] == [said]


@pytest.mark.parametrize(
    ("line", "why"),
    [("g5 Rce1 Ng4+ fxg4 hxg4", ["attacks_loose"]), ("g5 Rce1 Nc6 Rc1 Nd4 Rc3 Rxc3", [])],
)
def test_an_attack_on_what_is_lost_elsewhere_is_a_reason(line: str, why: list[str]) -> None:
    """The knight on e5 gives itself up on g4, or gets away."""
    fen = "2r2rk1/p4p2/1p2p1p1/3pn2p/7q/1P3P1B/P2Q2PK/2R3R1 b - - 5 27"
    assert told_of(fen, line, "g8g7", 0.7)[0][1] == why


@pytest.mark.parametrize(("answer", "why"), [("Qg6 c4", ["TradesQueens"]), ("Qxe7+ Kxe7", [])])
def test_queens_that_should_have_gone_are_a_reason(answer: str, why: list[str]) -> None:
    """Where the own king is the more open one, and the move made leaves them on."""
    fen = "5k2/4q2Q/4Pb2/2p3P1/8/6P1/1p2RPK1/1B1r4 b - - 0 47"
    made = scene(fen, f"Bd4 {answer}", seen(-0.5, "e7h7", "b1h7", "f6g5", "e2b2", "c5c4"))
    made = replace(made, has=seen(0.75, *map(str, made.follow)))
    causes: list[Claim] = [fault.Allows(step(str(made.reply)), ())]
    better: list[Claim] = [fault.Better(Step(made.instead.move, ""), ())]
    _, (told,) = on_the_board(made, causes, better, "club")
    assert isinstance(told, fault.Better)
    assert kinds(told.why) == why


@pytest.mark.parametrize(("second", "alone"), [(0.3, True), (0.5, False)])
def test_a_move_alone_keeps_a_win_where_the_next_one_is_clearly_less(
    second: float, alone: bool
) -> None:
    """All others are mistakes in both cases, and other engines may call 0.5 a win."""
    had = seen(0.8, "a1a7", second=second)
    made = scene("4k3/8/8/8/8/8/8/R3K3 w - - 0 1", "Ra7", had, seen(-0.8))
    judged = Scene(made.before, made.move, (), seen_by(lambda *_: had), had=had, has=made.has)
    assert grades.OnlyGood().proved(judged)
    assert grades.OnlyGood(2).proved(judged) is alone


OVERLOADED = "r3r1k1/1b3pp1/3p1qnp/1pnPp3/4P3/B3RNPP/P2Q1PBK/1R6 b - - 3 28"


@pytest.mark.parametrize(
    ("line", "said"),
    [("Nxe4 Rxe4 Rxa3 Rxb5 Bc8 Nd4 Bd7", True), ("Nxe4 Rxe4 Rxa3 Rxb5 Rxa2 Rxb7 Kh7", False)],
)
def test_a_guard_that_has_too_much_to_do_is_said_where_nothing_is_lost(
    line: str, said: bool
) -> None:
    """It wins no more than it costs, and is why the move can be played."""
    one = scene(OVERLOADED, line, has=seen(0.0))
    claim = tactic.Deflects(unit("Re3"), chess.A3, unit("Ba3"), was_taken=True)
    assert claim.proved(one)
    assert (claim in ranked(one, [claim], Memory(), "club")) is said


HIT_ROOK = "4r1k1/8/8/5N2/8/8/8/3K4 w - - 0 1"
HIT_ROOK_GUARDED = "4r1k1/8/8/4bN2/8/8/8/3K4 w - - 0 1"
FALLS = "4k3/8/8/3p4/8/8/8/2R3K1 w - - 0 1"


@pytest.mark.parametrize(
    ("best", "second", "value", "falls"),
    [
        ("e8d7 d1d5", "e8e7 d1d5", -0.5, True),
        ("e8d7 d1d5", "d5d4 d1e1", -0.5, False),  # which is as good
        ("e8d7 d1d5", "d5d4 d1e1", -0.9, True),  # which is worse
        ("d5d4 d1e1", "e8d7 d1d5", -0.9, False),
    ],
)
def test_what_is_picked_up_falls_in_the_second_line_too(
    best: str, second: str, value: float, falls: bool
) -> None:
    def look(board: chess.Board, _times: int) -> Evaluation:
        if board.fen() != one.after.fen():
            return seen(0.0)
        return replace(seen(-0.5, *best.split()), other=seen(value, *second.split()))

    one = scene(FALLS, "Rd1 Kd7 Rxd5+ Ke6 Rd1")
    one = replace(one, analysis=seen_by(look))
    picks = aftermath.PicksUp(unit("pd5"), (), "1...Kd7 2.Rxd5+")
    assert picks.proved(one)
    assert (picks in ranked(one, [picks], Memory(), "club")) is falls


@pytest.mark.parametrize(
    ("best", "second", "kept"),
    [
        ("e8d7 d1d5", "d5d4 d1e1", True),  # other answers may keep it
        ("d5d4 d1e1", "e8d7 d1d5", False),
    ],
)
def test_what_the_main_line_wins_is_won_in_that_of_a_long_look(
    best: str, second: str, kept: bool
) -> None:
    def look(board: chess.Board, _times: int) -> Evaluation:
        if board.fen() != one.after.fen():
            return seen(0.0)
        return replace(seen(-0.5, *best.split()), other=seen(-0.52, *second.split()))

    one = scene(FALLS, "Rd1 Kd7 Rxd5+ Ke6 Rd1")
    one = replace(one, analysis=seen_by(look))
    picks = aftermath.PicksUp(unit("pd5"), (), "1...Kd7 2.Rxd5+", main=True)
    assert picks.is_kept(one) is kept
    comes = outcomes.ComesOut((chess.PAWN,), (), "1...Kd7 2.Rxd5+", main=True)
    assert comes.is_kept(one) is kept


@pytest.mark.parametrize(("value", "cost"), [(0.03, True), (-0.03, True), (0.12, False)])
def test_a_draw_costs_a_win_only_where_the_score_is_even(value: float, cost: bool) -> None:
    made = scene(FALLS, "Rd1 Kd7", seen(0.5, "c1a1", "e8e7"), seen(value, "e8d7"))
    assert is_the_cost(outlook.Draws("repetition"), made) is cost


def test_what_is_given_for_a_queen_on_the_way_is_counted() -> None:
    """22...Bxe5 takes a knight before the bishop that takes the queen is taken."""
    fen = "1r3r1k/pb2p1bp/6p1/2P1N3/2N1n3/2q5/P4PPP/R1BQ1RK1 w - - 2 22"
    one = scene(fen, "Bb2 Bxe5 Bxc3 Bxc3 Rb1 Bf6 c6 Nc3 Qf3 Bxc6 Qxc6 Nxb1")
    (picks,) = aftermath.picked_up(one)
    assert (picks.target, picks.lost) == (unit("qc3"), (3, 2))


def test_a_line_does_not_end_where_it_is_taken_back() -> None:
    """8.cxd5 may be answered by 8...cxd5, which comes to nothing a move later."""
    fen = "rnbqkb1r/pp3ppp/2p2n2/3p4/4p3/3P1NP1/PPP1PPBP/RNBQ1RK1 w kq - 0 6"
    one = scene(fen, "dxe4 Nxe4 c4 Bc5 cxd5 O-O Nc3 cxd5 Nxd5 Be6 Nc3 Nxc3 bxc3")
    assert [claim.line for claim in outcomes.outcome(one)] == ["6...Nxe4 7.c4 Bc5 8.cxd5 O-O"]


def test_an_answer_that_a_long_look_refutes_is_not_one() -> None:
    for value, causes in ((-0.5, ["EnPrise"]), (0.5, [])):
        had, has = seen(0.0, "d5d4"), seen(0.5, "d1d5", "e8e7")
        line, fen = "Ke7 Rxd5 Ke6", "4k3/8/8/3p4/8/8/8/3R2K1 b - - 0 1"
        made = scene(fen, line, had, has)
        one = Scene(made.before, made.move, made.follow, always(value), had=had, has=has)
        found = [kind_of(claim) for claim in fault.faults(one, ())]
        assert ("Allows" in found) is bool(causes), found


def test_what_a_move_takes_is_named_as_taken() -> None:
    """Not as what comes out of the line in the end."""
    one = scene("4k3/8/8/3p4/8/8/8/3R2K1 w - - 0 1", "Rxd5 Ke7 Kf2 Ke6 Rd1", has=seen(-0.5))
    gains = [outcomes.ComesOut((chess.PAWN,), ()), aftermath.PicksUp(unit("pd5"))]
    assert kinds(tuple(ranked(one, gains, Memory(), "club"))) == ["PicksUp"]


@pytest.mark.parametrize(
    ("fen", "line", "told", "sure"),
    [
        ("r3k3/8/8/1N6/8/8/8/4K3 w - - 0 1", "Nc7+ Kd7 Nxa8", "1...Kd7 2.Nxa8", True),
        ("r3k3/8/8/8/3N4/8/8/4K3 w - - 0 1", "Nb5 Ke7 Nc7 Kd6 Nxa8", "1...Ke7 2.Nc7", False),
    ],
)
def test_what_other_answers_may_keep_is_won_in_the_main_line(
    fen: str, line: str, told: str, sure: bool
) -> None:
    wins = outcomes.ComesOut((chess.ROOK,), (), told)
    assert as_sure(wins, scene(fen, line)) == replace(wins, main=not sure)
    assert as_sure(replace(wins, back=True), scene(fen, line)) == replace(wins, back=True)


@pytest.mark.parametrize(("won", "said"), [((1,), ["ThreatensMate"]), ((5,), ["Wins"])])
def test_a_threat_of_mate_is_said_before_a_pawn_and_after_a_piece(
    won: tuple[int, ...], said: list[str]
) -> None:
    one = replace(scene(QUIET, "Ra1", has=seen(-0.9)), analysis=always(-0.9))
    claims = [merit.ThreatensMate(2), merit.Wins(won, ())]
    one.memo[claims[1]] = True  # as looks confirm it
    assert kinds(tuple(ranked(one, claims, Memory(), "club"))) == said


@pytest.mark.parametrize(("guard", "kept"), [("4b3", False), ("8", True)])
def test_an_even_trade_picks_nothing_up(guard: str, kept: bool) -> None:
    one = scene(f"4k3/{guard}/5n2/8/3B4/8/8/4K3 w - - 0 1", "Bxf6 Kd7 Ke2 Kc6 Kd3")
    assert aftermath.PicksUp(unit("nf6")).is_kept(replace(one, analysis=always(-0.5))) is kept


@pytest.mark.parametrize(("queen", "named"), [("c3", True), ("a1", False)])
def test_what_is_lost_though_it_is_guarded_says_why(queen: str, named: bool) -> None:
    """The rook that takes back is pinned to the back rank by a mate, or only a rook is traded."""
    board = chess.Board("5rk1/pp3rpp/1b6/2PRpP2/4P3/7P/5qP1/3R3K b - - 0 1")
    board.set_piece_at(chess.parse_square(queen), chess.Piece(chess.QUEEN, True))
    had, has = seen(0.2, "b6c7", "h3h4"), seen(0.8, "d5d8", "f2f4", "d8f8")
    told = chosen(board.fen(), "Bd8 Rxd8 Qf4 Rxf8+", had, has, always(-0.8))
    why = [kinds(claim.why) for claim in told.claims if isinstance(claim, fault.Allows)]
    assert (["Takes", "NotRetaken"] in why) is named


def walked(board: chess.Board, plies: int, random: random.Random) -> tuple[chess.Move, ...]:
    """Some moves at random, castling readily."""
    at, line = board.copy(), list[chess.Move]()
    while len(line) < plies and not at.is_game_over():
        castles = [*at.generate_castling_moves()] if random.random() < 0.5 else []
        line.append(random.choice(castles or [*at.legal_moves]))
        at.push(line[-1])
    return tuple(line)


@pytest.mark.parametrize("seed", range(60))
def test_nothing_fails_where_a_king_castles_as_in_chess960(seed: int) -> None:
    """King takes rook, as the moves have it, leaves the square of the rook empty."""
    draw = random.Random(seed)
    board = chess.Board.from_chess960_pos(draw.randrange(960))
    for move in walked(board, draw.randrange(4, 40), draw):
        board.push(move)
    if board.is_game_over():
        board.pop()

    def look(at: chess.Board, times: int) -> Evaluation:
        own = random.Random(f"{at.fen()} {times}")
        at.chess960 = True
        return seen(own.uniform(-0.8, 0.8), *map(str, walked(at, 7, own)))

    line, best = walked(board, 9, draw), walked(board, 9, draw)
    had = seen(draw.uniform(-0.5, 0.8), *map(str, best))
    has = seen(draw.uniform(-0.8, 0.8), *map(str, line[1:]))
    one = Scene(board, line[0], line[1:], seen_by(look), had=had, has=has)
    chosen = select(one, Memory(), "club", Tone.KEEN)
    assert all(claim.proved(one) for claim in chosen.claims)


@pytest.mark.parametrize(("chances", "idle"), [(0.3, False), (0.6, True)])
def test_a_pawn_is_no_reason_where_much_more_is_lost(chances: float, idle: bool) -> None:
    fen = "r1bqkb1r/pppp1ppp/2n2n2/4p3/4P3/2N2N2/PPPP1PPP/R1BQKB1R w KQkq - 4 4"
    made = scene(fen, "Be2 d5 exd5 Nxd5", seen(0.1, "f1b5"), seen(chances - 0.1, "d7d5"))
    for claim in (aftermath.PicksUp(unit("Pe4"), (), ""), merit.Wins((chess.PAWN,), ())):
        assert is_too_small(claim, made) is idle
    assert not is_too_small(merit.Wins((chess.KNIGHT,), ()), made)


@pytest.mark.parametrize(("aim", "idle"), [("offer", True), ("offered", True), ("mated", False)])
def test_an_offer_that_is_declined_is_no_reason(aim: Aim, idle: bool) -> None:
    assert is_declined(GivesUp(unit("Rd1"), (4,), (), aim, 1)) is idle


@pytest.mark.parametrize(("king", "same"), [("e1d1", True), ("e1d2", False)])
def test_the_answer_to_the_next_best_move_fails_after_the_best(king: str, same: bool) -> None:
    """The knight takes the queen after both moves, or the king guards her after one of them."""
    fen = "6k1/8/8/8/4n3/2Q5/8/4K3 w - - 0 1"
    board = chess.Board(fen)
    best = Scene(board, chess.Move.from_uci(king), ())
    next_best = Scene(board, chess.Move.from_uci("e1f1"), (chess.Move.from_uci("e4c3"),))
    why = tactic.TakesLoose(unit("Qc3"))
    assert why.proved(next_best.other)
    assert answer_works_too(best, next_best, [why]) is same


@pytest.mark.parametrize(("centipawns", "kept"), [(-500, True), (-250, True), (0, False)])
def test_a_line_with_more_than_the_score_says_hides_something(centipawns: int, kept: bool) -> None:
    """A rook is won by the line, and the other side may have as much for it."""
    made = scene("4k3/8/8/3r4/8/8/3R4/4K3 w - - 0 1", "Rxd5 Ke7 Ke2 Kf7 Ke3 Ke7")
    look = replace(seen(-0.5, *map(str, made.follow)), score=Score("cp", centipawns))
    looks = seen_by(lambda board, _: look if board.fen() == made.after.fen() else seen(0.0))
    assert merit.keeps_more(made.after, replace(made, analysis=looks), 0) is kept


@pytest.mark.parametrize(("fen", "is_threat"), [(HIT_ROOK, True), (HIT_ROOK_GUARDED, False)])
def test_a_threat_of_what_is_taken_is_none(fen: str, is_threat: bool) -> None:
    """The knight hits the rook, which has to go; or a bishop takes the knight."""
    made = scene(fen, "Nd6 Re7" if is_threat else "Nd6 Bxd6")
    looked = replace(made, analysis=always(-0.5))
    assert bool(plain_threats(looked)) == is_threat


def test_queens_that_face_each_other_are_no_threat() -> None:
    made = scene("3qk3/8/8/8/8/8/8/Q3K3 w - - 0 1", "Qd1 Ke7")
    assert not plain_threats(replace(made, analysis=always(-0.5)))


@pytest.mark.parametrize(
    ("line", "better", "answer", "said"),
    [
        ("h3 Bxb2 Kf1 h6 Ke2 g6", "b2b3", "g8f8", True),
        ("h3 Bxb2 Rxe7 h6 Kf1 g6", "b2b3", "g8f8", False),  # a pawn for a pawn
        ("h3 Bxb2 Kf1 h6 Ke2 g6", "g1f1", "f6b2", False),  # the better move loses it at once
        ("h3 Kf8 Kf1 h6 Ke2 g6", "b2b3", "g8f8", False),  # nothing is taken
    ],
)
def test_what_the_answer_takes_is_a_reason_if_only_this_move_allows_it(
    line: str, better: str, answer: str, said: bool
) -> None:
    fen = "6k1/4pppp/5b2/8/8/8/1P3PPP/4R1K1 w - - 0 1"
    made = scene(fen, line, had=seen(0.3, better, answer), has=seen(0.3))
    found = taken(made.other, made)
    assert found == ((aftermath.Takes(unit("Pb2")),) if said else ())


ROOK_TAKES = "2kr4/{}pp3p1/2b1pp1r/3pP1p1/1P1P4/2N3PP/1PP2P2/R4RK1 b - - 2 19"


@pytest.mark.parametrize(("a_pawn", "why"), [("p", ["Takes", "Seventh"]), ("1", ["Seventh"])])
def test_what_is_taken_comes_before_what_stays(a_pawn: str, why: list[str]) -> None:
    """Also where it is taken later in the line of the better move."""
    better = "c8b8", "g1g2", "h6h8", "g2g1", "h8h6", "g1g2", "h6h8", "a1a7"
    had, has = seen(0.35, *better), seen(0.09, "a1a7", "c8b8", "f1a1", "b7b6")
    told = chosen(ROOK_TAKES.format(a_pawn), "Rdh8 Ra7 Kb8 Rfa1 b6", had, has, always(0.1))
    allowed = [kinds(claim.why) for claim in told.claims if isinstance(claim, fault.Allows)]
    assert allowed == [why]
    assert kinds(told.reply) == ["Seventh"]  # as the pawn falls in both lines


TAKES_AND_HITS = "r1q2k2/p1pb4/2p2{}/7p/4Ppp1/1PN2P1P/P1P3P1/R1BQ1RK1 w - - 0 16"


@pytest.mark.parametrize(
    ("right", "why"),
    [("n1r", ["Takes", "Threatens"]), ("n2", ["Takes"]), ("n1p", ["Takes"])],
)
def test_what_takes_and_threatens_a_piece_does_both(right: str, why: list[str]) -> None:
    """A pawn that it threatens besides is not worth words."""
    made = scene(TAKES_AND_HITS.format(right), "Bxf4 Kg8 fxg4 hxg4")
    made = replace(made, analysis=always(-0.8))
    takes: list[Claim] = [aftermath.Takes(unit("pf4"))]
    assert kinds(tuple(with_threat(takes, made, []))) == why
    assert with_threat(takes, made, [made]) == takes  # another line has it as well


@pytest.mark.parametrize(
    ("pawns", "bare"),
    [("p4p1p/6p1", 0), ("p4p1p/8", 1), ("p4p2/6p1", 1), ("p7/6p1", 2), ("p7/8", 3)],
)
def test_pawns_before_a_king_and_beside_it_cover_it(pawns: str, bare: int) -> None:
    behind, before = pawns.split("/")
    row = behind.replace("p4p1p", "p4pkp").replace("p4p2", "p4pk1").replace("p7", "p5k1")
    assert exposure(chess.Board(f"8/{row}/{before}/8/8/8/8/4K3 w - - 0 1"), chess.BLACK) == bare


def test_a_bishop_that_is_exchanged_before_its_king_opens_nothing() -> None:
    fen = "5rk1/p2bppbp/3p1npB/4qPN1/1p2PN1Q/3P4/r5PP/1R3R1K w - - 2 20"
    assert outcomes.opens_up(scene(fen, "Bxg7 Kxg7 Nf3 Qc5 Ng5 Qe5 h3 Rc8")) == []


def test_a_repetition_that_begins_late_in_the_line_is_none() -> None:
    fen = "5rk1/p2bppb1/3p1npB/4q1N1/1p2PN1Q/3P4/r5PP/1R3R1K w - - 0 21"
    line = "Bxg7 Kxg7 Nd5 Nh5 Nf3 Qe6 Nxb4 Ra4 Nd4 Qe5 Nf3 Qe6"
    assert outlook.drawn(scene(fen, line)) == []


HIT_BEHIND = "rn2kb1r/1bq2ppp/p2ppn2/1p6/3PP3/2NB1N2/PP1B1PPP/2RQ1RK1 w kq - 2 11"


@pytest.mark.parametrize(
    "claim", [aftermath.Takes(unit("pb5")), merit.Threatens(step("b5c7"), unit("qc7"))]
)
def test_why_nothing_takes_back_comes_before_what_is_threatened_next(claim: Claim) -> None:
    """The knight may be taken, and the rook behind it takes the queen then."""
    made = replace(scene(HIT_BEHIND, "Nxb5 Qb6 Nc3"), analysis=always(-0.8))
    assert kinds(tuple(with_threat([claim], made, []))) == [kind_of(claim), "NotRetaken"]
    kept = replace(scene(HIT_BEHIND.replace("2RQ", "3Q"), "Nxb5 Qb6 Nc3"), analysis=always(-0.8))
    assert "NotRetaken" not in kinds(tuple(with_threat([claim], kept, [])))


LOOSE_PAWN = "4k3/8/6r1/4p3/8/3N4/7P/4K3 b - - 0 1"


@pytest.mark.parametrize(
    ("first", "longer", "as_well"), [(0.2, 0.2, True), (0.1, 0.2, False), (0.2, 0.1, False)]
)
def test_what_another_move_as_good_does_not_do_is_no_reason(
    first: float, longer: float, as_well: bool
) -> None:
    """The rook guards the pawn, and a king's move is as good, by two looks or not."""
    had = replace(seen(0.2, "g6e6"), other=seen(first, "e8d7"))
    made = scene(LOOSE_PAWN, "Kf8 Kf1", had, seen(0.2, "e1f1"))
    steps = chess.Move.from_uci("e1f1")
    looks = seen_by(lambda at, _: seen(-longer, *["e1f1"][: steps in at.legal_moves]))
    made = replace(made, analysis=looks)
    other = as_good(made)
    assert (other is not None) is as_well
    [claim] = guards(made.instead)
    assert is_incidental(claim, made, as_good) is as_well
    assert not is_incidental(claim, made, lambda scene: scene.instead)
    assert not is_incidental(aftermath.Takes(unit("Ph2")), made, as_good)  # whatever others do
    assert as_good(replace(made, move=chess.Move.from_uci("e8d7"))) is None


def test_a_better_move_is_explained_by_its_next_where_the_answer_is_forced() -> None:
    fen = "r2q1rk1/1ppb2pp/p1n2p2/4P3/5B2/2NB1N1P/PP3KP1/R2Q4 w - - 0 16"
    check = "d3c4", "g8h8", "e5e6", "c6a5"

    def look(other: float) -> Analysis:
        def seen_there(board: chess.Board, _times: int) -> Evaluation:
            if not board.is_check():
                return seen(-0.6)
            return replace(seen(-0.6, *check[1:]), other=seen(other, "f8f7"))

        return seen_by(seen_there)

    for other, said in ((-0.9, [["Threatens"]]), (-0.6, [[]])):
        had, has = seen(0.64, *check), seen(-0.37, "f6e5", "f4e3", "d8e7")
        told = chosen(fen, "Kg1 fxe5 Be3 Qe7", had, has, look(other))
        better = [claim for claim in told.claims if isinstance(claim, fault.Better)]
        assert [kinds(claim.why) for claim in better] == said


@pytest.mark.parametrize(("has", "named"), [(0.15, True), (0.55, False)])
def test_an_outpost_near_home_is_not_what_a_blunder_misses(has: float, named: bool) -> None:
    fen = "rn3rk1/3q1pbp/5np1/2pP4/1p6/1P3B2/P2N1PPP/R1BQR1K1 w - - 0 17"
    told = chosen(fen, "Kh1 Qd8", seen(0.05, "d2c4", "d7d8"), seen(has, "d7d8"), always(0.0))
    assert ("Outpost" in kinds(told.better)) is named


@pytest.mark.parametrize(("has", "named"), [(0.4, True), (0.6, False)])
def test_an_outpost_far_up_is_not_what_a_piece_is_lost_for(has: float, named: bool) -> None:
    fen = "3r1rk1/pN5p/2p3p1/2Pn1p2/3Q4/1P4Pq/P2RPP2/3R2K1 b - - 0 27"
    made = scene(fen, "Rd7 Nd6 f4", seen(0.0, "f5f4"), seen(has, "b7d6"))
    outpost = positional.Outpost(unit("Nd6"))
    assert outpost.proved(made.other)
    assert telling([outpost], made) == ([outpost] if named else [])


@pytest.mark.parametrize(("has", "slight"), [(0.1, False), (0.6, True)])
def test_a_passed_pawn_among_pieces_is_not_what_a_blunder_costs(has: float, slight: bool) -> None:
    among = "r1b1r1k1/ppq1bp1p/2pp2p1/5P1n/3pP3/2P1B2Q/PP2B1PP/RN3RK1 w - - 0 15"
    made = scene(among, "Bxh5 dxe3", seen(0.05, "c3d4"), seen(has, "d4e3"))
    assert ("PassedPawn" in too_little(made)) is slight
    ending = scene(PAWN_ENDING, "Nd3 Bd4", seen(0.05, "f6f5"), seen(has, "c3d4"))
    assert "PassedPawn" not in too_little(ending)


def test_a_better_move_takes_a_pawn_back_where_nothing_else_is_said_of_it() -> None:
    fen = "r2qk1nr/ppp2ppp/2nb4/7b/3Pp3/1P3P1N/PB1PN1PP/R2QKB1R w KQkq - 0 9"
    made = scene(fen, "a3 exf3", seen(0.2, "f3e4", "h5e2"), seen(0.1, "e4f3"))
    made = replace(made, analysis=always(0.0), last=chess.Move.from_uci("f5e4"))
    best = fault.Better(step("f3e4"), ())
    for took, why in ((chess.PAWN, ["TakesBack"]), (None, [])):
        (line,) = met(replace(made, last_took=took), [], [best])
        assert isinstance(line, fault.Better)
        assert kinds(line.why) == why


@pytest.mark.parametrize(("last", "why"), [("g5f6", ["TakesBack"]), ("", [])])
def test_a_better_move_takes_back_where_nothing_else_is_said_of_it(
    last: str, why: list[str]
) -> None:
    fen = "r1br2k1/pp2bppp/1qn1pB2/3p4/4P3/1NN2P2/PPPQ2PP/1K1R1B1R b - - 0 12"
    made = scene(fen, "dxe4 Bxe7", seen(0.05, "e7f6"), seen(0.4, "f6e7"))
    came = chess.Move.from_uci(last) if last else None
    made = replace(made, analysis=always(0.0), last=came, last_took=chess.KNIGHT if last else None)
    cause, best = fault.Allows(step("f6e7"), ()), fault.Better(step("e7f6"), ())
    for causes in ([cause], []):  # whether the answer is spoken of or not
        (line,) = met(made, causes, [best])
        assert isinstance(line, fault.Better)
        assert kinds(line.why) == why


def test_a_bare_line_stays_where_the_better_move_only_attacks() -> None:
    line, attack = fault.Allows(step("e8e1"), ()), Feature(chases, True, (unit("nd5"),))
    knight = merit.Wins((chess.KNIGHT,), ())
    assert not is_chaff([line], [fault.Better(step("c2c4"), (attack,))])
    assert is_chaff([line], [fault.Better(step("c2c4"), (knight,))])


@pytest.mark.parametrize(
    ("rook", "line", "falls"),
    [
        ("4R1K1", "g1g2 e8e3 e1e3", False),
        ("4R1K1", "g1g2 e8e3", False),  # where the line ends
        ("6K1", "g1g2 e8e3 g2f2", True),
        ("4R1K1", "g1g2 e8e3 g2f2", True),  # it is not taken back
        ("4R1K1", "g1g2 e8f8", False),
    ],
)
def test_what_is_exchanged_does_not_fall_in_the_other_line(
    rook: str, line: str, falls: bool
) -> None:
    fen = f"4r1k1/8/8/8/8/4B3/8/{rook} w - - 0 1"
    made = scene(fen, "Kh1 Rxe3", seen(0.1, *line.split()), seen(0.2, "e8e3"))
    made = replace(made, analysis=always(0.0))
    assert falls_too(unit("Be3"), made) is falls


@pytest.mark.parametrize(
    ("won", "target", "more"), [((3, 1), "Ph2", True), ((1,), "Ph2", False), ((3,), "Nf3", False)]
)
def test_a_pawn_that_is_let_go_is_not_named_before_a_piece(
    won: tuple[int, ...], target: str, more: bool
) -> None:
    wins = outcomes.ComesOut(won, (), "28.Kc2 Rxh3 29.a4 Rxh2+")
    assert wins_more(fault.Allows(step("e5f4"), (wins,)), unit(target)) is more


@pytest.mark.parametrize(("target", "enough"), [("ph2", False), ("nh2", True), (None, True)])
def test_a_threat_lures_no_guard_away_from_a_pawn(target: str | None, enough: bool) -> None:
    """None stands for the square of a promotion."""
    there = unit(target) if target else None
    assert pays(tactic.Deflects(unit("Kg1"), chess.H2, there, was_taken=False)) is enough
    assert not pays(merit.Threatens(step("f3h2"), unit("ph2")))


@pytest.mark.parametrize(
    ("fen", "line", "answer", "met"),
    [
        (QUIET, "Ra1 Nb4", "d2d8", True),
        (QUIET, "Ra1 Nb4", "e1e2", False),  # which is possible after the bad move, too
        ("4k3/8/8/3n4/8/8/3p4/R3K3 w - - 0 1", "Kf2 Nb4", "d2e2", False),  # it takes something
    ],
)
def test_a_refutation_is_met_by_what_only_the_better_move_allows(
    fen: str, line: str, answer: str, met: bool
) -> None:
    best = "a2d2" if met or fen == QUIET else "e1d2"
    made = scene(fen, line, seen(0.2, best), seen(0.1, "d5b4"))
    looks = seen_by(
        lambda board, _: seen(
            0.3, *([answer] if chess.Move.from_uci(answer) in board.legal_moves else [])
        )
    )
    assert bool(outlook.meets(replace(made, analysis=looks))) is met


@pytest.mark.parametrize(
    ("better", "mate"), [("a2a3", "2...Re1#"), ("a2b2", "2...Re1#"), ("g2g3", "")]
)
def test_a_refutation_is_met_that_threatens_mate(better: str, mate: str) -> None:
    """The king has a way out, and nothing is threatened."""
    made = scene("4r1k1/8/8/8/8/8/R4PPP/6K1 w - - 0 1", "Ra7 Re2", seen(0.2, better))
    there = better[2:] if better.startswith("a2") else "a2"
    looks = where_legal(f"{there}{there[0]}1", 0.3)
    told = outlook.meets(replace(made, analysis=looks))
    assert [claim.mate for claim in told] == [mate]
    assert not any(
        replace(claim, mate="2...Rd1#").proved(replace(made, analysis=looks).instead)
        for claim in told
    )


@pytest.mark.parametrize(
    ("king", "pawn", "reply", "answer", "key"),
    [
        ("6k1", "8", "a2a3", "e3a3", "Meets.off"),
        ("5bk1", "8", "a2a3", "e3a3", "Meets"),  # which is taken back
        ("6k1", "8", "a2a1", "e3e1", "Meets"),  # the answer is made elsewhere
        ("6k1", "P7", "a2a3", "e3a3", "Meets"),  # the reply has taken a pawn
    ],
)
def test_a_piece_is_kept_off_a_square_where_it_would_be_lost(
    king: str, pawn: str, reply: str, answer: str, key: str
) -> None:
    made = scene(f"{king}/8/8/8/8/{pawn}/r7/4R1K1 w - - 0 1", "Re3")
    claim = outlook.Meets(step(reply), step(answer))
    assert claim_key(claim, made) == key
    assert claim_slots(claim, made)["kind"] == "rook"


@pytest.mark.parametrize(
    ("line", "spent"),
    [("Rb5 Kf7 Rxd5", False), ("Rb5 d4 Kf2", True), ("Rb5 Kf7 Kf2", True)],
)
def test_a_pawn_that_is_attacked_and_not_taken_explains_nothing(line: str, spent: bool) -> None:
    made = scene("n5k1/8/8/3p4/8/8/8/1R4K1 w - - 0 1", line)
    assert is_spent(merit.Threatens(step("b5d5"), unit("pd5")), made) is spent
    assert not is_spent(merit.Threatens(step("b5b8"), unit("na8")), made)  # a piece has to move
    hit = Feature(attacks_loose, True, (unit("pd5"),))
    assert is_spent(hit, made) is spent
    assert is_spent(outlook.Intends(step("b5d5"), ()), made) is spent  # if the other side passes
    assert not is_spent(outlook.Intends(step("b5b7"), ()), made)  # nothing is taken
    wins = (merit.Wins((chess.PAWN,), ()), merit.Wins((chess.KNIGHT,), ()))
    gains = [is_spent(outlook.Intends(step("b5d5"), (claim,)), made) for claim in wins]
    assert gains == [spent, False]  # where taking the pawn wins more, it is no matter of the pawn


@pytest.mark.parametrize(
    ("answer", "spent"),
    [("Qxd5", True), ("Qg6+", True), ("Qd8", False), ("Qh2+", False)],  # where it is lost
)
def test_what_is_hit_and_goes_off_with_a_capture_or_a_check_explains_nothing(
    answer: str, spent: bool
) -> None:
    made = scene("6k1/8/3q4/3P4/8/2N5/8/6K1 w - - 0 1", f"Ne4 {answer}")
    assert is_spent(Feature(chases, True, (unit("qd6"), unit("Ne4"))), made) is spent


@pytest.mark.parametrize(("has", "bare"), [(0.06, False), (0.2, True)])
def test_a_line_without_a_word_is_no_cause_of_a_small_mistake(has: float, bare: bool) -> None:
    fen = "rn3rk1/3q1pbp/5np1/2pP4/1p6/1P3B2/P2N1PPP/R1BQR1K1 w - - 0 17"
    made = scene(fen, "Kh1 Rd8", seen(0.05, "g1f1", "d7d8"), seen(has, "f8d8"))
    told = select(replace(made, analysis=always(0.0)), Memory(), "club", Tone.KEEN)
    assert [claim for claim in told.claims if isinstance(claim, fault.Better)]
    assert any(isinstance(claim, fault.Allows) for claim in told.claims) is bare


@pytest.mark.parametrize(("given", "well"), [(0.05, True), (0.2, False)])
def test_a_line_is_well_met_whose_answers_give_nothing_away(given: float, well: bool) -> None:
    made = scene("6k1/8/8/3p4/8/8/8/1R4K1 w - - 0 1", "Rb5 Kf7 Rxd5 Ke6 Rd1")
    poor = made.boards[4]
    looks = seen_by(lambda at, _: seen(0.5 + given if at == poor else 0.5 if at.turn else -0.5))
    line = "1...Kf7 2.Rxd5 Ke6 3.Rd1"
    assert is_well_met(replace(made, analysis=looks), line) is well
    assert is_well_met(replace(made, analysis=looks), "1...Kf7 2.Rxd5")


def test_beside_a_mate_nothing_is_said_of_what_is_attacked() -> None:
    made = scene("6k1/5ppp/8/8/8/n7/8/1R4K1 w - - 0 1", "Rb8#")
    mate, loose = merit.MateIn(1), Feature(attacks_loose, True, (unit("na3"),))
    made.memo.update({mate: True, loose: True})
    assert loose in ranked(made, [loose], Memory(), "club")
    assert ranked(made, [mate, loose], Memory(), "club") == [mate]


@pytest.mark.parametrize(
    ("line", "spent"),
    [("Ng5 Kf8 Nxf7", False), ("Ng5 Kf8 Kf2", False), ("Ng5 Rh5 Kf2", True)],
)
def test_a_double_attack_that_one_move_meets_explains_nothing(line: str, spent: bool) -> None:
    made = scene("6k1/5b1r/8/8/8/5N2/8/6K1 w - - 0 1", line)
    both = Feature(attacks_two, True, (unit("rh7"), unit("bf7")))
    assert is_spent(both, made) is spent


@pytest.mark.parametrize(("better", "anyway"), [("Kh1 Rxd5", True), ("Rd1 Rxd5", False)])
def test_a_pawn_that_falls_anyway_is_not_what_a_move_costs(better: str, anyway: bool) -> None:
    """Unless it is taken back after the better move."""
    fen = "6k1/3r4/8/3P4/8/8/8/R5K1 w - - 0 1"
    board = chess.Board(fen)
    moves = [board.push_san(san).uci() for san in better.split()]
    moves += ["d1d5"] if "Rd1" in better else ["a1a2"]
    made = replace(scene(fen, "Ra2 Rxd5 Kf2"), had=seen(0.2, *moves), has=seen(0.3))
    assert falls_anyway(merit.Wins((chess.PAWN,), ()), made) is anyway
    assert not falls_anyway(merit.Wins((chess.ROOK,), ()), made)


@pytest.mark.parametrize(("line", "later"), [("a3 h6 Nxd5", True), ("a3 d4 Nb5", False)])
def test_what_is_taken_back_a_move_later_was_not_missed(line: str, later: bool) -> None:
    made = scene("6k1/7p/8/3p4/8/2N5/P7/6K1 w - - 0 1", line)
    assert takes_later(replace(made, had=seen(0.3, "c3d5", "g8f8"))) is later


def test_a_piece_that_was_taken_before_the_move_is_not_lost_in_its_line() -> None:
    """Where the move takes it back, both belong to one exchange."""
    queen = "r7/pp4kp/6p1/8/3p2b1/2n4K/PQ5P/7q w - - 0 28"
    made = scene(queen, "(Kxg4) Rf8 Qxb7+ Qxb7 Kg3 Qf3+ Kh4 Rf4+ Kg5 Qg4#")
    assert [claim.won for claim in outcomes.outcome(made)] == [()]
    back = scene("6k1/5n2/6p1/4p3/3B4/8/8/R5K1 w - - 0 1", "(Bxe5) Nxe5 Ra5 Nf3+ Kf2 Nd4")
    assert [(claim.won, claim.lost) for claim in outcomes.outcome(back)] == [((3,), (1,))]


def test_a_line_goes_on_to_what_is_counted_as_lost() -> None:
    fen = "3r4/1pp1kN1p/p7/4P3/2B3P1/1P4K1/P2r3P/7R b - - 0 34"
    line = "b5 Nxd8 bxc4 Nc6+ Kd7 Na5 c3 Rc1 Rxa2 Nc4 c2 Ne3 Ra3"
    [won] = outcomes.outcome(scene(fen, line).other)
    assert (won.won, won.lost) == ((4,), (3, 1))
    assert won.line.endswith("38.Rc1 Rxa2")


def test_what_is_done_at_once_stands_before_the_line_that_wins() -> None:
    fork = tactic.Fork(unit("Nc7"), (unit("ke8"), unit("ra8")))
    wins, keeps = outcomes.ComesOut((4,), (2,), "1...Kd7 2.Nxa8"), merit.Parries(step("a1a2"), None)
    assert brief([wins, fork]) == brief([fork, wins]) == [fork, wins]
    assert brief([wins, keeps]) == [wins]
    assert brief([keeps, wins]) == [keeps]
    both = Feature(attacks_two, True, (unit("ke8"), unit("ra8")))
    assert brief([wins, both]) == [both, wins]
    assert brief([outcomes.ComesOut((1,), (), "1...Kd7 2.Nxa8"), both]) == [both]


def test_a_pawn_that_may_be_taken_back_is_not_picked_up() -> None:
    line = "d4 Kf8 dxc5 Kf7 Kf1 Ke6"
    alone = "6k1/8/8/2p5/8/8/3P4/6K1 w - - 0 1"
    assert [claim.target for claim in aftermath.picked_up(scene(alone, line))] == [unit("pc5")]
    guarded = "6k1/8/1p6/2p5/8/8/3P4/6K1 w - - 0 1"
    assert aftermath.picked_up(scene(guarded, line)) == []


def test_what_the_line_wins_is_named_before_what_is_forced() -> None:
    """13.Bxh6 wins a knight, as Black castles; to take the bishop would cost Black a pawn more."""
    made = scene(SHOT, "Bxh6 O-O Be3 f5 g3 e4 dxe4 Bg5 Bxg5 Qxg5", has=seen(-0.6, "e8g8"))
    forced = merit.Wins((2, 1), (3,))
    assert forced.proved(made)
    picks = aftermath.PicksUp(unit("nh6"), (), "")
    comes = outcomes.ComesOut((2,), (), "13...O-O 14.Be3")
    assert forced in ranked(made, [forced], Memory(), "club")
    told = ranked(made, [forced, comes, picks], Memory(), "club")
    assert told == [picks]


def ucis(fen: str, line: str) -> list[str]:
    """The moves of a line in SAN as UCI."""
    board = chess.Board(fen)
    return [board.push_san(san).uci() for san in line.split()]


@pytest.mark.parametrize(
    ("better", "cost"),
    [
        ("Kd8 Bxf5 b3 Nf7+ Ke8 axb3 Kxf7 Rhf1 Ke8 Rf3 Nxf5 Rxf5", False),
        ("Kd8 Bxf5 b3 Nf7+ Ke8 axb3 Kxf7", True),  # the knight is not taken
    ],
)
def test_what_falls_in_both_lines_is_not_what_the_refutation_wins(better: str, cost: bool) -> None:
    """Black is up to a knight for a pawn after 24...Kd8, of which 25.Nxf5 wins back nothing."""
    fen = "4k2r/p3n2p/2pN4/5b2/1p1P4/q3p2B/P1P1N2P/1KR4R b k - 0 24"
    made = scene(fen, "Kf8 Nxf5 Nxf5 Rhf1 Ke7 Rxf5 Rf8 Rg1")
    made = replace(made, had=seen(0.3, *ucis(fen, better)), has=seen(0.5, "d6f5"))
    claim = outcomes.ComesOut((3,), (), "25...Nxf5 26.Rhf1 Ke7 27.Rxf5", back=True)
    assert is_the_cost(claim, made) is cost


@pytest.mark.parametrize(
    ("better", "missed"),
    [
        ("cxb4 Bxd4 exd4 Qb6 Re2 Qxd4 Be1 Qxd1 Rxd1", False),
        ("cxb4 Bf8 Nf3 Nxd2 Nxd2 Qb6 Qb3", True),
    ],
)
def test_a_pawn_that_is_won_back_was_not_missed(better: str, missed: bool) -> None:
    fen = "r1r3k1/2q2ppp/p3p3/2bp4/1p1Nn3/2P1P2P/PP1B1PP1/R2QR1K1 w - - 2 17"
    made = scene(fen, "Nb3 bxc3 Bxc3 Nxc3 bxc3 Ba3 Re2 Qxc3")
    made = replace(made, had=seen(0.0, *ucis(fen, better)), has=seen(0.3, "b4c3"))
    assert is_missed(aftermath.Takes(unit("pb4")), made) is missed
    assert bool(taken(made.instead, made)) is missed


def test_to_guard_what_is_not_taken_explains_nothing() -> None:
    fen = "rnb1r1k1/5ppp/p2p4/2pP4/1p2q3/6Q1/PP1KBPPP/R2N3R w - - 0 17"
    guard = Feature(guards, True, (unit("Pd5"), unit("qe4")))
    for line, idle in (("Bf3 Qd4+ Kc1 Bf5", True), ("Bc4 Qd4+ Kc1 Qxd5", False)):
        made = scene(fen, line)
        made = replace(made, had=seen(0.2, "d1e3"), has=seen(0.5, *ucis(fen, line)[1:]))
        assert is_guard_of_nothing(guard, made) is idle


def test_to_guard_what_nothing_attacks_any_more_explains_nothing() -> None:
    """The bishop takes the knight that attacked the pawn, though that falls in the end."""
    fen = "r1b2rk1/5p1p/n1pp1bp1/pp6/3NP3/PBN4P/1PP2PP1/2KR3R b - - 0 15"
    guard = Feature(guards, False, (unit("pc6"), unit("Nd4")))
    taken_later = "Rxd4 Be6 Bxe6 fxe6 Rxd6 Rxf2 Rxc6"
    for line, idle in ((f"Bxd4 {taken_later}", True), ("h6 Nxc6", False)):
        made = scene(fen, line)
        made = replace(made, had=seen(0.3, "c8b7"), has=seen(0.4, *ucis(fen, line)[1:]))
        assert is_guard_of_nothing(guard, made) is idle


@pytest.mark.parametrize(("guard", "loose"), [("8", True), ("7r", False)])
def test_what_hangs_after_the_same_answer_to_the_better_move_is_no_reason(
    guard: str, loose: bool
) -> None:
    fen = f"2r5/pp5R/2kp4/3Np1b1/PP2P3/3PPK2/r5PP/{guard} b - - 2 28"
    line = f"{'Ra3' if loose else 'Rg1'} Kg4 Bd8 Kf5"
    better = "f8" if loose else "g8"
    made = scene(fen, line, seen(0.5, f"c8{better}", "f3g4", "g5d8"), seen(0.0, "f3g4"))
    hits = Feature(attacks_loose, True, (unit("bg5"),))
    assert is_there_too(hits, [made.instead.other]) is loose


@pytest.mark.parametrize(
    ("line", "said"), [("Bg5 hxg5 Kd2 Nxd4", []), ("Bd2 Kd7 Ke2 Nxd4", ["Unguards"])]
)
def test_a_piece_that_is_taken_where_it_stands_gives_up_no_guard(
    line: str, said: list[str]
) -> None:
    fen = "4k3/8/2n4p/8/3P4/4B3/8/4K3 w - - 0 1"
    made = scene(fen, line, seen(0.1, "e1e2", "e8d7"), seen(0.6, *ucis(fen, line)[1:]))
    causes: list[Claim] = [fault.Allows(Step(made.follow[0], ""), ())]
    assert kinds((*_opened(made, causes, []),)) == said


@pytest.mark.parametrize(("rank", "strong"), [(6, False), (7, True)])
def test_a_pawn_far_up_may_explain_a_blunder(rank: int, strong: bool) -> None:
    pawn = positional.PassedPawnAdvances(unit(f"Pg{rank}"))
    assert is_strong(pawn) is strong
    fen = "r3k3/7p/8/6P1/8/8/8/R3K3 b - - 0 1"
    made = scene(fen, "Kd7 g6", seen(0.0, "e8e7"), seen(0.6, "g5g6"))
    assert telling([pawn], made) == [pawn][:strong]


def test_what_the_move_takes_is_no_missed_threat_to_take_it() -> None:
    fen = "r3r1k1/pbp1qpb1/1p1p1nnQ/4pP2/4P3/2NP2RN/PPP1B1PP/R5K1 w - - 1 17"
    threat = merit.Threatens(step("f5g6"), unit("ng6"))
    for line, shared in (("Rxg6 fxg6 Qxg6", True), ("Rf3 Nf4", False)):
        made = replace(scene(fen, line), had=seen(0.2, "h6d2", "g6f4"), has=seen(0.3))
        assert is_shared(threat, made) is shared


@pytest.mark.parametrize(("line", "plies"), [("Bxg4 Bxg4 d5", 2), ("Bxg4 Bxg4 c4 Kh1 d5", 0)])
def test_a_break_late_in_a_line_explains_no_mistake(line: str, plies: int) -> None:
    fen = "2bqr1kb/p4p1p/3p1Pp1/1rp1n1Q1/1P1pP1N1/P2P4/4B1PP/R1B2RK1 b - - 4 27"
    moves = ucis(fen, line)
    made = replace(scene(fen, "Nxg4 Bxg4 Bxg4"), had=seen(0.5, *moves), has=seen(-0.2))
    better = fault.Better(step("c8g4"), ())
    _, (told,) = later_in_line(made, [], [better], "club")
    assert isinstance(told, fault.Better)
    assert (told.plies, bool(told.why)) == (plies, plies > 0)


@pytest.mark.parametrize(
    ("fen", "line", "missed"),
    [
        ("r1bq1rk1/ppp2pbp/2np1np1/4P3/2P5/5NPP/PP2PPB1/RNBQ1RK1 b - - 0 8", "(Nxe5) b3", True),
        (  # that was to take back already, and to take again begins another trade
            "r1bq1rk1/ppp2pbp/2np1np1/4p3/2PP4/5NPP/PP2PPB1/RNBQ1RK1 w - - 0 8",
            "(dxe5 Nxe5) b3",
            False,
        ),
    ],
)
def test_who_has_taken_back_leaves_nothing_to_take_back(fen: str, line: str, missed: bool) -> None:
    made = replace(scene(fen, line), had=seen(0.2, "f3e5", "d6e5"), has=seen(0.1))
    claim = outcomes.TakesBack(unit("Ne5"))
    assert claim.proved(made.instead)
    assert is_missed(claim, made) is missed


def test_an_outpost_is_shared_by_a_move_to_another_one() -> None:
    fen = "5rk1/p4rp1/2p4p/P1PpB3/5PP1/4P3/3n1RK1/R7 b - - 4 32"
    for line, shared in (("Ne4 Rb2", True), ("Kh7 Re2", False)):
        made = replace(scene(fen, line), had=seen(0.0, "d2c4", "e5d4"), has=seen(0.3))
        assert is_shared(positional.Outpost(unit("nc4")), made) is shared


@pytest.mark.parametrize(("better", "said"), [("a5a6", []), ("f1c1", ["chases"])])
def test_an_answer_that_attacks_as_well_after_the_better_move_is_no_reason(
    better: str, said: list[str]
) -> None:
    fen = "5rk1/p4rp1/2p4p/P1Pp4/3BnPP1/4P3/6K1/R4R2 w - - 1 31"
    had, has = seen(0.5, better, "e4f6"), seen(0.05, "e4d2", "f1d1", "d2c4")
    told = chosen(fen, "Be5 Nd2 Rfd1 Nc4", had, has, always(0.0))
    causes = [claim for claim in told.claims if isinstance(claim, fault.Allows)]
    assert [kind for claim in causes for kind in kinds(claim.why)] == said


@pytest.mark.parametrize(
    ("line", "cost", "said"),
    [
        ("Be6 Bxe6 fxe6 d3 Nh6 Nf3 Nf5", 0.25, ["Doubles"]),
        ("Be6 Bxe6 fxe6 d3 Nh6 Nf3 Nf5", 0.5, []),  # which they are not worth
        ("Be6 Bxe6 fxe6 f5 exf5 d3 Nh6", 0.25, []),  # not for long
    ],
)
def test_doubled_pawns_are_named_where_nothing_else_is(
    line: str, cost: float, said: list[str]
) -> None:
    fen = "r1bqkbnr/pp2pppp/2n5/2p1P3/2Bp1P2/P7/1PPP2PP/RNBQK1NR b KQkq - 0 5"
    value = cost - 0.08
    had, has = seen(0.08, "g8h6", "g1f3", "a7a6"), seen(value, *ucis(fen, line)[1:])
    told = chosen(fen, line, had, has, along(fen, line, value))
    causes = [claim for claim in told.claims if isinstance(claim, fault.Allows)]
    assert [kind for claim in causes for kind in kinds(claim.why)] == said


@pytest.mark.parametrize(("has", "slight"), [(-0.15, False), (0.1, True)])
def test_a_minority_attack_is_not_what_a_mistake_allows(has: float, slight: bool) -> None:
    fen = "1r3rk1/1pqbppbp/p2p1np1/P7/2P5/1P2PB2/1BN2PPP/R2Q1RK1 w - - 4 18"
    made = scene(fen, "Ne1 b5 axb6", seen(0.2, "c2b4"), seen(has, "b7b5"))
    assert ({"minority_attack", "bare_king"} <= too_little(made)) is slight


@pytest.mark.parametrize(
    ("ranks", "move", "old"), [("6Q1/8", "Kh1", True), ("5Q2/8", "Qg3", False)]
)
def test_what_could_be_won_before_is_no_new_threat(ranks: str, move: str, old: bool) -> None:
    """The knight attacks the queen on g3, which stands there or comes there."""
    made = scene(f"7k/7p/8/8/4n3/{ranks}/6K1 w - - 0 1", f"{move} h6")
    threat = merit.Threatens(step("e4g3"), unit("Qg3"))
    assert was_threatened(threat, made) is old
    assert was_threatened(outlook.Intends(step("e4g3"), ()), made) is old
    assert not was_threatened(tactic.Promotes(chess.QUEEN), made)


@pytest.mark.parametrize(("second", "alike"), [(0.35, True), (0.2, False)])
def test_what_only_one_of_two_refutations_does_is_no_reason(second: float, alike: bool) -> None:
    other = seen(second, "g8f8")
    made = scene(LOOSE_PAWN, "Kf8 Kf1", seen(0.2, "g6e6"), replace(seen(0.4, "e1f1"), other=other))
    found = as_good_reply(made)
    assert (found is not None) is alike
    assert found is None or found.move == other.line[0]
    assert as_good_reply(replace(made, has=seen(0.4, "e1f1"))) is None


@pytest.mark.parametrize(("pieces", "idle"), [("q", True), ("r", False)])
def test_a_pawn_decides_an_ending_without_queens(pieces: str, idle: bool) -> None:
    fen = f"4{pieces}1k1/5p2/8/8/8/8/5P2/3{pieces.upper()}2K1 w - - 0 1"
    made = scene(fen, "Kg2 Kg7", seen(0.3, "g1h1"), seen(0.4, "g8g7"))
    for claim in (aftermath.Takes(unit("Pf2")), positional.PassedPawn(unit("pf7"))):
        assert is_too_small(claim, made) is idle


@pytest.mark.parametrize(("mate", "said"), [(2, False), (3, False), (4, True)])
def test_no_mate_is_announced_that_was_nearer_before(mate: int, said: bool) -> None:
    fen = "8/8/8/8/1R5P/2p3Q1/2k2K2/8 w - - 0 44"
    made = scene(fen, "h5", seen(1.0, "f2e2", mate=mate), seen(-1.0, mate=-3))
    claims = select(made, Memory(), "club").claims
    assert any(isinstance(claim, merit.MateIn) for claim in claims) is said


def test_of_a_move_that_takes_a_piece_is_not_told_what_it_does_next() -> None:
    fen = "2rq2k1/1p3p2/p4bpp/1b1p4/1P2B3/P3P3/3QNPPP/2R2RK1 b - - 0 21"

    def look(board: chess.Board, _: int) -> Evaluation:
        takes, other = chess.Move.from_uci("d8d2"), next(iter(board.legal_moves))
        best = takes if takes in board.legal_moves else other
        return seen(-0.5 if board.turn else 0.9, str(best))

    made = scene(fen, "Kg7", seen(0.5, "d5e4"), seen(0.0))
    made = replace(made, analysis=seen_by(look))
    assert intends(made.instead, "club")
    better = fault.Better(step("d5e4"), (Feature(attacks_loose, False, (unit("Qd2"),)),))
    assert intended(made, [], [better], "club") is None


def test_the_next_best_move_fails_to_a_mate_in_some_moves() -> None:
    fen = "6rk/5prp/p2np3/1p4N1/7R/P5PQ/1qP3P1/5R1K b - - 3 31"
    look = seen(0.99, "h4h7", "g7h7", "h3h7", mate=2)
    made = scene(fen, "Qxc2 Rf2", replace(seen(0.6, "b2c2"), other=seen(-0.9, "g8e8")), seen(-0.6))
    there = {chess.E8, chess.H4, chess.H3}
    known = seen_by(lambda board, _: look if board.piece_map().keys() >= there else seen(-0.6))
    [claim] = select(replace(made, analysis=known), Memory(), "club", Tone.KEEN).claims
    assert isinstance(claim, outlook.NextFails)
    assert claim.why == (merit.MateIn(1),)


@pytest.mark.parametrize(
    ("better", "answer", "met"),
    [
        ("d8d7", "f7e6", False),  # any move but that of the pawn lets it take so
        ("e8d7", "d7e6", True),
        ("d8c8", "c8c1", False),  # it takes what the knight has left
    ],
)
def test_what_comes_is_kept_off_by_what_is_new(better: str, answer: str, met: bool) -> None:
    fen = "3rk3/5p2/8/8/3N4/8/8/2R1K3 b - - 0 1"
    made = scene(fen, "f5 Ne6", seen(0.0, better), seen(0.3, "d4e6"))
    assert bool(outlook.meets(replace(made, analysis=where_legal(answer, 0.3)))) is met


@pytest.mark.parametrize(("answer", "met"), [("c6d4", False), ("g8f6", True)])
def test_an_answer_that_takes_what_was_left_meets_nothing(answer: str, met: bool) -> None:
    """The queen is attacked by the better move; a quiet reply only leaves it to be taken."""
    fen = "rnb1kbnr/ppppqppp/8/8/2BQP3/8/PPP2PPP/RNB1K1NR b KQkq - 0 4"
    made = scene(fen, "f6 Nc3", seen(0.0, "b8c6"), seen(0.3, "b1c3"))
    assert bool(outlook.meets(replace(made, analysis=where_legal(answer, 0.3)))) is met


@pytest.mark.parametrize(
    ("then", "words"),
    [(0, "after which the game is level"), (-1, "after which White is worse"), (-2, "which loses")],
)
def test_the_next_best_move_is_named_with_what_it_leads_to(then: int, words: str) -> None:
    made = scene(QUIET, "Rd2", seen(0.5, "a2d2"), seen(-0.5))
    text = Speaker("club").predicate(outlook.BeatsNext(Step(made.move, "1.Rc2"), then), made)
    assert text == f"is better than 1.Rc2, {words}"


@pytest.mark.parametrize(("rival", "alone"), [(0.3, True), (0.0, True), (0.7, False)])
def test_a_move_alone_keeps_a_win_where_the_longest_look_agrees(rival: float, alone: bool) -> None:
    had = seen(0.8, "a1a7", second=0.2)
    made = scene("4k3/8/8/8/8/8/8/R3K3 w - - 0 1", "Ra7", had, seen(-0.8))
    looks = seen_by(lambda _, times: replace(had, second=rival) if times > 1 else had)
    assert grades.OnlyGood(2).proved(replace(made, analysis=looks)) is alone


def test_a_line_in_which_a_taker_may_be_taken_wins_nothing() -> None:
    fen = "r3k2r/pp3ppp/2p1bq2/2b5/4P2N/P1pP1PP1/2P3BP/R2QK2R b KQkq - 0 14"
    assert not takes_for_good(scene(fen, "g5 Nf5 Bxf5 f4 O-O-O"), "15.Nf5 Bxf5 16.f4")
    assert takes_for_good(scene(fen, "g5 Nf5 Bxf5 exf5 O-O-O"), "15.Nf5 Bxf5 16.exf5")
    assert takes_for_good(scene(fen, "g5 f4 gxh4 gxh4 Qxh4+"), "15.f4 gxh4")
    assert takes_for_good(scene(fen, "g5 f4"), "")


def test_what_a_move_takes_is_no_reason_beside_one_that_takes_as_much() -> None:
    fen = "rnbqkbnr/1p1p4/p1p1p1p1/5p1P/2PPPP1P/8/PP6/RNBQKBNR b KQkq - 0 7"
    claim = aftermath.Takes(unit("Pe4"))
    taking = scene(fen, "gxh5 e5 d5 Nc3 Be7 Be3", seen(-0.2, "f5e4", "b1c3"), seen(0.6, "e4e5"))
    assert not is_missed(claim, taking)
    quiet = scene(fen, "Nh6 hxg6 Ke7", seen(-0.2, "f5e4", "b1c3"), seen(0.6, "h5g6"))
    assert is_missed(claim, quiet) is ends_apart(quiet.instead, quiet.other)


def test_a_check_that_was_possible_before_is_not_all_that_is_said() -> None:
    """A threat without a reason is named only if it shows what is taken."""
    fen = "r2qkbnr/pp3ppp/4p3/3pN3/6Q1/2N4P/PPn1KPP1/R1B4R b kq - 1 11"
    made = scene(fen, "Nxa1 Qa4+ Ke7 Qb4+", seen(0.6, "d8a5"), seen(0.95, "g4a4"))
    [cause] = fault.faults(made, ())
    assert isinstance(cause, fault.Allows)


def test_a_move_alone_holds_where_the_longest_look_sees_another_hold() -> None:
    """Zero is a value, too."""
    had = seen(0.0, "a1a7", second=-0.9)
    made = scene("4k3/8/8/8/8/8/8/R3K3 w - - 0 1", "Ra7", had, seen(0.0))
    looks = seen_by(lambda _, times: replace(had, second=0.0) if times > 1 else had)
    assert grades.OnlyGood(0).proved(replace(made, analysis=seen_by(lambda *_: had)))
    assert not grades.OnlyGood(0).proved(replace(made, analysis=looks))


FORK_LATER = "7k/6pp/8/r3r3/8/4N3/8/6K1 w - - 0 1"


@pytest.mark.parametrize(
    ("line", "how"),
    [
        ("Kf2 h6 Nc4 Rac5 Nxe5 Rxe5", (2, ["Fork"])),
        ("Kf2 h6 Nf5 Rxf5+ Ke3 Rfe5+", (0, [])),  # which is taken
    ],
)
def test_how_it_wins_is_told_by_a_later_move(line: str, how: tuple[int, list[str]]) -> None:
    made = replace(scene(FORK_LATER, line), analysis=along(FORK_LATER, line, 0.8))
    plies, why = how_it_wins(made, "club")
    assert (plies, kinds(why)) == how


@pytest.mark.parametrize(("lost", "said"), [((), ["ComesOut"]), ((chess.BISHOP,), ["Wins"])])
def test_a_capture_that_is_retaken_shows_how_it_wins(
    lost: tuple[int, ...], said: list[str]
) -> None:
    """The exchange names what was given for it; a rook that is taken back is not won by that."""
    fen = "2r3k1/2rb4/1p2pP2/pP1pPpNp/P2Nn2P/4K3/6P1/R1R5 w - - 13 33"
    made = scene(fen, "Rxc7 Rxc7 f7+ Kf8 Ndxe6+ Bxe6 Nxe6+ Kxf7 Nxc7")
    wins = merit.Wins((chess.ROOK,), lost)
    line = "33...Rxc7 34.f7+ Kf8 35.Ndxe6+ Bxe6 36.Nxe6+ Kxf7 37.Nxc7"
    comes = outcomes.ComesOut((chess.ROOK,), lost, line)
    made.memo.update({wins: True, comes: True})
    assert kinds(tuple(ranked(made, [wins, comes], Memory(), "club"))) == said


def test_to_prepare_a_threat_of_mate_is_told_apart_from_a_threat() -> None:
    made = scene("6k1/8/8/8/8/8/8/1R4K1 w - - 0 1", "Kf2 Kf7")
    mate, gain = merit.Threatens(step("b1b8"), None), merit.Wins((chess.ROOK,), ())
    keys = [claim_key(outlook.Intends(step("b1b7"), (why,)), made) for why in (mate, gain)]
    assert keys == ["Intends.mate", "Intends"]


@pytest.mark.parametrize(("longest", "holds"), [(-0.5, True), (0.1, False)])
def test_the_longest_look_decides_whether_an_answer_is_good(longest: float, holds: bool) -> None:
    looks = seen_by(lambda _, times: seen(longest if times == LONGEST_LOOK else 0.0))
    fen = "2r3k1/pp3ppp/2n2n2/5N2/2Pp1Q2/7P/qB2RPP1/6K1 b - - 1 23"
    made = scene(fen, "Qxc4 Qg5 Nh5 Qxh5", seen(0.0, "g8h8"), seen(0.57, "f4g5"))
    assert outlook.answer_holds(replace(made, analysis=looks)) is holds


def test_a_pawn_that_is_taken_much_later_in_the_other_line_is_missed() -> None:
    fen = "r2q1rk1/4bppp/npp2n2/pN1p1b2/3P1B2/P3PN2/1P2BPPP/2RQ1RK1 w - - 0 15"
    late = "Nc3 b5 Ne5 Nb8 Bd3 Bxd3 Qxd3 Re8 Ne2 b4 Nxc6 Nxc6 Rxc6"
    soon = "h3 Ne4 Rxc6 Nb8 Rc1 Na6"
    for line, missed in ((late, True), (soon, False)):
        had, has = seen(0.5, "c1c6", "f6e4", "c6c1"), seen(-0.2, *ucis(fen, line)[1:])
        made = scene(fen, line, had, has)
        picks = aftermath.PicksUp(unit("pc6"))
        assert is_missed(picks, made) is missed


@pytest.mark.parametrize(("answer", "spent"), [("Bxc6 Rxc6", True), ("Rab8 Bxb7", False)])
def test_a_pin_that_the_pinned_piece_shakes_off_is_no_reason(answer: str, spent: bool) -> None:
    fen = "r4rk1/1b3ppp/8/1B6/8/8/5PPP/2R3K1 w - - 0 1"
    pin = tactic.Pins(unit("bb7"), unit("ra8"), unit("Bc6"))
    assert is_spent(pin, scene(fen, f"Bc6 {answer}")) is spent


def test_a_mate_by_a_sacrifice_is_said_and_not_what_is_won_on_the_way() -> None:
    fen = "k1r5/p7/PpN3p1/1Q1N1p2/3P3p/1P3P1P/1Kn1n3/4r3 b - - 2 40"
    line = "Ncxd4 Qxb6 Rb1+ Kxb1 Nc3+ Nxc3 axb6 Na4"
    made = scene(fen, line, seen(0.4, "e1b1"), seen(1.0, *ucis(fen, line)[1:]))
    queen = (unit("Qb6"), (chess.QUEEN,), ())
    comes = outcomes.ComesOut((chess.ROOK,), (), "41...Rb1+ 42.Kxb1")
    made.other.memo.update({comes: False, replace(comes, main=True): True})
    aims: tuple[tuple[Aim, list[str]], ...] = (("mate", ["GivesUp"]), ("interest", ["ComesOut"]))
    for aim, said in aims:
        first: list[Claim] = [GivesUp(*queen, aim, moves=5)]
        assert kinds(tuple(_and_main(first, [comes], made.other, 2))) == said


@pytest.mark.parametrize(("answer", "spent"), [("gxf3 d3", True), ("Re1 Bg4", False)])
def test_what_is_hit_by_a_piece_that_is_taken_back_is_no_reason(answer: str, spent: bool) -> None:
    fen = "5r2/1p4k1/p1nq2p1/8/3pR1b1/5N2/PP3QP1/1B4K1 b - - 3 30"
    made = scene(fen, f"Bxf3 {answer}")
    assert is_spent(merit.Threatens(step("f3e4"), unit("Re4")), made) is spent


def test_a_quiet_move_that_wins_says_that_it_threatens_mate() -> None:
    fen = "8/1R3pk1/Q1p3p1/1pP3bp/1P2q3/4P1PK/5P1P/8 b - - 15 44"
    made = scene(fen, "Qh1 Rxf7+ Kxf7 Qa2+ Ke7", seen(0.74), seen(-0.74))
    quiet, mate = Feature(quiet_killer, False, counts=(0,)), merit.Threatens(step("h1f1"), None)
    other = merit.Threatens(step("h1e4"), unit("Qe4"))
    made.memo.update({quiet: True, mate: True, other: True})
    assert ranked(made, [quiet, mate], Memory(), "club") == [quiet, mate]
    assert ranked(made, [quiet, other], Memory(), "club") == [quiet]


def test_a_sacrifice_that_holds_by_perpetual_check_says_so() -> None:
    fen = "8/5ppk/6r1/8/P2R1Q1p/5P1P/6PK/4q3 b - - 3 45"
    made = scene(fen, "Rxg2+ Kxg2 Qe2+ Kg1 Qe1+ Kg2 Qe2+ Kg1", seen(0.0), seen(0.0))
    gives = GivesUp(unit("rg2"), (4,), (1,), "level", line="46.Kxg2 Qe2+ 47.Kg1")
    draws = outlook.Draws("check", "46.Kxg2 Qe2+ 47.Kg1 Qe1+ 48.Kg2")
    made.memo.update({gives: True, draws: True})
    assert ranked(made, [gives, draws], Memory(), "club") == [draws]
    made.memo[draws] = False
    assert ranked(made, [gives, draws], Memory(), "club") == [gives]


def test_a_win_that_says_no_more_is_told_with_the_mate_it_threatens() -> None:
    fen = "r5k1/1p3p1p/p4Qp1/q6P/8/8/1PP2PP1/1K5R w - - 0 1"
    made = scene(fen, "h6 Kf8", seen(0.9), seen(-0.9))
    wins = merit.Wins((4,), ())
    told = with_point(made, [wins], "club")
    assert [claim == wins or threatens_mate(claim) for claim in told] == [True, True]
    quiet = scene("r5k1/1p3ppp/p4Q2/q6P/8/8/1PP2PP1/1K5R w - - 0 1", "Rh4 gxf6")
    assert with_point(quiet, [wins], "club") == [wins]


def test_what_fails_is_said_once_of_the_same_move() -> None:
    made = scene(SICILIAN, "Nc3 a6", seen(0.1), seen(-0.1))
    first = Fails(step("d4c6"), step("b7c6"))
    made.memo[first] = True
    assert ranked(made, [first], Memory(), "club", soft=True) == [first]
    assert ranked(made, [first], Memory(said={first}), "club", soft=True) == []


@pytest.mark.parametrize(("pinned", "said"), [("q", True), ("r", True), ("p", False)])
def test_a_quiet_move_that_wins_says_which_piece_it_pins(pinned: str, said: bool) -> None:
    fen = f"2kr3r/1pp2p2/p2p3p/3P1{pinned}1B/2P5/1P6/P5PP/R2Q3K w - - 0 21"
    made = scene(fen, "Bg4 Rde8 Bxf5+ Kb8", has=seen(-0.7))
    quiet = Feature(quiet_killer, True, counts=(0,))
    pin = tactic.Pins(unit(f"{pinned}f5"), unit("kc8"), unit("Bg4"))
    assert pin.proved(made)
    two = Feature(attacks_two, True, (unit("rd8"), unit(f"{pinned}f5")))
    made.memo.update({quiet: True, pin: True, two: True})
    assert ranked(made, [quiet, two, pin], Memory(), "club", most=2) == [quiet, *[pin][:said]]


RESCUED = "r1bq1rk1/1p2ppbp/p1n3p1/3n4/3P4/2NB1N1P/PP3PP1/R1BQR1K1 b - - 4 11"


def test_a_pawn_in_the_main_line_needs_no_exchange_that_proves_it() -> None:
    """A discovered attack may win it back in captures alone; the line that is expected has none."""
    line = "Nxd4 Nxd4 Bxd4 Ne4 Be6 Bh6 Bg7 Bxg7 Kxg7 Qd2 Qd7"
    made = replace(scene(RESCUED, line), analysis=along(RESCUED, line, -0.15))
    [won], [taken] = outcomes.outcome(made), aftermath.picked_up(made)
    assert not is_confirmed(won, made)
    assert not is_confirmed(taken, made)
    assert is_confirmed(replace(won, main=True), made)
    assert is_confirmed(replace(taken, main=True), made)


@pytest.mark.parametrize(("queens", "said"), [("1bqk", False), ("qb1k", True)])
def test_what_a_move_does_beside_its_point_is_not_said(queens: str, said: bool) -> None:
    """The knight opens the file before the king, and hits the queen if she is there."""
    fen = f"r{queens}2r/1p6/2n1ppn1/p2p2N1/3p4/8/PPPBQPPP/2KR3R w kq - 0 15"
    made = scene(fen, "Nxe6 Bxe6 h4 a4", seen(0.0, "g5e6"), seen(0.0, "c8e6"))
    found = kinds(select(made, Memory(), "club", Tone.PLAIN).claims)
    assert found == (["opens_centre"] if said else [])


@pytest.mark.parametrize(("rooks", "said"), [("R5K1", True), ("3R2K1", False)])
def test_a_file_is_taken_once(rooks: str, said: bool) -> None:
    """Another rook that comes to it makes two of them, and does not take it."""
    fen = f"2r3k1/pp3ppp/8/8/7R/8/PP3PPP/{rooks} w - - 0 1"
    made = scene(fen, "Rhd4 h6 h3 h5", seen(0.1, "h4d4"), seen(-0.1, "h7h6"))
    found = kinds((*select(made, Memory(), "club", Tone.KEEN).claims,))
    assert positional.TakesFile(unit("Rd4"), True).proved(made)
    assert ("TakesFile" in found) is said


@pytest.mark.parametrize(("hangs", "said"), [(True, False), (False, True)])
def test_what_hangs_is_not_compared_with(hangs: bool, said: bool) -> None:
    """The bishop takes the rook after the next best move, as it might at once where it hangs."""
    fen = "7k/8/3r4/8/8/B7/8/5K2 b - - 0 1" if hangs else "7k/3r4/8/8/8/B7/8/5K2 b - - 0 1"
    best, next_best = ("d6d1", "h8g8") if hangs else ("d7d1", "d7d6")
    made = scene(
        fen,
        "Rd1+ Kf2 Rd2+",
        replace(seen(0.6, best), other=seen(-0.6, next_best), second=-0.6),
        seen(-0.6, "f1f2"),
    )
    takes = seen(0.6, "a3d6", "g8g7" if hangs else "h8g7", "d6e5")
    there = chess.Board(fen)
    there.push_uci(next_best)
    known = seen_by(lambda board, _: takes if board.fen() == there.fen() else seen(-0.6))
    found = kinds((*select(replace(made, analysis=known), Memory(), "club", Tone.KEEN).claims,))
    assert ("NextFails" in found) is said


@pytest.mark.parametrize(("king", "said"), [("g4f4", True), ("g4f5", False)])
def test_who_gets_the_opposition_later_in_the_better_line_is_no_matter(
    king: str, said: bool
) -> None:
    fen = "8/5p2/8/8/6k1/8/5K2/8 b - - 4 53"
    better = {"g4f4": ("f2e2", "f7f6", "e2f2"), "g4f5": ("f2f3", "f7f6", "f3e3")}[king]
    made = scene(fen, "f5 Kg2 Kf4 Kf2", seen(0.9, king, *better), seen(0.0, "f2g2"))
    gets, theirs = Feature(opposition, True), [*moves_of(made.instead.other)]
    assert gets.proved(made.other)
    assert any(gets.proved(later) for later in theirs)
    assert is_there_too(gets, theirs) is not said


@pytest.mark.parametrize(("knight", "said"), [("", True), ("N2", False)])
def test_a_pawn_that_was_left_is_named_where_nothing_else_is(knight: str, said: bool) -> None:
    """Though the move costs more than a pawn; not one that is taken back."""
    fen = "r2qkb1r/5ppp/p1bppn2/1p2P3/8/1BN5/PPP1QPPP/R1B1K2R b KQkq - 0 11"
    fen = fen.replace("/1BN5/", f"/1BN2{knight}/") if knight else fen
    bad = "Nd5 Bxd5 Bxd5 Nxd5 exd5 exd6+ Kd7 a4 Bxd6 axb5 Re8"
    good = "Nxe5 Qc7 Be3 Bd6" if knight else "O-O h6 Rd1 Qc7 Be3 Bd6 a4 b4 Nb1"
    had, has = seen(0.25, *ucis(fen, f"dxe5 {good}")), seen(0.5, *ucis(fen, bad)[1:])
    made = scene(fen, bad, had, has)
    best: list[Claim] = [fault.Better(step("d6e5"), ())]
    _, (told,) = on_the_board(made, [], best, "club")
    assert isinstance(told, fault.Better)
    assert kinds(told.why) == (["Takes"] if said else [])
    assert is_too_small(aftermath.Takes(unit("Pe5")), made)


@pytest.mark.parametrize("met_there", [True, False])
def test_an_attack_that_the_better_move_meets_is_the_reason(met_there: bool) -> None:
    """It is not met where what is attacked stands elsewhere."""
    bishop = "p3B3/1p6" if met_there else "p7/1p3B2"
    fen = f"r2qr1k1/3b1ppp/5n2/{bishop}/1P6/2P2PPP/RN1QR1K1 w - - 0 17"
    made = scene(fen, "Qf3 Ng4 Qd5 Qf6", seen(0.0, "b1d2", "d7f5"), seen(0.6, "f6g4"))
    made = replace(made, analysis=where_legal("d2c4", 0.0))
    causes: list[Claim] = [fault.Allows(step("f6g4"), ())]
    best: list[Claim] = [fault.Better(step("b1d2"), ())]
    causes, lines = on_the_board(made, causes, best, "club")
    told = [kinds(vars(claim)["why"]) for claim in (*causes, *met(made, causes, lines))]
    assert told == ([["outnumbers"], ["Meets"]] if met_there else [[], []])


@pytest.mark.parametrize(("black", "said"), [("r1bqkb1r/ppp3pp", True), ("r1bqbb1r/ppp3kp", False)])
def test_what_takes_is_safe_from_a_piece_that_is_pinned(black: str, said: bool) -> None:
    """The knight that guards the pawn may take back where its king stands elsewhere."""
    fen = f"{black}/2n2n2/1B1pp3/8/2P1PN2/PP1N1PPP/R1BQK2R w KQ - 3 8"
    made = scene(fen, "Nxe5 Qd6 Ndf3 Be7")
    takes = aftermath.PicksUp(unit("pe5"))
    assert kinds(tuple(with_threat([takes], made, []))) == ["PicksUp", *["UsesPin"][:said]]


@pytest.mark.parametrize(
    ("claim", "value", "little"),
    [
        (GivesUp(unit("Bd5"), (chess.BISHOP,), (), "king"), 0.0, True),
        (GivesUp(unit("Bd5"), (chess.BISHOP,), (), "mate"), 0.0, False),
        (outlook.Draws("check", ""), 0.1, True),
        (outlook.Draws("check", ""), -0.4, False),  # who is worse threatens to draw
    ],
)
def test_to_drive_a_king_is_no_threat_nor_to_draw_a_level_game(
    claim: Claim, value: float, little: bool
) -> None:
    assert threatens_little(claim, value) is little


@pytest.mark.parametrize(("made", "said"), [("Rxf3", False), ("Kd2", True)])
def test_a_pawn_that_the_move_made_takes_as_well_was_not_left(made: str, said: bool) -> None:
    fen = "r3k2r/8/8/8/8/5p2/6B1/4KR2 w - - 0 1"
    line = f"{made} {'Kd7' if made == 'Rxf3' else 'fxg2'}"
    best = seen(0.6, "g2f3", "e8d7", "f3d5", "d7d6")
    move = scene(fen, line, best, seen(0.2, *ucis(fen, line)[1:]))
    better: list[Claim] = [fault.Better(step("g2f3"), ())]
    _, (told,) = on_the_board(move, [], better, "club")
    assert ("Takes" in kinds(vars(told)["why"]) or "PicksUp" in kinds(vars(told)["why"])) is said


def test_what_happens_once_is_said_once_of_a_move_that_words_are_asked_for() -> None:
    fen = "r1bqk2r/ppppbppp/2n2n2/4p3/8/2N1BN2/PPPP1PPP/R2QKB1R w KQkq - 0 1"
    made = scene(fen, "Bd3", seen(0.1, "f1d3"), seen(-0.1))
    memory, said = Memory(), list[str]()
    while chosen := select(made, memory, "club", Tone.PLAIN).claims:
        said += kinds(chosen)
        remember(memory, made, Selection(chosen))
    assert "last_minor" in said
    assert "last_minor" not in kinds(select(made, memory, "club", Tone.KEEN).claims)


@pytest.mark.parametrize(("seen_then", "named"), [(-0.9, True), (0.0, False)])
def test_the_better_move_of_a_pawn_ending_is_named_where_a_long_look_agrees(
    seen_then: float, named: bool
) -> None:
    fen = "8/p4k2/1p3pp1/7p/P4P1P/1P1K2P1/8/8 w - - 0 1"
    made = scene(fen, "b4 Ke6", seen(0.9, "d3c4"), seen(0.0, "f7e6"))
    made = replace(made, analysis=always(seen_then))
    better = fault.Better(Step(chess.Move.from_uci("d3c4"), "1.Kc4"), ())
    assert better.proved(made) is named


def test_a_move_that_is_asked_for_alone_is_said_to_lead_where_the_line_leads() -> None:
    fen = "4k3/ppp2ppp/2n5/1B6/8/8/PPP2PPP/4K3 w - - 0 1"
    made = scene(fen, "Bxc6+ bxc6 Kd2 Kd7", seen(0.2, "b5c6"), seen(-0.2, "b7c6"))
    assert "Doubles" in kinds(select(made, Memory(), "club", Tone.ASKED).claims)
    assert "Doubles" not in kinds(select(made, Memory(), "club", Tone.KEEN).claims)


SICILIAN = "rnbqkb1r/pp2pppp/3p1n2/8/3NP3/8/PPP2PPP/RNBQKB1R w KQkq - 1 5"
ROOKS = "r5k1/5ppp/8/8/8/8/4RPPP/4R1K1 w - - 0 1"


def test_who_asks_of_one_move_hears_the_name_of_its_opening_too() -> None:
    made = scene(SICILIAN, "f3 a6", seen(0.1, "b1c3"), seen(-0.05, "a7a6"))
    assert kinds(select(made, Memory(), "club", Tone.ASKED).claims)[-1] == "Names"
    assert "Names" not in kinds(select(made, Memory(), "club", Tone.PLAIN).claims)


@pytest.mark.parametrize(("move", "named"), [("a3", False), ("c3", True), ("Bxf7+", True)])
def test_who_asks_of_one_move_hears_that_it_leaves_the_named_openings(
    move: str, named: bool
) -> None:
    """But for a bad move, of which more is to be said."""
    fen = "r1bqk2r/2p1bppp/p1np1n2/1p2p3/4P3/1B3N2/PPPP1PPP/RNBQR1K1 w kq - 0 8"
    worth = -0.8 if move == "Bxf7+" else 0.15
    made = scene(fen, move, seen(0.2, "c2c3"), seen(-worth))
    told = move_facts(made, Speaker("club"))["comment"]
    assert ("named" in told or "a name" in told) is not named
    assert "a name" not in move_facts(made, Speaker("beginner"))["comment"]


@pytest.mark.parametrize(
    ("fen", "line", "shown"),
    [
        (ROOKS, "Re8+ Rxe8 Rxe8#", True),
        ("7k/8/5K2/8/8/8/8/6Q1 w - - 0 1", "Kf7 Kh7 Qh1#", False),  # of no pattern
    ],
)
def test_the_pattern_of_a_mate_that_comes_soon_is_shown(fen: str, line: str, shown: bool) -> None:
    made = replace(
        scene(fen, line, seen(1.0, mate=2), seen(-1.0, mate=-1)),
        analysis=along(fen, line, 1.0),
    )
    assert ("WinsBy" in kinds(select(made, Memory(), "club").claims)) is shown
