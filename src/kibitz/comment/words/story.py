"""The story of a game in a paragraph: its opening, where it turned, how it ended."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby, pairwise
from typing import NamedTuple

import chess
import chess.engine
import chess.pgn

from kibitz.comment import force
from kibitz.comment.analyse import REMEMBERED
from kibitz.comment.claims import faults as fault
from kibitz.comment.claims.claim import CENTIPAWNS, Claim, Kinds, step, worth_of
from kibitz.comment.claims.faults import AllowsMate, Better, MissesMate
from kibitz.comment.claims.lines.aftermath import PicksUp, Takes
from kibitz.comment.claims.lines.outcomes import ComesOut, MatesLater
from kibitz.comment.claims.merits import Nets, Wins
from kibitz.comment.claims.positional import is_pawn_ending
from kibitz.comment.claims.tactical import TakesLoose
from kibitz.comment.facts import phase
from kibitz.comment.judge import (
    BAD,
    BETTER,
    DECIDED,
    TEN_PAWNS,
    WON,
    Label,
    accuracy,
    labels_of,
    score_of,
    standing,
    stands_clear,
    turning_points,
    value_of,
)
from kibitz.comment.openings import Opening, opening_in, without_book
from kibitz.comment.select.reasons import most_won
from kibitz.comment.select.selection import Selection
from kibitz.comment.words.english import ENGLISH
from kibitz.comment.words.language import Language
from kibitz.comment.words.speaker import Comment
from kibitz.position.pgn import eval_of, main_turns
from kibitz.search.report import Score

CALM = 20  # plies of a quiet beginning that is worth a sentence
EDGE = 0.18  # value of +1.00, which readers call clearly better
HABIT = 2  # bad moves of a kind that make a habit
SOON = 2  # plies between the edge and what decides for which that says it all
SWINGS = 3  # times that the better game changes hands that are worth a sentence
CHECKS = 3  # in a row, at least, that end a game by repetition
HABITS: dict[str, tuple[type[Claim], ...]] = {
    "mated": (fault.AllowsMate,),
    "hangs": (fault.EnPrise, fault.Abandons),
    "threats": (fault.Overlooks,),
    "mates": (MissesMate,),
    "gains": (Wins, Nets, ComesOut, PicksUp, Takes, TakesLoose),  # of the better move
}
LOSING = 0.35  # winning chances of the other side from which a mistake may decide a game
LISTED = 3  # turning points in a row with nothing but scores, from which on they are listed
TURNS = 6  # turning points that a story tells, at most
NEARLY = 0.7  # share of the greatest loss that makes an earlier mistake the decisive one
LEVEL = 0.1  # winning chances, in [-1, 1], of a position that looks level
OUTPLAYED = 0.4  # winning chances, in [-1, 1], lost in small steps


class Figures(NamedTuple):
    """A game in numbers."""

    values: tuple[float, ...]  # White's, before the first move and after every move
    labels: tuple[Label, ...]  # of every move
    opening: Opening | None


def figures_in(tree: chess.pgn.Game) -> Figures | None:
    """A game in numbers, by its [%eval] marks; None if one is missing."""
    turns = [turn for _, turn in main_turns(tree)]
    scores = [eval_of(node, turn) for node, turn in main_turns(tree)]
    values = tuple(white_value(score) for score in scores if score is not None)
    if len(values) < len(scores) or len(values) < 2:
        return None
    povs = [score.pov(turn).mate() for score, turn in zip(scores, turns, strict=True) if score]
    mates = {ply for ply, (had, has) in enumerate(pairwise(povs)) if had == 1 and has != 0}
    labels = without_book(tree, labels_of(values, tree.board().turn, mates))
    return Figures(values, labels, opening_in(tree)[1])


def white_value(score: chess.engine.PovScore) -> float:
    """White's winning chances, of an [%eval] mark."""
    white = score.white()
    mate = white.mate()
    if mate is None:
        return value_of(Score("cp", white.score() or 0))
    return 1.0 if mate > 0 or (mate == 0 and score.turn == chess.BLACK) else -1.0


