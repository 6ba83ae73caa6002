"""Claims that depend on tables or a deeper look hold only where these say so."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import chess
import pytest

from kibitz.comment.analysis import Analysis
from kibitz.comment.annotate import Style, annotate, tones_of
from kibitz.comment.claims.claim import Step, step
from kibitz.comment.claims.faults import Allows, AllowsMate, Overlooks
from kibitz.comment.claims.lines.outlook import answer_line
from kibitz.comment.claims.merits import OnlyMove, Threatens, Verdict, Wins, merits, threat_pays
from kibitz.comment.claims.motifs import pays
from kibitz.comment.claims.positional import TakesFile
from kibitz.comment.claims.tactical import Discovers, Fork
from kibitz.comment.decoder.verify import verified
from kibitz.comment.facts import UNSEARCHED, Scene, Unit
from kibitz.comment.judge import DECIDED, Evaluation, Label
from kibitz.comment.select.rank import LEVELS, Memory, is_confirmed, kind_of, worth_saying
from kibitz.comment.select.selection import REST, Selection, Tone, remember, select
from kibitz.comment.words.speaker import Speaker
from kibitz.comment.words.story import Figures
from kibitz.engine import Engine
from kibitz.position.pgn import parse_game
from kibitz.search.limits import Limits
from kibitz.search.report import Score
from tests.comment.looks import judged_by, seen_by

TABLES = Path(__file__).parent.parent / "fixtures" / "syzygy"


def scene(analysis: Analysis, fen: str, *line: str) -> Scene:
    board = chess.Board(fen)
    after = board.copy()
    moves = [after.push_san(san) for san in line]
    return Scene(board, moves[0], tuple(moves[1:]), analysis)


def always(seen: Evaluation) -> Callable[[chess.Board, int], Evaluation]:
    """A deeper search that sees the same everywhere."""

    def look(_: chess.Board, __: int) -> Evaluation:
        return seen

    return look


@pytest.mark.parametrize(
    ("fen", "move", "result", "words"),
    [
        # The pawn queens; the rook or the pawn is taken and nothing is left; the last pawn goes.
        ("8/4P3/8/8/2k5/8/7p/4K3 w - - 0 1", "e8=Q", None, ""),
        ("8/4k3/4P3/8/8/8/8/4K3 b - - 0 1", "Kxe6", None, ""),
        ("4k3/8/8/8/8/8/4r3/R3K3 w - - 0 1", "Kxe2", 1, "win"),
        ("8/8/8/8/4p3/3k4/3N4/3K4 w - - 0 1", "Nxe4", 0, "draw"),
    ],
)
def test_a_verdict_of_the_tables_is_told_when_it_is_new(
    fen: str, move: str, result: int | None, words: str
) -> None:
    one = scene(judged_by(TABLES), fen, move)
    found = [claim for claim in merits(one) if isinstance(claim, Verdict)]
    assert found == ([] if result is None else [Verdict(result)])
    for other in {-1, 0, 1} - {result}:
        assert not Verdict(other).proved(one)
    assert words in Speaker("expert").comment(one).text


def test_nothing_is_said_of_tables_that_are_not_there() -> None:
    one = scene(UNSEARCHED, "4k3/8/8/8/8/8/4r3/R3K3 w - - 0 1", "Kxe2")
    assert not Verdict(1).proved(one)


# The queen on d5 is not guarded; in what follows the rook stays, or is lost for nothing.
LOOSE = "4k3/8/8/3q4/8/8/3R4/4K3 w - - 0 1"
KEPT, LOST = "e8e7 e1e2 e7f7 e2e3 f7e7 e3f3", "e8e7 d5e5 e7d6 e1e2 d6e5 e2d2"


@pytest.mark.parametrize(("follow", "confirmed"), [(KEPT, True), (LOST, False)])
def test_a_gain_is_told_only_if_the_deeper_line_keeps_it(follow: str, confirmed: bool) -> None:
    line = tuple(map(chess.Move.from_uci, follow.split()))
    analysis = seen_by(always(Evaluation(Score("cp", -500), -0.7, line)))
    one = scene(analysis, LOOSE, "Rxd5", "Ke7", "Ke2", "Kf7", "Ke3")
    assert Wins((5,), ()).proved(one)
    assert is_confirmed(Wins((5,), ()), one) is confirmed


@pytest.mark.parametrize(
    ("follow", "falls"),
    [
        ("Kh7 Bxf8 Bxf8 Nfxe5 dxe5 Nxe5", True),
        ("Re8 Bxd6 Qd8 Nfxe5 Nxe5 Nxe5", False),  # pawns are given instead
    ],
)
def test_a_piece_is_named_only_if_the_deeper_line_has_it_fall(follow: str, falls: bool) -> None:
    fen = "r1b2rk1/ppqn1pb1/2pp2pp/4p2n/2NPP2B/2PB1N1P/PP3PP1/1R1Q1RK1 w - - 6 13"
    plain = scene(UNSEARCHED, fen, "Be7", *follow.split())
    seen = always(Evaluation(Score("cp", 0), 0.0, plain.follow))
    one = replace(plain, analysis=seen_by(seen))
    assert Wins((4,), (3,)).falls(one) is falls


@pytest.mark.parametrize(("follow", "confirmed"), [(KEPT, True), (LOST, False)])
def test_a_threat_is_told_only_if_the_deeper_line_keeps_something(
    follow: str, confirmed: bool
) -> None:
    """After Rd2 and a pass Rxd5 takes the knight; then the other side moves."""
    line = tuple(map(chess.Move.from_uci, follow.split()))
    analysis = seen_by(always(Evaluation(Score("cp", -500), -0.7, line)))
    one = scene(analysis, "4k3/8/8/3n4/8/8/R7/4K3 w - - 0 1", "Rd2", "Ke7")
    taken = Step(chess.Move.from_uci("d2d5"), "2.Rxd5")
    threat = Threatens(taken, Unit(chess.KNIGHT, chess.D5, False))
    assert threat_pays(threat, one) is confirmed


# A knight comes to attack the pawn on a7, which nothing guards, or the rook.
@pytest.mark.parametrize(("rook", "told"), [("3r2k1", True), ("r5k1", False)])
def test_beginners_are_told_of_a_threat_to_an_unguarded_pawn(rook: str, told: bool) -> None:
    fen = f"{rook}/p4ppp/8/8/8/2N5/1P3PPP/5RK1 w - - 0 1"
    one = scene(UNSEARCHED, fen, "Nb5", "h6")
    for level in LEVELS:
        said = worth_saying(one, Memory(), level, 2)
        threats = [claim for claim in said if isinstance(claim, Threatens)]
        assert bool(threats) is (told and level == "beginner")


def test_a_line_that_ends_early_is_looked_at_again() -> None:
    board = chess.Board()
    line = (chess.Move.from_uci("g1f3"), chess.Move.from_uci("g8f6"))
    back = (chess.Move.from_uci("f3g1"), chess.Move.from_uci("f6g8"))

    def look(at: chess.Board, _: int) -> Evaluation:
        there = at.piece_at(chess.F3) is not None
        return Evaluation(Score("cp", 0), 0.0, back if there else line)

    assert seen_by(look).expected(board) == [*line, *back, *line]
    assert UNSEARCHED.expected(board) is None


def test_what_follows_a_reply_is_looked_at_again_where_it_ends_early() -> None:
    board = chess.Board("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1")
    line = tuple(map(chess.Move.from_uci, ("e2e4", "e8e7", "e1e2")))
    more = Evaluation(Score("cp", 0), 0.0, (chess.Move.from_uci("e7e6"),))
    had = Evaluation(Score("cp", -500), -0.7, line)
    end = Evaluation(Score("cp", 0), 0.0, ())
    looks = seen_by(lambda at, _: more if more.line[0] in at.legal_moves else end)
    made = Scene(board, line[0], line[1:], looks, had=had)
    assert made.other.follow == (line[2], *more.line)
    assert made.instead.follow == (*line[1:], *more.line)


@pytest.mark.parametrize(("won", "falls"), [((4, 1), False), ((4, 1, 1), True)])
def test_what_is_given_for_a_gain_is_told_with_all_that_falls(
    won: tuple[int, ...], falls: bool
) -> None:
    board = chess.Board("r5k1/pp6/8/8/8/8/6B1/R5K1 w - - 0 1")
    moves = tuple(map(chess.Move.from_uci, ("g2b7", "a8b8", "a1a7", "b8b7", "a7b7")))
    expected = Evaluation(Score("cp", -300), -0.5, moves[1:])
    after = board.copy()
    after.push(moves[0])
    nothing = Evaluation(Score("cp", 0), 0.0, ())
    analysis = seen_by(lambda at, _: expected if at.fen() == after.fen() else nothing)
    assert Wins(won, (3,)).falls(Scene(board, moves[0], moves[1:], analysis)) is falls


def test_an_answer_that_was_named_before_is_named_again_with_its_reason() -> None:
    board = chess.Board("4k3/8/8/3q4/8/8/3R4/4K3 w - - 0 1")
    lines = (("d2d5", "e8e7", "e1e2", "e7e6"), ("d5d2", "f1g1", "e8e7"))
    had, has = (
        Evaluation(Score("cp", 500), 0.7, tuple(map(chess.Move.from_uci, line))) for line in lines
    )
    made = Scene(board, chess.Move.from_uci("e1f1"), has.line, had=had, has=has)
    speaker = Speaker()
    speaker.memory.replies.add(step(board, had.line[0]))
    text = speaker.comment(made).text
    assert "1.Rxd5 was possible: it takes the queen on d5" in text


def test_what_follows_a_colon_is_said_last() -> None:
    board = chess.Board("4k3/8/8/3n4/8/8/8/R3K3 w - - 0 1")
    board.push(chess.Move.null())
    line = tuple(map(chess.Move.from_uci, ("e8e7", "a1d1")))
    rook = Unit(chess.ROOK, chess.D1, True)
    made = Scene(board, line[0], line[1:], has=Evaluation(Score("cp", 0), 0.0, line[1:]))
    threat = Threatens(Step(chess.Move.from_uci("d1d5"), "2.Rxd5"), Unit(2, chess.D5, False))
    claim = Allows(step(made.after, line[1]), (threat, TakesFile(rook, True)))
    speaker = Speaker()
    texts = [speaker.sentence_of(made, claim) for _ in range(8)]
    assert any("2.Rxd5: nothing" in text for text in texts)
    assert not [text for text in texts if "2.Rxd5: nothing" in text and "d5 and" in text]


def test_without_a_deeper_look_a_scene_stays_as_it_is() -> None:
    one = scene(UNSEARCHED, LOOSE, "Rxd5")
    assert one.deeper is one


def test_an_only_move_needs_the_deeper_look_to_agree() -> None:
    best = (chess.Move.from_uci("d2d5"),)
    for second, confirmed in ((-0.01, False), (-0.5, True)):
        seen = Evaluation(Score("cp", 0), 0.0, best, second=second)
        one = scene(seen_by(always(seen)), LOOSE, "Rxd5")
        assert is_confirmed(OnlyMove(False), one) is confirmed


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("1. e4 c5 2. Nf3 d6 3. d4 cxd4 4. Nxd4 Nf6 5. Nc3 a6 6. Rb1 h5 7. Ra1 h4 *", "Najdorf"),
        # 5.Ng3 has no name, but is on the way to one.
        ("1. e4 c6 2. d4 d5 3. Nc3 dxe4 4. Nxe4 Bf5 5. Ng3 Bg6 6. a3 h6 7. a4 h5 *", "Classical"),
    ],
)
def test_the_move_that_leaves_the_named_openings_is_told_once(text: str, name: str) -> None:
    game = parse_game(f'[Event "?"]\n\n{text}\n')
    with Engine("material", hash=16, multipv=2) as engine:
        annotate(game, engine, Style(limits=Limits(nodes=50)))
    said = [node.comment for node in game.tree.mainline()]
    told = [ply for ply, text in enumerate(said) if "a name" in text or "named opening" in text]
    assert told == [10]
    assert any(name in text for text in said[:10])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("Kd7 Nxd5 Ke6 Nc7+ Kd6", "2.Nxd5 Ke6 3.Nc7+"),  # the queen is gone at once
        ("Qd4 Kf1 Qd6 Nb5 Kf7 Nxd6+ Kg6", "2.Kf1 Qd6 3.Nb5 Kf7 4.Nxd6+"),
        ("Kd7 Nxd5", "2.Nxd5"),
    ],
)
def test_an_answer_is_followed_until_it_wins_something(line: str, words: str) -> None:
    board = "4k3/8/8/3q4/8/2N5/8/4K3 b - - 0 1"
    assert answer_line(scene(UNSEARCHED, board, *line.split())) == words
    moves = ("Kd6", "Nxd5", "Kxd5", "Kd2", "Kd4")
    trade = scene(UNSEARCHED, "8/4k3/8/3n4/8/2N5/8/4K3 b - - 0 1", *moves)
    assert answer_line(trade) == "2.Nxd5 Kxd5 3.Kd2"


def test_what_a_fork_wins_is_told_as_its_outcome() -> None:
    one = scene(UNSEARCHED, "q3k3/8/8/3N4/8/8/8/4K3 w - - 0 1", "Nc7+", "Kd7", "Nxa8")
    text = Speaker("club").comment(one).text
    assert ", and so " in text
    assert verified(text, one, Speaker("club").comment(one)).holds


@pytest.mark.parametrize(("longer", "said"), [("Kd7 Nxa7 Kc7", True), ("Kd7 a3 Kxc6", False)])
def test_a_gain_whose_line_ends_early_is_followed_further(longer: str, said: bool) -> None:
    """A discovered check wins the queen; the search's own line is two plies long."""
    board = chess.Board("4k3/p4ppp/2q5/4N3/8/8/P4PPP/4R1K1 w - - 0 1")
    after = board.copy()
    made = after.push_san("Nxc6+")
    at = after.copy()
    line = tuple(at.push_san(san) for san in longer.split())
    if not said:  # the line of the deeper search ends early, too
        line = line[:2]
    has = Evaluation(Score("cp", -1000), -0.95, line[:2])

    def look(seen_at: chess.Board, _: int) -> Evaluation:
        return replace(has, line=line[seen_at.ply() - after.ply() :])

    analysis = seen_by(look)
    claims = worth_saying(Scene(board, made, line[:2], analysis, has=has), Memory(), "club", 2)
    assert (Discovers in map(type, claims)) is said


