"""Who gives odds to people: every giver against every opponent at every odds, compared by openings.

The plan of what is counted, and how, is in PLAN.md; study.toml and choice.toml are its settings.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice, pairwise
from statistics import fmean, stdev
from typing import ClassVar, NamedTuple

from kibitz.arena.match.elo import DEVIATIONS_95, wilson
from kibitz.arena.match.game import Control
from kibitz.arena.match.journal import PlayedGame
from kibitz.arena.match.spec import parse_player, parse_players
from kibitz.comment.searches import NODES
from kibitz.core.errors import ConfigError
from kibitz.core.log import say
from kibitz.core.options import setting
from kibitz.data.openings import ODDS_FILES, Opening, odds_starts, play_at_random
from kibitz.position.board import Board
from kibitz.position.fen import START
from kibitz.train.curve import COLOURS, Line, Panel
from research.contempt.cells import MatchCell, Session
from research.contempt.contests import TREE, expected, hoped, tally_of
from research.contempt.plan import Findings, Json, Plan
from research.contempt.reasons import (
    PHASES,
    Gain,
    Judged,
    JudgeJob,
    gain,
    judge_of,
    judged,
    reasons,
)

NONE = "none"  # no odds: White still is the giver
ODDS = (NONE, *ODDS_FILES)
BLOCKS = 10  # in which the openings are played, each by all givers before the next
SCORED = ("engine", "checkout")  # kinds of players whose scores are of the type that is asked
TRAP = 0.1  # a reply by which the giver's own expected score rises so much
SAMPLED = "rule=gumbel,nodes=2,GumbelConsidered=1,GumbelNoise=1"  # moves drawn from the policy
PEOPLE = "kibitz-256x256+maia-1500"


def people(rating: int) -> str:
    """An opponent that plays as people of a rating do: each move as often as they play it."""
    return f"maia-{rating},name=maia-{rating},{SAMPLED},{TREE}"


class Comparison(NamedTuple):
    """A giver's mean score less that of its control, over the same openings."""

    giver: str
    control: str
    games: int
    difference: float
    error: float  # half the 95 % interval
    p: float  # that such a difference comes by chance; two-sided