def story_of(
    tree: chess.pgn.Game,
    figures: Figures,
    comments: Sequence[Comment | Selection],
    language: Language = ENGLISH,
) -> str:
    """A paragraph about a game that has moves; of bad ones `comments` say what there is to say."""
    nodes = list(tree.mainline())
    boards = _boards(tree)
    turns = turning_points(figures.values, TURNS)
    edge, decides = decisive(tree, figures)
    points = [ply for ply in turns if figures.labels[ply] in BAD or _is_clear(ply, boards, figures)]
    if decides is not None:
        points = sorted({decides, *(ply for ply in points if ply < decides)})
    points = points or _worst(tree, figures)
    teller = Teller(len(nodes), language)
    texts: list[str] = []
    if figures.opening is not None and (name := language.opening(figures.opening.name)):
        texts.append(teller.say("opening", name=name, eco=figures.opening.eco))
    first = points[0] if points else 0
    if form := _calm(figures, first):
        number = boards[first].fullmove_number
        texts.append(teller.say(form, number=str(number), before=str(number - 1)))
    texts.append(_outplayed(boards, figures, points, teller))
    better = [value > 0 for value in figures.values if standing(value)]
    if (swings := sum(had != has for had, has in pairwise(better))) >= SWINGS:
        texts.append(teller.say("swings", count=str(swings)))
    forms = dict[int, str]()
    for ply in sorted({*points, *([] if edge is None else [edge])}):
        clear = ply == decides or _is_clear(ply, boards, figures)
        form = "decided" if ply == decides else "" if clear else _unclear(ply, turns, figures)
        if ply not in points:
            form = "edge.bad" if figures.labels[ply] in BAD else "edge"
        forms[ply] = form
    moves = {ply: language.notation(step(boards[ply], nodes[ply].move).text) for ply in forms}
    texts += _told(forms, moves, boards, figures, comments, teller)
    if points or len(nodes) >= CALM:
        texts.append(_afterwards(tree, figures, points, bool(turns), teller))
    texts.append(_ending(tree, boards, figures, teller))
    texts.append(_accuracies(tree, figures, teller))
    for tell in (_counts, partial(_habit, comments)):
        texts += [text for side in (True, False) if (text := tell(nodes, figures, side, teller))]
    return " ".join(text[:1].upper() + text[1:] for text in texts if text)


def _afterwards(
    tree: chess.pgn.Game, figures: Figures, points: Sequence[int], turned: bool, teller: Teller
) -> str:
    """Who took over after the last turning point, or that the game stayed level; or nothing."""
    final, drawn = standing(figures.values[-1]), tree.headers.get("Result") == "1/2-1/2"
    last = standing(figures.values[points[-1] + 1 if points else 0])
    if final and not drawn and last * final <= 0:
        kind = "regained" if points else "gradual"
        slow = not _errs(figures.labels[points[-1] + 1 :] if points else figures.labels)
        kind += ".slowly" if points and slow else ""
        return teller.say(kind, winner=teller.language.sides[final > 0]) if points or slow else ""
    level = not final and not turned and not _errs(figures.labels)
    return teller.say("still") if level else ""


def _told(
    forms: Mapping[int, str],
    moves: Mapping[int, str],
    boards: Sequence[chess.Board],
    figures: Figures,
    comments: Sequence[Comment | Selection],
    teller: Teller,
) -> list[str]:
    """The sentences about turning points, in their order.

    Where there is only a score before and after each of three in a row, one sentence lists them.
    """
    texts = []
    for swung, run in groupby(forms, lambda ply: _has_only_scores(forms[ply], comments[ply])):
        plies = [*run]
        if swung and len(plies) >= LISTED:
            jumps = [
                teller.say("jump", move=moves[ply], **_scores(ply, figures, teller))
                for ply in plies
            ]
            texts.append(teller.say("jumps", jumps=teller.language.joined(jumps)))
            continue
        for ply in plies:
            side, form = boards[ply].turn, forms[ply]
            texts.append(_turn(ply, moves[ply], side, figures, comments[ply], form, teller))
    return texts


def _has_only_scores(form: str, comment: Comment | Selection) -> bool:
    """Whether nothing but the scores before and after it is to be said of a turning point."""
    return form == "swing" and not _cause(comment)[0]


def _scores(ply: int, figures: Figures, teller: Teller) -> dict[str, str]:
    """The scores before and after a move, as text."""
    scores = (score_of(value).amount for value in figures.values[ply : ply + 2])
    return dict(zip(("from", "to"), map(teller.language.score, scores), strict=True))


def _errs(labels: Iterable[Label]) -> bool:
    """Whether there is more than an inaccuracy among the marks of some moves."""
    return not {*BAD}.isdisjoint(labels)