def views(value: float) -> tuple[Evaluation, Evaluation]:
    """What a search sees before a move and after it, as the mover and as the other side see it."""
    line = chess.Move.from_uci("d1f3")
    return Evaluation(Score("cp", 0), value, (line,)), Evaluation(Score("cp", 0), -value, ())


@pytest.mark.parametrize(("best", "said"), [("a3 Nc2 Rc1 Nd4", False), ("Rb1 Kg7 Kg2 Kf6", True)])
def test_what_the_better_move_allows_as_well_is_no_reason(best: str, said: bool) -> None:
    made = scene(UNSEARCHED, KNIGHT, "h3", "Nc2", "Rc1", "Nd4", "Kg2")
    line = tuple(scene(UNSEARCHED, KNIGHT, *best.split()).follow)
    first = scene(UNSEARCHED, KNIGHT, *best.split()).move
    had = Evaluation(Score("cp", 300), 0.5, (first, *line))
    has = Evaluation(Score("cp", -30), -0.1, made.follow)
    made = replace(made, had=had, has=replace(has, value=0.1))
    reply = [kind_of(claim) for claim in select(made, Memory(), "club").reply]
    assert ("chases" in reply) is said


KNIGHT = "6k1/8/8/8/1n6/8/P6P/R5K1 w - - 0 1"


