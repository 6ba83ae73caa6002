"""Sacrifices and what they are for, on moves that are some and on look-alikes that are none."""

import chess
import pytest

from kibitz.comment.analysis import Analysis
from kibitz.comment.claims.claim import Claim
from kibitz.comment.claims.faults import Turns
from kibitz.comment.claims.grades import BOLD
from kibitz.comment.claims.sacrifices import ACCEPTED, confirmed_sacrifice, sacrifice
from kibitz.comment.facts import UNSEARCHED, Scene
from kibitz.comment.judge import Evaluation
from kibitz.comment.marks import add_lines, lines_of
from kibitz.comment.words.speaker import Comment, Speaker
from kibitz.position.pgn import parse_game
from kibitz.search.report import Score
from tests.comment.looks import seen_by


def scene(
    fen: str, line: str, value: float = 0.4, mate: int = 0, analysis: Analysis = UNSEARCHED
) -> Scene:
    """A move with the line that follows; the value for the mover is the same before and after."""
    board = chess.Board(fen)
    after = board.copy()
    moves = tuple(after.push_san(san) for san in line.split())
    score = Score("mate", -mate) if mate else Score("cp", 0)
    had = Evaluation(Score("cp", 0), value, moves)
    has = Evaluation(score, -1.0 if mate else -value, moves[1:])
    return Scene(board, moves[0], moves[1:], analysis, had=had, has=has)


# Paris 1858, before moves 10, 13 and 16.
KNIGHT = "rn2kb1r/p3qppp/2p2n2/1p2p1B1/2B1P3/1QN5/PPP2PPP/R3K2R w KQkq - 0 10"
EXCHANGE = "3rkb1r/p2nqppp/5n2/1B2p1B1/4P3/1Q6/PPP2PPP/2KR3R w k - 3 13"
QUEEN = "4kb1r/p2n1ppp/4q3/4p1B1/4P3/1Q6/PPP2PPP/2KR4 w k - 0 16"
CASES = [
    (KNIGHT, "Nxb5 cxb5 Bxb5+ Kd8 O-O-O+ Kc8", 0, "castling", (2,), (1, 1)),
    (EXCHANGE, "Rxd7 Rxd7 Rd1 Qe6 Bxd7+ Qxd7 Rxd7 Kxd7 Qb7+", 0, "interest", (4,), (2,)),
    (QUEEN, "Qb8+ Nxb8 Rd8#", 1, "mate", (5,), ()),
]


@pytest.mark.parametrize(("fen", "line", "mate", "aim", "lost", "won"), CASES)
def test_a_sacrifice_is_told_with_what_it_is_for(
    fen: str,
    line: str,
    mate: int,
    aim: str,
    lost: tuple[int, ...],
    won: tuple[int, ...],
) -> None:
    one = scene(fen, line, mate=mate)
    found = sacrifice(one)
    assert found is not None
    assert (found.aim, found.lost, found.won) == (aim, lost, won)
    assert found.proved(one)
    text = Speaker().comment(one).text
    assert "sacrifices" in text or "gives up" in text


@pytest.mark.parametrize(
    ("fen", "line"),
    [
        # A trade, a recapture, a pawn, a piece that comes back with the next move.
        ("4k3/8/2n5/8/8/5B2/8/4K3 w - - 0 1", "Bxc6+ Ke7 Bf3 Ke6"),
        ("r3k3/8/2n5/8/3N4/8/1P6/R3K3 w Qq - 0 1", "Rxa8+ Kd7 Nxc6 Kxc6 Ra6+ Kb5"),
        ("rnbqkbnr/ppp1pppp/8/3p4/3P4/8/PPP1PPPP/RNBQKBNR w KQkq - 0 2", "c4 dxc4 e3 e5 Bxc4 Nc6"),
        (
            "r1bqkb1r/pppp1ppp/2n2n2/4p3/2B1P3/2N2N2/PPPP1PPP/R1BQK2R b KQkq - 5 4",
            "Nxe4 Nxe4 d5 Bd3 dxe4 Bxe4 Bd6",
        ),
    ],
)
def test_what_only_looks_like_one_is_none(fen: str, line: str) -> None:
    found = sacrifice(scene(fen, line))
    assert found is None or found.aim == "back"


# 17.Nd6+ is mate next move whether or not the knight is taken; of the rook nothing is offered.
DECLINED = "2kr2n1/pppnqp2/6p1/4p2r/3BNP1p/3P1Q1P/P1P3B1/R5K1 w - - 0 17"
LADDER = "7k/8/8/8/8/8/R7/1R4K1 w - - 0 1"