@dataclass(frozen=True)
class Study(Plan):
    """Givers of odds against opponents that err as people do."""

    name: ClassVar[str] = "study"
    about: ClassVar[str] = "Which search scores best at odds against people-like opponents."

    games: int = setting(400, "of each cell, an even number", low=2, high=1_000_000)
    nodes: int = setting(100, "of each move of the giver", low=1)
    share: float = setting(1.0, "of all openings, the first ones", low=0.001, high=1.0)
    random_plies: int = setting(2, "at the beginning, so that openings differ", low=0, high=40)
    odds: tuple[str, ...] = setting((NONE, "knight", "queen"), "what White begins without")
    givers: tuple[str, ...] = setting(
        (
            f"shipped,name=PUCT,{TREE}",
            f"shipped,name=contempt-28,{TREE},ScLimit=28",
            f"{PEOPLE},name=PUCT-people,{TREE}",
            f"{PEOPLE},name=expectimax,{TREE},rule=expectimax",
            "shipped,name=alpha-beta,Search=alphabeta",
        ),
        "players with a name each",
    )
    controls: tuple[str, ...] = setting(
        ("contempt-28=PUCT", "expectimax=PUCT-people", "alpha-beta=PUCT"),
        "what each giver is compared with, as GIVER=CONTROL",
    )
    opponents: tuple[str, ...] = setting(
        tuple(people(rating) for rating in (1100, 1500, 1900)), "players with limits of their own"
    )

    judge: str = setting("shipped", "whose alpha-beta says what moves cost")
    judged: int = setting(20, "games of each cell, the first ones, that it judges", low=0)
    judge_nodes: int = setting(10_000, "of each position of them", low=1)
    annotated: int = setting(5, "games that the giver won, the first one of a cell each", low=0)
    annotate_nodes: int = setting(NODES, "of each position of them", low=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.network, self.options) != (Plan.network, Plan.options):
            value = ",".join((self.network, *self.options))
            raise ConfigError("network or options", value=value, fix="name them in givers")
        for odds in self.odds:
            if odds not in ODDS:
                raise ConfigError("odds", value=odds, fix=f"give one of {', '.join(ODDS)}")
        self._check_players()
        names = self.names(self.givers)
        for text in self.controls:
            if not set(text.split("=")) <= set(names) or text.count("=") != 1:
                fix = f"give GIVER=CONTROL, of {', '.join(names)}"
                raise ConfigError("controls", value=text, fix=fix)
            if len(set(text.split("="))) == 1:
                raise ConfigError("controls: a giver that is its own control", value=text)

    def _check_players(self) -> None:
        """Refuse before the first game what could not be told apart, or gives no scores."""
        players = [parse_player(text) for text in (*self.givers, *self.opponents)]
        for name, times in Counter(spec.name for spec in players).items():
            if times > 1:
                fix = "give each giver and opponent a name of its own, as shipped,name=A"
                raise ConfigError(f"{times} players of one name", value=name, fix=fix)
        scored = {"a giver": self.givers, "the judge": (self.judge,) if self.judged else ()}
        for what, texts in scored.items():
            for text in texts:
                if parse_player(text).kind not in SCORED:
                    fix = "name a network: its scores are counted"
                    raise ConfigError(f"{what} that is not our engine", value=text, fix=fix)
        for spec in players:
            search = spec.options.get("Search", "mcts")
            if spec.rule and search != "mcts":
                fix = f"leave rule={spec.rule} out, or give Search=mcts"
                raise ConfigError(
                    f"a rule without effect with Search {search}", value=spec.text, fix=fix
                )
        if self.judged:
            judge_of(self.judge)

    @staticmethod
    def names(players: Sequence[str]) -> list[str]:
        """What players are called."""
        return [spec.name for spec in parse_players([*players])]

    @property
    def circumstances(self) -> Json:
        """Limits, opponents, games."""
        start = f"initial position with odds, {self.random_plies} random plies"
        return {
            "limits": f"{self.nodes} nodes a move",
            "givers": "; ".join(self.givers),
            "opponent": "; ".join(self.names(self.opponents)),
            "games": f"{self._played(self.share)} a cell, the giver with White",
            "start": self.openings or start,
        }

    def _played(self, share: float) -> int:
        """The games of a share of a cell, an even number."""
        return 2 * max(1, round(share * self.games / 2))

    def _cell(self, odds: str, opponent: str, giver: str, share: float) -> MatchCell:
        # A score of this type can be turned back into a value.
        players = (f"{giver},ScoreType=centipawn_2019", opponent)
        name = " ".join([odds, *self.names([opponent, giver])])
        # A part of a cell has the openings of all of it: its games are those of the whole.
        starts = odds_openings(odds, self.games, self.seed, self.random_plies)
        control, games = Control(nodes=self.nodes), self._played(share)
        return self.match(name, players, control, games, odds=odds, starts=starts)

    def _cells(self, share: float) -> list[MatchCell]:
        return [
            self._cell(odds, opponent, giver, share)
            for odds in self.odds
            for opponent in self.opponents
            for giver in self.givers
        ]

    def cells(self) -> list[MatchCell]:
        """A match for each of odds, opponent and giver."""
        return self._cells(self.share)

    def find(self, session: Session) -> Findings:
        """Scores, and comparisons with p-values that are corrected by Holm for their number."""
        cells = self.cells()
        there = sum(len(cell.there(session.folder)) for cell in cells)
        if there:
            say(f"{there} of {sum(cell.games for cell in cells)} games were there already")
        for block in range(1, BLOCKS + 1):
            if session.stop.requested:
                break
            session.play_together(self._cells(self.share * block / BLOCKS))
        return self._counted(session)

    def _counted(self, session: Session) -> Findings:
        facts: list[Json] = []
        compared: list[Json] = []
        gains: list[Json] = []
        givers, opponents = self.names(self.givers), self.names(self.opponents)
        games = [session.play(cell) for cell in self.cells()]
        by_cell = zip(games, self._judged(games, session), strict=True)  # in the order of cells
        for odds in self.odds:
            for name in opponents:
                cell = {"odds": odds, "opponent": name}
                of_givers = dict(zip(givers, islice(by_cell, len(givers)), strict=True))
                played = {giver: some for giver, (some, _) in of_givers.items()}
                why = {giver: entries for giver, (_, entries) in of_givers.items()}
                facts += [
                    _row(cell, giver, games, why[giver]) for giver, games in played.items() if games
                ]
                comparisons = [_compared(text, played) for text in self.controls]
                compared += [{**cell, **each._asdict()} for each in comparisons if each is not None]
                found = [_gain(text, why) for text in self.controls]
                gains += [{**cell, **each._asdict()} for each in found if each is not None]
        for row, p in zip(compared, holm([row["p"] for row in compared]), strict=True):
            row["p_holm"] = p
        panels = [_panel(odds, facts, opponents, givers) for odds in self.odds] if facts else []
        legend = [(name, COLOURS[at % len(COLOURS)]) for at, name in enumerate(givers)]
        headings = ("odds", "opponent", "giver", "w-d-l", "score %", "95 %", "hoped %", "traps")
        more = {"comparisons": compared, "gains": gains, "phases": [*PHASES]}
        lines = [*map(sentence, compared), *map(gain_sentence, gains)]
        rows = [_cells(row) for row in facts]
        return Findings((*headings, "moves"), rows, facts, panels, legend, more, lines)

    def _judged(
        self, games: Sequence[Sequence[PlayedGame]], session: Session
    ) -> list[list[Judged]]:
        """What the judge says of the first games of each cell."""
        first = [
            (cell, some[: self.judged]) for cell, some in zip(self.cells(), games, strict=True)
        ]
        how = JudgeJob(judge_of(self.judge), self.judge_nodes)
        return judged(first, session.folder.parent / "judged", how, self.workers, session.stop)