def _boards(tree: chess.pgn.Game) -> list[chess.Board]:
    """The positions of a game, each with those before it, played once."""
    board = tree.board()
    boards = [board.copy()]
    for node in tree.mainline():
        board.push(node.move)
        boards.append(board.copy(stack=min(board.halfmove_clock, REMEMBERED)))
    return boards


def decisive(tree: chess.pgn.Game, figures: Figures) -> tuple[int | None, int | None]:
    """The ply from which on the winner was better to the end, and the loser's that decided.

    That is the loser's greatest mistake since then which left it lost, or nearly so, and of which
    not half was given back, or an earlier one that cost nearly as much. None where there is none,
    and where the result is not what the last position promises.
    """
    white = figures.values[-1] > 0
    result = tree.headers.get("Result", "*")
    values = [value if white else -value for value in figures.values]
    over = result == ("1-0" if white else "0-1")
    if standing(values[-1]) != 2 or not (over or tree.end().board().is_checkmate()):
        return None, None
    edge = len(figures.labels)
    while edge and values[edge] >= BETTER:
        edge -= 1
    if values[edge] >= BETTER:
        return None, None  # the game began so
    first = tree.board().turn
    lost = dict[int, float]()  # by mistakes
    for ply in range(edge, len(figures.labels)):
        had, has = values[ply : ply + 2]
        loses = ((ply % 2 == 0) == first) is not white and figures.labels[ply] in BAD
        if loses and had < WON and has >= LOSING and min(values[ply + 1 :]) > (had + has) / 2:
            lost[ply] = has - had
    if not lost:
        return None, None
    decides = next(ply for ply in lost if lost[ply] >= NEARLY * max(lost.values()))
    soon, level = edge >= decides - SOON, values[edge] <= LEVEL  # else it was better before
    return (edge if level and not soon else None), decides


def _unclear(ply: int, turns: Sequence[int], figures: Figures) -> str:
    """The sentence for a bad move where another engine may see the standings otherwise."""
    if ply not in turns:
        return "worst"
    mates = max(abs(figures.values[ply]), abs(figures.values[ply + 1])) >= TEN_PAWNS
    return "" if mates else "swing"


def _is_clear(ply: int, boards: Sequence[chess.Board], figures: Figures) -> bool:
    """Whether it is beyond doubt how the game stood before and after a move."""
    clear = all(stands_clear(figures.values[moment]) for moment in (ply, ply + 1))
    return clear and not is_pawn_ending(boards[ply + 1])


def _worst(tree: chess.pgn.Game, figures: Figures) -> list[int]:
    """The loser's most costly move, of a game that never turned, if it was not lost before.

    None if it was given back at once.
    """
    result, first = tree.headers.get("Result", "*"), tree.board().turn
    bad = []
    for ply, mark in enumerate(figures.labels):
        white = (ply % 2 == 0) == first
        had = standing(figures.values[ply] if white else -figures.values[ply])
        loses = result == ("0-1" if white else "1-0") and had > -2
        if loses and mark in BAD:
            bad.append(ply)
    worst = sorted(bad, key=lambda ply: abs(figures.values[ply + 1] - figures.values[ply]))[-1:]
    return [ply for ply in worst if not _errs(figures.labels[ply + 1 : ply + 2])]


class Teller:
    """Says sentences of the table, no form twice as long as there is another."""

    def __init__(self, start: int, language: Language = ENGLISH) -> None:
        self.language, self._used, self._start = language, Counter[str](), start

    def say(self, key: str, /, **slots: str) -> str:
        """A sentence with its slots filled; the game's length decides which form comes first."""
        forms = self.language.story.get(key, ("",))
        number = (self._start + self._used[key]) % len(forms)
        self._used[key] += 1
        return forms[number].format(**slots).replace(",.", ".").replace(",,", ",")