def test_a_piece_that_had_better_not_be_taken_is_given_for_mate() -> None:
    found = sacrifice(scene(DECLINED, "Nd6+ Kb8 Qxb7#", mate=1))
    assert found is not None
    assert (found.aim, found.piece.kind, found.moves) == ("mate", chess.KNIGHT, 1)
    assert sacrifice(scene(LADDER, "Ra7 Kg8 Rb8#", mate=1)) is None


def test_nothing_is_sacrificed_where_the_value_falls() -> None:
    one = scene(KNIGHT, CASES[0][1])
    assert one.has is not None
    worse = Evaluation(one.has.score, 0.5, one.has.line)
    assert sacrifice(Scene(one.before, one.move, one.follow, had=one.had, has=worse)) is None


def test_a_mate_that_costs_a_queen_is_told_however_many_sacrifices_there_were() -> None:
    speaker = Speaker()
    for fen, line, mate, *_ in CASES:
        claims = speaker.comment(scene(fen, line, mate=mate)).claims
        assert type(claims[0]).__name__ == "GivesUp"


# New York 1956, before move 17...Be6 offers the queen.
OFFER = "r3r1k1/pp3pbp/1qp3p1/2B5/2BP2b1/Q1n2N2/P4PPP/3R1K1R b - - 3 17"
ACCEPTS = "Be6 Qxc3 Qxc5 dxc5 Bxc3 Bxe6 Rxe6"


@pytest.mark.parametrize(("accepted", "aim"), [(0.5, "offer"), (0.15, "")])
def test_an_offer_is_proved_by_the_longest_look_at_its_acceptance(
    accepted: float, aim: str
) -> None:
    def look(_: chess.Board, times: int) -> Evaluation:
        return Evaluation(Score("cp", 0), accepted if times == ACCEPTED else 0.13, ())

    one = scene(OFFER, ACCEPTS, 0.13, analysis=seen_by(look))
    found = sacrifice(one)
    assert (found.aim if found else "") == aim
    assert found is None or found.lost == (chess.QUEEN,)


# The same game, before move 11...Na4 offers a knight.
SHAM = "r2q1rk1/pp2ppbp/1np2np1/2Q3B1/3PP1b1/2N2N2/PP3PPP/3RKB1R b K - 6 11"


@pytest.mark.parametrize(("best", "offers"), [("b6a4", True), ("g4f3", False)])
def test_a_best_move_offers_however_much_lower_a_longer_look_after_it_is(
    best: str, offers: bool
) -> None:
    def look(board: chess.Board, _: int) -> Evaluation:
        if board.turn == chess.BLACK:
            expected = best if board.piece_at(chess.B6) else "f6e4"
            return Evaluation(Score("cp", 187), 0.33, (chess.Move.from_uci(expected),))
        line = tuple(map(chess.Move.from_uci, ("c5a3", "a4c3")))
        return Evaluation(Score("cp", -91), -0.17, line)

    one = scene(SHAM, "Na4 Qa3 Nxc3 bxc3 Nxe4", 0.27, analysis=seen_by(look))
    found = confirmed_sacrifice(one)
    assert (found is not None) is offers
    assert found is None or (found.aim, found.lost) == ("offered", (chess.KNIGHT,))


def test_a_refutation_whose_point_comes_later_is_told_up_to_it() -> None:
    """That it was threatened before says nothing of what it does."""
    board = chess.Board("r3r1k1/pp3pbp/1qp1b1p1/2B5/2BP4/Q1n2N2/P4PPP/3R1K1R w - - 4 18")
    lines = [
        "Bxb6 Bxc4+ Kg1 Ne2+ Kf1 Nxd4+ Kg1 Ne2+ Kf1 Nc3+ Kg1 axb6 Qb4 Ra4 Qxa4 Nxa4",
        "Qxc3 Qxc5 dxc5 Bxc3 Bxe6 Rxe6 g3 Re7",
    ]
    made, best = (tuple(_played(board, line)) for line in lines)
    had = Evaluation(Score("cp", -175), -0.31, best)
    has = Evaluation(Score("cp", 596), 0.8, made[1:])
    one = Scene(board, made[0], made[1:], UNSEARCHED, had=had, has=has)
    assert "20.Kf1 Nxd4+, which starts a windmill" in Speaker().comment(one).text