@pytest.mark.parametrize("value", [0.0, 0.95])
def test_what_is_slight_is_said_where_a_reader_asks_why_or_has_read_nothing_for_long(
    value: float,
) -> None:
    made = scene(UNSEARCHED, "4k3/1p6/8/8/8/8/8/3BK3 w - - 0 1", "Bf3", "Ke7")
    made = replace(made, had=views(value)[0], has=views(value)[1])
    ply = made.before.ply()
    for spoke_at, sparing in ((ply - 1, False), (ply - REST, value < DECIDED)):
        memory = Memory(spoke_at=spoke_at)
        said = [bool(select(made, memory, "club", tone).claims) for tone in Tone]
        assert said == [sparing, True, True, True]
    memory = Memory()
    remember(memory, made, select(made, memory, "club"))
    assert memory.spoke_at == ply
    remember(memory, made, Selection())
    assert memory.spoke_at == ply


def test_a_refutation_is_told_when_it_is_played_if_its_reasons_were_not_told_before() -> None:
    made = scene(UNSEARCHED, "r3k3/8/8/1N6/8/8/8/4K3 b q - 0 1", "Kd8", "Nc7", "Kxc7")
    reply = step(made.after, made.follow[0])
    fork = Fork(Unit(chess.KNIGHT, chess.C7, True), (Unit(chess.ROOK, chess.A8, False),))
    causes = [AllowsMate(2, reply), Overlooks(reply, ()), Overlooks(reply, (fork,))]
    for cause, told in zip(
        [*causes, Allows(reply, (fork,))], (False, False, True, True), strict=True
    ):
        memory = Memory()
        remember(memory, made, Selection((cause,), reply=(fork,)))
        assert (fork in memory.said) is told


