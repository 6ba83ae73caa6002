"""Games between different players: temperature against search-contempt, odds, kinds of search.

Tables 1 to 3 of the search-contempt paper, and the matrix of all kinds of search on one network.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import ClassVar, Literal

from kibitz.arena.match.elo import Tally, of_games, wilson
from kibitz.arena.match.game import Control
from kibitz.arena.match.journal import PlayedGame, PlayedMove, Results, points_of
from kibitz.arena.match.rating import ratings
from kibitz.arena.match.spec import parse_players
from kibitz.core.errors import ConfigError
from kibitz.core.options import setting
from kibitz.data.openings import RANDOM_PLIES, Opening, random_openings
from kibitz.search.mcts.rules.parameters import OFF
from kibitz.search.report import Score, value_of_2019
from kibitz.train.curve import COLOURS, Line, Panel
from research.contempt.cells import MatchCell, Session
from research.contempt.plan import MOST_GAMES, TAU_1, TAU_2, Findings, HighTau, Json, Plan, Tau

TREE = "Search=mcts"  # where the question is about the tree search
PAPER_MATCH = Tally(37, 46, 17)  # of search-contempt with N_scl 5 against PUCT at tau 2: +70.43
PAPER_ODDS = {  # at queen odds, per cent of the points, by the nodes of a move
    "PUCT": {100: 23.43, 800: 35.25, 20_000: 25.40},
    "ScLimit=28": {100: 36.76, 800: 57.81, 20_000: 81.73},
}


def tally_of(games: Sequence[PlayedGame], player: int) -> Tally:
    """Wins, draws and losses of a player."""
    tally = Tally()
    for game in games:
        tally = tally.plus(points_of(game, player))
    return tally


def _estimated(tally: Tally) -> Json:
    estimate = of_games(tally)
    return {**tally._asdict(), "games": tally.games, **estimate.as_json()}


# --- one match ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Match(Plan):
    """Table 3: as many decided games by temperature as by search-contempt: who plays better.

    Unlike in the paper both play with the same parameters but for these two, and with both colours.
    """

    name: ClassVar[str] = "match"
    about: ClassVar[str] = "Search-contempt at tau 1 against PUCT at tau 2."

    nodes: int = setting(100, "of each move", low=1)
    limit: int = setting(5, "N_scl", low=1, high=OFF)
    tau_1: Tau = field(default=TAU_1)
    tau_2: HighTau = field(default=TAU_2)

    @property
    def circumstances(self) -> Json:
        """Limits, opponent, games."""
        return {"limits": f"{self.nodes} nodes a move", "opponent": "PUCT tau 2"}

    def cells(self) -> list[MatchCell]:
        """One match, search-contempt against the high temperature."""
        contempt = self.player(TREE, *self.tau_1.options(), f"ScLimit={self.limit}")
        players = (contempt, self.player(TREE, *self.tau_2.options()))
        return [self.match("match", players, Control(nodes=self.nodes))]

    def find(self, session: Session) -> Findings:
        """Its result and Elo, by colours, beside the paper's."""
        games = session.play(self.cells()[0])
        rows: list[tuple[object, ...]] = []
        facts: list[Json] = []
        first = "PUCT" if self.limit == OFF else f"N_scl {self.limit}"
        named = (f"{first}, tau 1", tally_of(games, 0)), ("the paper's", PAPER_MATCH)
        for name, tally in named if games else ():
            estimate = of_games(tally)
            rows.append((name, tally.text, f"{100 * (estimate.score or 0):.1f}", estimate.text()))
            facts.append({"search": name, **_estimated(tally)})
        headings = ("against PUCT, tau 2", "w-d-l", "score %", "Elo, 95 %")
        return Findings(headings, rows, facts, _progress(games), [])