@pytest.mark.parametrize(("push", "explains"), [("e5", True), ("a5", False)])
def test_a_later_break_in_the_centre_explains_a_mistake(push: str, explains: bool) -> None:
    fen = "r1bqk2r/ppp1ppbp/2n2np1/3p4/2PP1B2/4PN2/PP3PPP/RN1QKB1R w KQkq - 1 6"
    board = chess.Board(fen)
    made = tuple(_played(board, f"c5 Nh5 Be5 f6 Bg3 {push} Be2 O-O O-O Be6 Nc3 Qd7 h3 Rad8"))
    best = tuple(_played(board, "Nc3 O-O h3 e6 Rc1 a6 cxd5 Nxd5 Nxd5 Qxd5 a3 Bd7 Bd3 Ne7"))
    had, has = (
        Evaluation(Score("cp", 82), value, line) for value, line in ((0.15, best), (0.1, made[1:]))
    )
    one = Scene(board, made[0], made[1:], UNSEARCHED, had=had, has=has)
    text = Speaker().comment(one).text
    for words in ("8.Bg3 e5", "the pawn on d4"):
        assert (words in text) == explains


def _played(board: chess.Board, line: str) -> list[chess.Move]:
    at = board.copy()
    return [at.push_san(san) for san in line.split()]


def test_an_offer_that_allows_mate_names_it() -> None:
    fen = "5rk1/4r1np/1p1ppnp1/2p3N1/5P2/1qP3PQ/3PRN1P/4R2K w - - 0 23"
    one = scene(fen, "Ng4 Qd5+ Kg1 Nxg4 Qxh7#", value=0.9)
    found = sacrifice(one)
    assert found is not None
    assert (found.aim, found.moves) == ("mated", 1)
    assert (
        Speaker().comment(one).text.endswith("offers the knight on g4: to take it allows 24.Qxh7#.")
    )


def test_a_variation_shows_what_accepting_an_offer_leads_to() -> None:
    game = parse_game(f'[FEN "{OFFER}"]\n\n17... Be6 18. Qxc3 *').tree
    lines = {"Bxb6": "Bxc4+ Kg1 Ne2+ Kf1 Nxd4+"}

    def look(board: chess.Board, times: int) -> Evaluation:
        took = board.piece_at(chess.B6) == chess.Piece.from_symbol("B")
        expected = lines["Bxb6"] if took and times == ACCEPTED else ""
        moves = tuple(board.push_san(san) for san in expected.split())
        return Evaluation(Score("cp", 529), 0.5, moves)

    one = scene(OFFER, ACCEPTS, 0.13, analysis=seen_by(look))
    found = sacrifice(one)
    assert found is not None
    assert found.aim == "offer"
    node = game.variations[0]
    add_lines(node, lines_of(one, Comment("", (found,)), "club"))
    added = node.variations[1]
    assert added.comment == "[%eval -5.29]"
    assert [added.san(), *(each.san() for each in added.mainline())] == [
        "Bxb6",
        *lines["Bxb6"].split(),
    ]


@pytest.mark.parametrize(
    ("made", "said", "lines"), [(-0.05, (), 2), (-0.05, (Turns(0, -1),), 1), (0.15, (), 1)]
)
def test_a_mark_without_words_has_the_better_line(
    made: float, said: tuple[Claim, ...], lines: int
) -> None:
    game = parse_game("1. a3 e5 *").tree
    better, move = chess.Move.from_uci("e2e4"), chess.Move.from_uci("a2a3")
    had, has = Evaluation(Score("cp", 30), 0.2, (better,)), Evaluation(Score("cp", 0), -made, ())
    one = Scene(chess.Board(), move, (), had=had, has=has)
    add_lines(game.variations[0], lines_of(one, Comment("", said), "club"))
    assert [node.move for node in game.variations] == [move, better][:lines]
    assert "30]" in game.variations[-1].comment or lines == 1


# Black may take with the knight, and has to move its king, or with the queen, and has not.
EITHER = "2r1kb1r/pb1R1p1p/1q2pp2/2n5/8/2P2NP1/1P2PPBP/1N1Q1RK1 w k - 1 13"
FORCED = "Rxb7 Nxb7 Qa4+ Ke7 Nd4 Bh6 Na3 Nc5"
QUIET = "Rxb7 Qxb7 b4 Nd7 Qa4 Bh6 Nd4 Qb6"