GIVEN = "1r3rk1/6p1/3p1q1p/3P4/2QN1p2/2n4P/5PP1/R4RK1 b - - 1 27"


def test_a_fork_may_win_back_what_was_given_for_it() -> None:
    board = chess.Board(GIVEN)
    for san in ("Qxd4", "Qxd4"):
        board.push_san(san)
    moves = [chess.Move.from_uci(uci) for uci in ("c3e2", "g1h2", "e2d4")]
    last = board.peek()
    forks = Scene(board, moves[0], tuple(moves[1:]), last=last, last_took=chess.QUEEN)
    assert (pays(forks), pays(forks, whole=True)) == (True, True)  # it began with a knight
    kept = replace(
        forks, follow=(moves[1], chess.Move.from_uci("g8h8"), chess.Move.from_uci("a1a8"))
    )
    assert not pays(kept)


def test_a_recapture_wins_nothing_back() -> None:
    board = chess.Board("r3k3/1p6/2n5/8/8/5B2/8/4K3 w - - 0 1")
    board.push_san("Bxc6+")
    made = Scene(board, board.parse_san("bxc6"), (), last=board.peek(), last_took=chess.KNIGHT)
    assert not pays(made)


def test_two_slight_things_are_not_said_once_all_is_decided() -> None:
    fen = "r2q1rk1/pp3ppp/8/8/8/3B2R1/PP3PPP/R2Q2K1 w - - 0 1"
    made = scene(UNSEARCHED, fen, "Qh5", "a6", "a3", "b6")
    for value, said in ((0.5, True), (0.95, False)):
        had, has = views(value)
        now = replace(made, had=had, has=has)
        assert len(select(now, Memory(), "club").claims) == 2
        assert bool(select(now, Memory(), "club", Tone.SPARING).claims) is said