def _progress(games: Sequence[PlayedGame]) -> list[Panel]:
    """The score of the first player as the games came in, in ten steps."""
    ends = sorted({len(games) * part // 10 for part in range(1, 11)} - {0})
    points, errors = [], []
    for end in ends:
        tally = tally_of(games[:end], 0)
        low, high = wilson(tally.points, tally.games)
        points.append((float(end), tally.points / tally.games))
        errors.append((high - low) / 2)
    line = Line(points, COLOURS[0], errors=tuple(errors))
    return [Panel("score of search-contempt", [line], "games")] if points else []


# --- odds -----------------------------------------------------------------------------------------

# Moves drawn from the policy of the network, and nothing else.
POLICY = "rule=gumbel,nodes=2,GumbelConsidered=1,GumbelNoise=1"
OPENING_MOVES = 10  # of the giver, over which its own opinion is averaged


@dataclass(frozen=True)
class Odds(Plan):
    """Tables 1 and 2: the giver always has White; every opponent meets every giver."""

    name: ClassVar[str] = "odds"
    about: ClassVar[str] = "Who gives odds scores what, by nodes and N_scl."

    odds: Literal["pawn", "knight", "bishop", "rook", "queen"] = setting(
        "queen", "what White begins without, unless `openings` has the positions"
    )
    nodes: tuple[int, ...] = setting((100, 800), "of each move of the giver", low=1)
    givers: tuple[str, ...] = setting(
        ("", "ScLimit=5", "ScLimit=28"), "options of the givers, like ScLimit=28,ScTemperature=2"
    )
    tau: Tau = field(default=TAU_1)
    opponents: tuple[str, ...] = setting(
        (f"kibitz-zero,name=zero-100,nodes=100,{TREE}", f"shipped,name=policy,{POLICY}"),
        "players with limits of their own; without them, the giver's nodes",
    )

    @property
    def circumstances(self) -> Json:
        """Limits, opponent, games."""
        nodes = ", ".join(map(str, self.nodes))
        start = self.openings or f"initial position without White's {self.odds}"
        return {
            "limits": f"{nodes} nodes a move",
            "opponent": "; ".join(self.opponents),
            "games": f"{self.games} a row",
            "start": start,
        }

    def _cell(self, opponent: str, giver: str, nodes: int) -> MatchCell:
        # A score of this type can be turned back into a value.
        own = [text for text in giver.split(",") if text]
        player = self.player(TREE, *self.tau.options(), "ScoreType=centipawn_2019", *own)
        name = f"{parse_players([opponent])[0].name} {giver or 'PUCT'} {nodes}"
        return self.match(name, (player, opponent), Control(nodes=nodes), odds=self.odds)

    def cells(self) -> list[MatchCell]:
        """A match for each opponent, giver and number of nodes."""
        return [
            self._cell(opponent, giver, nodes)
            for opponent in self.opponents
            for giver in self.givers
            for nodes in self.nodes
        ]

    def find(self, session: Session) -> Findings:
        """What each giver scored with each number of nodes."""
        rows: list[tuple[object, ...]] = []
        facts: list[Json] = []
        panels = []
        for opponent in self.opponents:
            name, lines = parse_players([opponent])[0].name, []
            for colour, giver in enumerate(self.givers):
                points, errors = [], []
                for nodes in self.nodes:
                    games = session.play(self._cell(opponent, giver, nodes))
                    if not games:
                        continue
                    row = _odds_row(name, giver or "PUCT", nodes, games)
                    rows.append(_odds_cells(row))
                    facts.append(row)
                    points.append((math.log10(nodes), row["score"]))
                    low, high = row["score_interval"]
                    errors.append((high - low) / 2)
                colour %= len(COLOURS)
                lines += [Line(points, COLOURS[colour], errors=tuple(errors))] if points else []
            panels += [Panel(f"score against {name}", lines, "log10 of nodes")] if lines else []
        legend = [
            (giver or "PUCT", COLOURS[at % len(COLOURS)]) for at, giver in enumerate(self.givers)
        ]
        headings = ("opponent", "giver", "nodes", "w-d-l", "score %", "95 %", "hoped %", "paper %")
        rises = trends(facts)
        below = [
            f"trend: {rise['giver']} against {rise['opponent']} {rise['trend']} with nodes: "
            + ", ".join(f"{100 * score:.1f} %" for score in rise["scores"])
            for rise in rises
        ]
        return Findings(headings, rows, facts, panels, legend, {"trends": rises}, below)


def trends(facts: Sequence[Json]) -> list[Json]:
    """Whether the score of each giver rises, falls or does neither with its nodes."""
    groups: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for fact in facts:
        key = (fact["opponent"], fact["giver"])
        groups.setdefault(key, []).append((fact["nodes"], fact["score"]))
    rises = []
    for (opponent, giver), some in groups.items():
        scores = [score for _, score in sorted(some)]
        signs = {(after > before) - (after < before) for before, after in pairwise(scores)} - {0}
        kind = {(): "stays", (1,): "rises", (-1,): "falls"}.get((*signs,), "rises and falls")
        if len(scores) > 1:
            rises.append({"opponent": opponent, "giver": giver, "trend": kind, "scores": scores})
    return rises


def _odds_row(opponent: str, giver: str, nodes: int, games: Sequence[PlayedGame]) -> Json:
    tally = tally_of(games, 0)
    return {
        "opponent": opponent,
        "giver": giver,
        "nodes": nodes,
        **tally._asdict(),
        "games": tally.games,
        "score": tally.points / tally.games,
        "score_interval": [*wilson(tally.points, tally.games)],
        "hoped": hoped(games),
        "paper": PAPER_ODDS.get(giver, {}).get(nodes),
    }


def _odds_cells(row: Json) -> tuple[object, ...]:
    low, high = (100 * end for end in row["score_interval"])
    tally = Tally(row["wins"], row["draws"], row["losses"])
    return (
        row["opponent"],
        row["giver"],
        row["nodes"],
        tally.text,
        f"{100 * row['score']:.1f}",
        f"{low:.0f}-{high:.0f}",
        f"{100 * row['hoped']:.0f}",
        "" if row["paper"] is None else f"{row['paper']:.1f}",
    )


def hoped(games: Sequence[PlayedGame]) -> float:
    """The score that the giver expected by its own searches in its first moves.

    It is White, and its scores are of the type centipawn_2019.
    """
    moves = [move for game in games for move in game.moves[: 2 * OPENING_MOVES : 2]]
    scores = [score for move in moves if (score := expected(move)) is not None]
    return sum(scores) / len(scores) if scores else math.nan


def expected(move: PlayedMove) -> float | None:
    """The score of the game, 0 to 1, that the mover expects by a score of centipawn_2019."""
    if move.mate is not None:
        return chance(Score("mate", move.mate))
    return None if move.cp is None else chance(Score("cp", move.cp))


def chance(score: Score) -> float:
    """The score of the game, 0 to 1, that a score of centipawn_2019 promises."""
    if score.kind == "mate":
        return 1.0 if score.amount > 0 else 0.0
    return (1.0 + value_of_2019(score.amount)) / 2


# --- kinds of search ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Compare(Plan):
    """All kinds of search on one network: at equal nodes, and at equal time."""

    name: ClassVar[str] = "compare"
    about: ClassVar[str] = "The kinds of search on one network: a matrix of Elo."

    games: int = setting(40, "of every two, an even number", low=2, high=MOST_GAMES)
    kinds: tuple[str, ...] = setting(
        (
            f"name=PUCT,{TREE}",
            "name=SBLE,rule=sble",
            f"name=contempt,{TREE},ScLimit=28",
            "name=best-first,Search=bestfirst",
            "name=alpha-beta,Search=alphabeta",
        ),
        "options of the players",
    )
    nodes: int = setting(400, "of each move, in the first matrix; 0: without it", low=0)
    movetime: int = setting(100, "milliseconds a move, in the second; 0: without it", low=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.nodes or self.movetime):
            raise ConfigError("nodes and movetime are both 0", fix="give one of them")

    @property
    def circumstances(self) -> Json:
        """Limits, opponent, games."""
        each = {"nodes": self.nodes, "ms": self.movetime}
        return {
            "limits": " and ".join(
                f"{amount} {unit} a move" for unit, amount in each.items() if amount
            ),
            "opponent": "each other",
            "games": f"{self.games} of every two",
            "start": f"random {RANDOM_PLIES} plies, each with both colours",
        }

    def starts(self, games: int) -> list[Opening]:
        """Random openings: without temperature, one start would be one game."""
        return random_openings(games // 2, seed=self.seed)

    def cells(self) -> list[MatchCell]:
        """A match of all kinds at equal nodes, and one at equal time."""
        listed, players = [], [self.player(kind) for kind in self.kinds]
        if self.nodes:
            name, control = f"{self.nodes} nodes", Control(nodes=self.nodes)
            listed.append(self.match(name, players, control))
        if self.movetime:
            name, control = f"{self.movetime} ms", Control(movetime=self.movetime)
            listed.append(self.match(name, players, control))
        return listed

    def find(self, session: Session) -> Findings:
        """Scores and Elo of each kind against each other."""
        rows: list[tuple[object, ...]] = []
        facts: list[Json] = []
        panels = []
        cells = self.cells()
        names = [spec.name for spec in cells[0].setup.players] if cells else []
        for cell in cells:
            results = Results({game.number: game for game in session.play(cell)})
            between = {
                (first, second): tally
                for first, second in combinations(range(len(names)), 2)
                if (tally := results.tally(first, second)).games
            }
            if not between:
                continue
            rated = {rating.name: rating for rating in ratings(names, between)}
            for first, name in enumerate(names):
                rating = rated[name]
                row = [_between(between, first, second) for second in range(len(names))]
                rows.append((cell.name, name, f"{rating.elo:+.0f} ±{rating.error:.0f}", *row))
            facts.append(
                {"limits": cell.name, "ratings": [rating._asdict() for rating in rated.values()]}
            )
            facts[-1]["pairs"] = [
                {"first": names[first], "second": names[second], **_estimated(tally)}
                for (first, second), tally in between.items()
            ]
            lines = [
                Line([(at + 1.0, rated[name].elo)], COLOURS[at % 8], errors=(rated[name].error,))
                for at, name in enumerate(names)
            ]
            panels.append(Panel(f"rating at {cell.name} a move", lines, "players in order"))
        legend = [(name, COLOURS[at % 8]) for at, name in enumerate(names)]
        return Findings(("limit", "search", "rating", *names), rows, facts, panels, legend)


def _between(between: dict[tuple[int, int], Tally], first: int, second: int) -> str:
    """What a player made against another one, in Elo."""
    if (second, first) in between:
        tally = Tally(*reversed(between[second, first]))
    elif (first, second) in between:
        tally = between[first, second]
    else:
        return ""
    estimate = of_games(tally)
    if estimate.elo is None or estimate.error is None:
        return estimate.text(0)
    return f"{estimate.elo:+.0f} ±{estimate.error:.0f}"