@pytest.mark.parametrize(
    ("fen", "lines", "aim"), [(EITHER, (FORCED, QUIET), ""), (KNIGHT, (CASES[0][1],), "castling")]
)
def test_castling_is_lost_whatever_takes(fen: str, lines: tuple[str, ...], aim: str) -> None:
    known: dict[str, tuple[chess.Move, ...]] = {}
    for line in lines:
        board = chess.Board(fen)
        moves = tuple(board.push_san(san) for san in line.split())
        board = chess.Board(fen)
        for ply, move in enumerate(moves):
            known.setdefault(board.epd(), moves[ply:])
            board.push(move)

    def look(board: chess.Board, _: int) -> Evaluation:
        value = 0.13 if board.turn else -0.13
        return Evaluation(Score("cp", 0), value, known.get(board.epd(), ()))

    one = scene(fen, lines[0], 0.13, analysis=seen_by(look))
    first, found = sacrifice(one), confirmed_sacrifice(one)
    assert first is not None
    assert first.aim == "castling"
    assert (found.aim if found else "") == aim


# The queen takes the knight after its check, or goes on with something else.
CHECKED = "5rk1/6b1/3p2p1/R3n3/2p5/2B2PqP/1P1QB1P1/6K1 w - - 3 35"
FOLLOWS = "Kh7 Qxc4 Rxf3 Rh5+ gxh5 Qe4+ Kh8 Qxf3 Qxf3 gxf3 Bf6"


def test_what_a_check_wins_back_is_not_sacrificed() -> None:
    offer = sacrifice(scene(CHECKED, f"Bxc4+ Nxc4 Qd5+ {FOLLOWS}"))
    assert offer is not None
    assert offer.aim == "checks"
    assert offer.aim not in BOLD
    kept = "Bxc4+ Nxc4 Qd5+ Kh7 Ra7 Ne3 Qe4 Rf5 Qe7 Rf7"
    assert sacrifice(scene(CHECKED, kept)) is not None


# A knight is given for a pawn, and the game is level with it and without it.
GIFT = "6k1/5ppp/8/8/4N3/8/5PPP/6K1 w - - 0 1"
MIDDLEGAME = "r2q1rk1/pppb1ppp/8/8/4N3/8/PPPB1PPP/R2Q1RK1 w - - 0 1"


@pytest.mark.parametrize(
    ("fen", "line", "aim"),
    [
        (GIFT, "Nf6+ gxf6 h3 h6 Kh2 Kg7", ""),
        (MIDDLEGAME, "Nf6+ gxf6 h3 h6 Kh2 Kg7", "level"),
    ],
)
def test_a_piece_given_for_nothing_in_a_drawn_ending_is_no_sacrifice(
    fen: str, line: str, aim: str
) -> None:
    offer = sacrifice(scene(fen, line, value=0.0))
    assert offer is not None
    assert (offer.lost, offer.aim) == ((chess.KNIGHT,), aim)
    level = seen_by(lambda board, _: Evaluation(Score("cp", 0), 0.0, _reply(board, line)))
    given = confirmed_sacrifice(scene(fen, line, value=0.0, analysis=level))
    assert (given.aim if given else "") == aim


def _reply(board: chess.Board, line: str) -> tuple[chess.Move, ...]:
    """The moves of a line from the first that is possible on."""
    for number, san in enumerate(moves := line.split()):
        at = board.copy()
        try:
            return tuple(at.push_san(move) for move in moves[number:])
        except ValueError:
            assert san
    return ()


def test_a_knight_that_takes_a_bishop_and_is_taken_back_is_no_sacrifice() -> None:
    fen = "2r2r2/1p4k1/p2p1p2/2pPpP1R/P1P1P{}2/1P1B2pN/1B2K3/8 w - - 3 30"
    line = "Nxf4 exf4 Rg5+ Kh7 Rg6 Rg8 Kf3 Rxg6 fxg6+ Kxg6"
    assert sacrifice(scene(fen.format("b"), line)) is None
    assert sacrifice(scene(fen.format("p"), line)) is not None


def test_a_piece_that_is_guarded_well_enough_is_not_given() -> None:
    """What takes the knight on c3 is taken by the pawn on b2, and that costs a pawn at most."""
    fen = "2rq1rk1/pp4p1/1n3bp1/3p4/3Q4/2NB4/PPP2P2/1K1R2R1 w - - 2 23"
    line = "Qg4 Bxc3 Qe6+ Kh8 Bxg6 Qf6 Qh3+ Kg8 Qh7#"
    seen = seen_by(lambda board, _: Evaluation(Score("cp", 0), 0.0, _reply(board, line)))
    one = scene(fen, line, value=0.0, analysis=seen)
    offer = sacrifice(one)
    assert offer is not None
    assert offer.piece.square == chess.C3
    assert confirmed_sacrifice(one) is None