def test_what_people_marked_or_wrote_and_the_end_are_spoken_of() -> None:
    tree = parse_game("1. e4 $1 e5 {good} 2. Nf3 {[%clk 0:10:00]} Nc6 *").tree
    told = Figures((0.0,) * 5, (Label.NONE,) * 4, None)
    assert tones_of(tree, told) == [Tone.KEEN, Tone.PLAIN, Tone.SPARING, Tone.KEEN]
    turned = told._replace(values=(0.0, 0.0, 0.0, 0.7, 0.7))
    assert tones_of(tree, turned)[2] is Tone.KEEN


def test_moves_that_change_something_are_spoken_of_unless_they_take_back() -> None:
    tree = parse_game("1. e4 d5 2. exd5 Qxd5 3. Nc3 Qa5 *").tree
    none = (Label.NONE,) * 6
    told = Figures((0.0, 0.0, 0.06, 0.06, 0.0, 0.04, 0.04), none, None)
    sparing, keen = Tone.SPARING, Tone.KEEN
    assert tones_of(tree, told) == [sparing, keen, sparing, sparing, sparing, keen]
    marked = told._replace(labels=(Label.INACCURACY, *none[1:]))
    assert tones_of(tree, marked)[0] is keen
    decided = told._replace(values=(0.9, 0.96, 0.9, 0.96, 0.9, 0.96, 0.9))
    assert tones_of(tree, decided)[:5] == [sparing] * 5


@pytest.mark.parametrize(("had", "said"), [(None, [1, 1, 1, 1]), (-3, [0, 1, 1, 1])])
def test_a_move_that_lets_mate_happen_is_not_praised(had: int | None, said: list[int]) -> None:
    """However lost the game was: neither side gains anything else by it."""
    made = scene(UNSEARCHED, "6k1/1b3ppp/8/8/8/7q/P4P1P/6K1 w - - 0 1", "a3", "Qg2#")
    score = Score("cp", -900) if had is None else Score("mate", had)
    line = (chess.Move.from_uci("f2f3"),)
    made = replace(
        made, had=Evaluation(score, -0.95, line), has=Evaluation(Score("mate", 1), 1.0, made.follow)
    )
    chosen = [select(made, Memory(), "club", tone).claims for tone in Tone]
    assert [sum(isinstance(one, AllowsMate) for one in claims) for claims in chosen] == said
    assert "1...Qg2#" in Speaker("club").comment(made).text