def _turn(
    ply: int,
    move: str,
    white: bool,
    figures: Figures,
    comment: Comment | Selection,
    form: str,
    teller: Teller,
) -> str:
    """What a turning point did, and what was right; `form` names the sentence, if it fits."""
    sign, language = 1 if white else -1, teller.language
    had, has = (standing(sign * figures.values[moment]) for moment in (ply, ply + 1))
    names = {"mover": language.sides[white], "side": language.sides[not white]}
    key = f"{had}.{has}" if f"{had}.{has}" in language.story else ""
    key = form or key or ("rises" if has > had else "worst")
    if form == "edge":
        names["side"] = language.sides[figures.values[-1] > 0]
    if key == "swing":
        names |= _scores(ply, figures, teller)
    kept = not _errs(figures.labels[ply + 1 : ply + 2])  # else it was given back at once
    fresh = had > 0 or _errs(figures.labels[max(ply - 1, 0) : ply])  # else it was won back
    text = teller.say(key, move=move, why=_because(comment, kept, fresh, teller), **names)
    better = next((claim.step.text for claim in comment.claims if isinstance(claim, Better)), "")
    if (
        better
        and form in ("", "decided")
        and f"kept.{had}" in language.story
        and stands_clear(figures.values[ply])
    ):
        mates = any(isinstance(claim, MatesLater) for claim in comment.better)
        keeping = teller.say("kept.mate" if mates else f"kept.{had}", **names)
        text += " " + teller.say("right", step=language.notation(better), kept=keeping)
    return text


def _because(comment: Comment | Selection, kept: bool, fresh: bool, teller: Teller) -> str:
    """Why the game turned: what the other side kept, or what could have been won and not back."""
    key, won = _cause(comment)
    if not key or (key == "lost" and not kept) or (key == "missed.gain" and not fresh):
        return ""
    return teller.say(key, won=teller.language.haul(won))


def _cause(comment: Comment | Selection) -> tuple[str, Kinds]:
    """The name of the clause that says why the game turned, and what was lost; empty if none."""
    kinds = {type(claim) for claim in (*comment.claims, *comment.reply)}
    if kinds & {AllowsMate, MatesLater}:
        return "mated", ()
    if kinds & {MissesMate} or any(isinstance(claim, MatesLater) for claim in comment.better):
        return "missed", ()
    lost, missed = most_won(comment.reply), most_won(comment.better)
    key, won = ("missed.gain", missed) if worth_of(missed, lost) > 0 else ("lost", lost)
    # A game turns by more than a pawn, of which there is more to say than that.
    return (key, won) if worth_of(won, (chess.PAWN,)) > 0 else ("", ())


def _calm(figures: Figures, first: int) -> str:
    """The name of the sentence about a level beginning without a mistake; empty where none was."""
    most = max(map(abs, figures.values[: first + 1]))
    if first < CALM or most >= EDGE or {*BAD} & {*figures.labels[:first]}:
        return ""
    return "calm.edge" if most > LEVEL else "calm"


def _outplayed(
    boards: Sequence[chess.Board], figures: Figures, points: Sequence[int], teller: Teller
) -> str:
    """Where one side lost ground little by little, not by the moves on which the game turned."""
    lost: defaultdict[tuple[str, bool], float] = defaultdict(float)
    # Where somebody made a mistake, nobody lost in small steps, or found the better moves.
    erred: set[tuple[str, bool]] = set()
    for ply, (had, has) in enumerate(pairwise(figures.values)):
        at = phase(boards[ply]), boards[ply].turn
        if figures.labels[ply] in BAD:
            erred |= {at, (at[0], not at[1])}
        elif ply not in points:
            lost[at] += max(0.0, had - has if at[1] else has - had)
    gains = {
        (name, white): lost[name, not white] - lost[name, white]
        for name, white in [*lost]
        if (name, not white) not in erred
    }
    if not gains:  # every move turned the game, or was a mistake
        return ""
    name, white = max(gains, key=lambda key: gains[key])
    if gains[name, white] < OUTPLAYED:
        return ""
    sides, where = teller.language.sides, teller.say(f"{name} phase")
    return teller.say("outplayed", side=sides[white], other=sides[not white], where=where)