@cache
def odds_openings(odds: str, count: int, seed: int, plies: int) -> tuple[Opening, ...]:
    """Start positions where White lacks a piece, each after random moves of both sides in turn.

    Nothing is captured in them and no king is in check. The first ones of a longer list are those
    of a shorter one; where there are fewer different ones, they serve again.
    """
    starts = [START] if odds == NONE else odds_starts(odds)[::2]
    openings: list[Opening] = []
    number = 0
    while len(openings) < count:
        fen = starts[len(openings) % len(starts)]
        board = play_at_random(Board(fen), plies, random.Random(f"{odds} {seed} {number}"))
        number += 1
        if board.material == Board(fen).material and not board.is_check():
            openings.append(Opening(fen, tuple(move.uci() for move in board.moves)))
    return tuple(openings)


# --- what games show ------------------------------------------------------------------------------


def _row(cell: Json, giver: str, games: Sequence[PlayedGame], why: Sequence[Judged]) -> Json:
    tally = tally_of(games, 0)
    return {
        **cell,
        "giver": giver,
        **tally._asdict(),
        "games": tally.games,
        "score": tally.points / tally.games,
        "score_interval": [*wilson(tally.points, tally.games)],
        "hoped": hoped(games),
        "plies": fmean(len(game.moves) for game in games),
        "traps": fmean(traps(game) for game in games),
        "reasons": reasons(why)._asdict() if why else None,
    }


def _cells(row: Json) -> tuple[object, ...]:
    low, high = (100 * end for end in row["score_interval"])
    return (
        row["odds"],
        row["opponent"],
        row["giver"],
        f"{row['wins']}-{row['draws']}-{row['losses']}",
        f"{100 * row['score']:.1f}",
        f"{low:.1f}-{high:.1f}",
        f"{100 * row['hoped']:.0f}",
        f"{row['traps']:.2f}",
        f"{row['plies'] / 2:.0f}",
    )


def _panel(odds: str, facts: list[Json], opponents: list[str], givers: list[str]) -> Panel:
    """The scores at these odds against each opponent, a line for each giver."""
    lines = []
    for number, giver in enumerate(givers):
        rows = [row for row in facts if (row["odds"], row["giver"]) == (odds, giver)]
        aside = 0.05 * (number - (len(givers) - 1) / 2)  # so that intervals do not hide others
        points = [(opponents.index(row["opponent"]) + aside, float(row["score"])) for row in rows]
        errors = [(row["score_interval"][1] - row["score_interval"][0]) / 2 for row in rows]
        if points:
            lines.append(Line(points, COLOURS[number % len(COLOURS)], errors=tuple(errors)))
    below = ", ".join(f"{at}: {name}" for at, name in enumerate(opponents))
    return Panel(f"score at odds: {odds}", lines, below)


def traps(game: PlayedGame) -> int:
    """How many of the opponent's replies raised the giver's own expected score by TRAP or more.

    The giver has White and the first move after the opening.
    """
    hopes = [score for move in game.moves[::2] if (score := expected(move)) is not None]
    return sum(after - before >= TRAP for before, after in pairwise(hopes))


def _compared(text: str, played: dict[str, Sequence[PlayedGame]]) -> Comparison | None:
    """The difference over the openings that both have played; None for fewer than two."""
    giver, control = text.split("=")
    ours, theirs = (
        {game.number: game.points for game in played[name]} for name in (giver, control)
    )
    both = sorted(ours.keys() & theirs.keys())
    if len(both) < 2:
        return None
    differences = [ours[number] - theirs[number] for number in both]
    mean, deviation = fmean(differences), stdev(differences) / math.sqrt(len(both))
    # Not 2 (1 - cdf): that is 0 from eight deviations on.
    p = math.erfc(abs(mean) / deviation / math.sqrt(2)) if deviation else float(mean == 0)
    return Comparison(giver, control, len(both), mean, DEVIATIONS_95 * deviation, p)


def _gain(text: str, why: dict[str, list[Judged]]) -> Gain | None:
    giver, control = text.split("=")
    return gain((giver, control), why[giver], why[control])


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for their number by Holm's step-down method, in their order.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected = [1.0] * len(p_values)
    most = 0.0
    ordered = sorted(range(len(p_values)), key=lambda at: p_values[at])
    for rank, at in enumerate(ordered):
        most = max(most, min(1.0, (len(p_values) - rank) * p_values[at]))
        corrected[at] = most
    return corrected


def sentence(row: Json) -> str:
    """A comparison, in words."""
    return (
        f"{row['odds']}, {row['opponent']}: {row['giver']} less {row['control']} "
        f"{100 * row['difference']:+.1f} ± {100 * row['error']:.1f} points of 100 "
        f"in {row['games']} games, p {row['p_holm']:.3f} (Holm)"
    )


def gain_sentence(row: Json) -> str:
    """Where a difference comes from, in words."""
    return (
        f"{row['odds']}, {row['opponent']}: of {row['giver']}'s {100 * row['difference']:+.1f} "
        f"in {row['games']} judged games {100 * row['own']:+.1f} ± {100 * row['own_error']:.1f} "
        f"come from its own moves, {100 * row['opponents']:+.1f} ± "
        f"{100 * row['opponents_error']:.1f} from the opponent's"
    )