def _ending(
    tree: chess.pgn.Game, boards: Sequence[chess.Board], figures: Figures, teller: Teller
) -> str:
    """How the game ended, by its last position, its tags and how it stood."""
    result, final = tree.headers.get("Result", "*"), standing(figures.values[-1])
    sides = teller.language.sides
    slots, last = {"number": str(boards[-2].fullmove_number)}, boards[-1]
    if last.is_checkmate() and result != ("0-1" if last.turn else "1-0"):
        kind = "mate" if result == "*" else "mate.other"
        return teller.say(kind, winner=sides[not last.turn], result=result, **slots)
    if last.is_stalemate() and result in ("1-0", "0-1"):
        return teller.say("stalemate.other", result=result, **slots)
    if result not in ("1-0", "0-1"):
        kind = "drawn" if result == "1/2-1/2" else "open"
        checks = [board.is_check() for board in boards[-1 : -2 * CHECKS : -2]]
        if kind == "drawn" and last.is_repetition(3) and all(checks) and len(checks) == CHECKS:
            return teller.say("drawn.check", winner=sides[not last.turn], **slots)
        by_rule = {
            "stalemate": last.is_stalemate(),
            "material": last.is_insufficient_material(),
            "repetition": last.is_repetition(3),
            "fifty": last.halfmove_clock >= 100,
            "won": abs(final) == 2,
        }
        rules = [rule for rule, holds in by_rule.items() if holds and kind == "drawn"]
        reason = "won" if "won" in rules else next(iter(rules), "")
        key = f"{kind}.{reason}" if reason else kind
        return teller.say(key, winner=sides[final > 0], **slots)
    white_won = result == "1-0"
    names = {"winner": sides[white_won], "loser": sides[not white_won]}
    for key in ("up", "down"):
        more = _more(last, white_won, figures.values[-1], teller)
        more = more if final == (2 if white_won else -2) else ""
        slots[key] = teller.say(key, material=more) if more else ""
    tags = tree.headers
    ended = tags.get("Termination", "").lower()
    online = ended == "normal" and "lichess.org" in tags.get("Site", "")
    kind = "resigned" if online or "resign" in ended else "won"
    if last.is_checkmate() and last.turn != white_won:
        kind = "mate"
    elif "time" in ended:
        late = last.turn == (not white_won)  # the flag fell on the move that was due
        slots["number"] = str((last if late else boards[-2]).fullmove_number)
        kind = "time.won" if final == (-2 if white_won else 2) else "time"
    else:
        kind += _stood(figures.values[-1] if white_won else -figures.values[-1])
    return teller.say(kind, **names, **slots)


def _stood(value: float) -> str:
    """How a winner stood in the last position, if not better."""
    if abs(value) <= LEVEL:
        return ".level"
    return "" if value > 0 else ".odd" if standing(value) else ".behind"


def _more(board: chess.Board, white: bool, value: float, teller: Teller) -> str:
    """What a side has more, where the other has nothing more, nothing hangs, and that decides.

    A pawn or two do not decide where all is as good as won.
    """
    gain = force.gain(board)
    counts = ((kind, len(board.pieces(kind, white))) for kind in CENTIPAWNS)
    more = Counter({kind: own - len(board.pieces(kind, not white)) for kind, own in counts})
    if gain is None or gain >= force.LEAST or min(more.values()) < 0:
        return ""
    if abs(value) >= DECIDED and worth_of((*more.elements(),), ()) < CENTIPAWNS[chess.KNIGHT]:
        return ""
    return teller.language.haul(list(more.elements()))


def _accuracies(tree: chess.pgn.Game, figures: Figures, teller: Teller) -> str:
    white, black = accuracy(figures.values, tree.board().turn == chess.WHITE)
    if white is None or black is None:
        return ""
    return teller.say("accuracy", white=str(round(white)), black=str(round(black)))


def _counts(
    nodes: Sequence[chess.pgn.ChildNode], figures: Figures, white: bool, teller: Teller
) -> str:
    """How many bad moves of each kind a side has made."""
    first = nodes[0].parent.board().turn == white
    made = figures.labels[0 if first else 1 :: 2]
    texts, language = [], teller.language
    for mark in (Label.INACCURACY, Label.MISTAKE, Label.BLUNDER):
        count = made.count(mark)
        if count:
            texts.append(f"{count} {language.labels[int(mark)][count > 1]}")
    if not texts:
        return ""
    return teller.say("counts", side=language.sides[white], counts=language.joined(texts))


def _habit(
    comments: Sequence[Comment | Selection],
    nodes: Sequence[chess.pgn.ChildNode],
    figures: Figures,
    white: bool,
    teller: Teller,
) -> str:
    """What most of a side's bad moves have in common, if it is more than one."""
    start = 0 if nodes[0].parent.board().turn == white else 1
    marked = [ply for ply in range(start, len(nodes), 2) if figures.labels[ply]]
    kinds = Counter(
        name
        for ply in marked
        for name, types in HABITS.items()
        if any(
            isinstance(claim, types)
            for claim in (comments[ply].better if name == "gains" else comments[ply].claims)
        )
    )
    if not kinds or max(kinds.values()) < HABIT:
        return ""
    name, count = kinds.most_common(1)[0]
    texts = {"habit": teller.say(f"habit.{name}"), "side": teller.language.sides[white]}
    return teller.say("habit", count=str(count), total=str(len(marked)), **texts)
