"""Games of a network against itself: how many are decided, and how many begin alike.

The figures 2 and 4 of the search-contempt paper, and the control of its figure 6. PAPER has its
numbers, counted again from the games that its author published: 100 of each kind, lc0 with a large
network, 1000 nodes a move.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from kibitz.arena.match.elo import Tally, of_games, wilson
from kibitz.core.options import setting
from kibitz.search.mcts.rules.parameters import OFF
from kibitz.train.curve import COLOURS, Line, Panel
from kibitz.zero.selfplay.config import SelfPlay, next_sc_limit
from research.contempt.cells import SelfCell, Session
from research.contempt.counts import (
    Moves,
    Share,
    decided_per_draw,
    mean_plies,
    repeat_rate,
    white_tally,
)
from research.contempt.plan import MOST_GAMES, TAU_1, TAU_2, Findings, HighTau, Json, Plan, Tau

PUCT_1, PUCT_2 = "PUCT tau 1", "PUCT tau 2"
PAPER = {
    "N_scl 5": Tally(33, 42, 25),
    "N_scl 10": Tally(19, 56, 25),
    "N_scl 32": Tally(14, 76, 10),
    "N_scl 1000000": Tally(3, 92, 5),
    PUCT_1: Tally(4, 94, 2),
    PUCT_2: Tally(32, 42, 26),
}
# A tree for each side, kept from move to move; no noise, no adjudication.
PUCT: Json = {"rule": "puct", "trees": 2, "reuse": True, "group": 10, "most_plies": 1000}
DEPTHS = (1, 2, 3, 4, 5, 10, 15, 20, 25, 30, 40, 50)
PAPER_REPEATS = {  # after so many moves as DEPTHS says
    "N_scl 5": (0.70, 0.42, 0.23, 0.15, 0.13, 0.09, 0.05, 0.03, 0.03, 0, 0, 0),
    "N_scl 10": (0.72, 0.43, 0.27, 0.18, 0.15, 0.06, 0.02, 0.01, 0.01, 0.01, 0, 0),
    "N_scl 32": (0.68, 0.37, 0.20, 0.17, 0.14, 0.08, 0.06, 0.02, 0.01, 0, 0, 0),
    PUCT_1: (0.71, 0.44, 0.27, 0.15, 0.13, 0.08, 0.06, 0.02, 0.01, 0, 0, 0),
    PUCT_2: (0.57, 0.17, 0.01, 0, 0, 0, 0, 0, 0, 0, 0, 0),
}


@dataclass(frozen=True)
class SelfPlayPlan(Plan):
    """A network against itself, one tree for each side."""

    nodes: int = setting(100, "of each move, those kept from the last one included", low=1)
    tau_1: Tau = field(default=TAU_1)

    @property
    def circumstances(self) -> Json:
        """Limits, opponent, games."""
        return {"limits": f"{self.nodes} nodes a move", "opponent": "itself", "games": self.games}

    def against_itself(self, name: str, tau: Tau, limit: int = OFF) -> SelfCell:
        """Games by search-contempt with a limit, or by PUCT."""
        changes = {**PUCT, **tau.of_selfplay(), "sc_limit": limit, "options": self.options}
        changes |= {"playouts": self.nodes, "openings": self.openings, "workers": self.workers}
        if self.most_moves:
            changes["most_plies"] = 2 * self.most_moves
        return SelfCell(name, self.network, SelfPlay(**changes), self.games, self.seed)

    def contempt(self, limit: int) -> SelfCell:
        """Games at the low temperature, with a limit or without one."""
        return self.against_itself(PUCT_1 if limit == OFF else f"N_scl {limit}", self.tau_1, limit)


# --- won, drawn, lost -----------------------------------------------------------------------------


def _played(session: Session, cells: Sequence[SelfCell]) -> dict[str, Sequence[Moves]]:
    """The games of the cells that have any, by name."""
    return {cell.name: games for cell in cells if (games := session.play(cell))}


def counted(played: Mapping[str, Sequence[Moves]]) -> Findings:
    """The results of sets of games, a row for each set."""
    rows: list[tuple[object, ...]] = []
    facts: list[Json] = []
    for name, games in played.items():
        tally, paper = white_tally(games), PAPER.get(name)
        ratio, elo = decided_per_draw(tally), of_games(tally).text()
        theirs = f"{decided_per_draw(paper).value:.2f}" if paper else ""
        rows.append((name, tally.text, *_cells(ratio), f"{mean_plies(games):.0f}", elo, theirs))
        facts.append(_counted(name, tally, ratio, mean_plies(games), paper))
    headings = ("search", "w-d-l", "(w+l)/d", "95 %", "plies", "White's Elo", "paper")
    return Findings(headings, rows, facts, _panels(facts), _RESULTS)


def _cells(ratio: Share) -> tuple[str, str]:
    value, _, interval = ratio.text().partition(" ")
    return value, interval


def _counted(
    name: str, tally: Tally, ratio: Share, plies: float, paper: Tally | None = None
) -> Json:
    return {
        "search": name,
        **tally._asdict(),
        "games": tally.games,
        "elo": of_games(tally).as_json(),
        "ratio": ratio.value,
        "ratio_interval": [ratio.low, ratio.high],
        "plies": round(plies, 1),
        "paper": None if paper is None else [*paper],
    }


_RESULTS = [("White wins", COLOURS[0]), ("draws", COLOURS[7]), ("Black wins", COLOURS[1])]


def _panels(facts: list[Json]) -> list[Panel]:
    """The shares of results, and decided games for each draw, over the rows of the table."""
    below = ", ".join(f"{at}: {fact['search']}" for at, fact in enumerate(facts, 1))
    lines = []
    for kind, (_, colour) in zip(("wins", "draws", "losses"), _RESULTS, strict=True):
        points = [(float(at), fact[kind] / fact["games"]) for at, fact in enumerate(facts, 1)]
        ends = [wilson(fact[kind], fact["games"]) for fact in facts]
        lines.append(Line(points, colour, errors=tuple((high - low) / 2 for low, high in ends)))
    ratios = [(float(at), fact["ratio"]) for at, fact in enumerate(facts, 1) if fact["ratio"]]
    panels = [Panel("share of games", lines, below)] if facts else []
    return panels + ([Panel("(w+l)/d", [Line(ratios, COLOURS[2])], below)] if ratios else [])


@dataclass(frozen=True)
class Wdl(SelfPlayPlan):
    """Figure 2: the limit of search-contempt decides how many games are drawn."""

    name: ClassVar[str] = "wdl"
    about: ClassVar[str] = "Wins, draws and losses over N_scl, in games against itself."

    limits: tuple[int, ...] = setting((1, 5, 10, 20, 32, OFF), "N_scl; 1e9: PUCT", low=1, high=OFF)

    def cells(self) -> list[SelfCell]:
        """Games against itself for each limit."""
        return [self.contempt(limit) for limit in self.limits]

    def find(self, session: Session) -> Findings:
        """Results by limit, decided games for each draw, and how they change with the limit."""
        findings = counted(_played(session, self.cells()))
        limits = {self.contempt(limit).name: limit for limit in self.limits if limit != OFF}
        rise = trend(
            [(limits[fact["search"]], fact) for fact in findings.facts if fact["search"] in limits]
        )
        if rise is None:
            return findings
        line = (
            f"trend: with every doubling of N_scl (w+l)/d changes by a factor of "
            f"{rise['factor']:.2f} ({rise['low']:.2f} to {rise['high']:.2f}, 95 %); "
            f"{rise['falls']} of {rise['steps']} steps fall"
        )
        return replace(findings, more={"trend": rise}, lines=[line])


def trend(facts: Sequence[tuple[int, Json]]) -> Json | None:
    """The factor by which a doubling of N_scl changes decided games for each draw, with 95 %.

    A line through the logarithms of both, each weighed by the games behind it; None below two.
    """
    rows = sorted(facts, key=lambda row: row[0])
    if len(rows) < 2:
        return None
    decided = [fact["wins"] + fact["losses"] + 0.5 for _, fact in rows]  # half a game against log 0
    drawn = [fact["draws"] + 0.5 for _, fact in rows]
    at = np.log2([float(limit) for limit, _ in rows])
    height = np.log(np.array(decided) / np.array(drawn))
    weight = 1 / (1 / np.array(decided) + 1 / np.array(drawn))
    apart = at - np.average(at, weights=weight)
    spread = float((weight * apart * apart).sum())
    slope = float((weight * apart * height).sum()) / spread
    error = 1.96 / math.sqrt(spread)
    ends = (math.exp(slope - error), math.exp(slope + error))
    falls = int((np.diff(height) < 0).sum())
    steps = {"falls": falls, "steps": len(rows) - 1}
    return {"factor": math.exp(slope), "low": ends[0], "high": ends[1], **steps}


@dataclass(frozen=True)
class Temperature(SelfPlayPlan):
    """The other way to fewer draws: a high temperature."""

    name: ClassVar[str] = "temperature"
    about: ClassVar[str] = "Wins, draws and losses of PUCT at two temperatures."

    tau_2: HighTau = field(default=TAU_2)

    def cells(self) -> list[SelfCell]:
        """Games against itself at each temperature."""
        return [self.contempt(OFF), self.against_itself(PUCT_2, self.tau_2)]

    def find(self, session: Session) -> Findings:
        """Results by temperature, and decided games for each draw."""
        return counted(_played(session, self.cells()))


# --- repeated beginnings --------------------------------------------------------------------------


@dataclass(frozen=True)
class Repeats(SelfPlayPlan):
    """Figure 4: how many games have begun as another one did, after so many moves."""

    name: ClassVar[str] = "repeats"
    about: ClassVar[str] = "How many games against itself begin alike, by move."

    limits: tuple[int, ...] = setting((5, 10, 32, OFF), "N_scl; 1e9: PUCT", low=1, high=OFF)
    tau_2: HighTau = field(default=TAU_2)
    depths: tuple[int, ...] = setting(DEPTHS, "moves after which beginnings are compared", low=1)

    def cells(self) -> list[SelfCell]:
        """Games against itself for each search that is compared."""
        high = self.against_itself(PUCT_2, self.tau_2)
        return [*(self.contempt(limit) for limit in self.limits), high]

    def find(self, session: Session) -> Findings:
        """The share of games that began as an earlier one, by their length."""
        return repeats(_played(session, self.cells()), self.depths)


def repeats(played: Mapping[str, Sequence[Moves]], depths: Sequence[int]) -> Findings:
    """The repeat rates of sets of games, a column for each set."""
    rates = {
        name: [repeat_rate(games, 2 * depth) for depth in depths] for name, games in played.items()
    }
    rows: list[tuple[object, ...]] = [
        (f"{depth}", *(shares[at].percent for shares in rates.values()))
        for at, depth in enumerate(depths)
    ]
    facts: list[Json] = [
        {
            "search": name,
            "games": len(played[name]),
            "distinct": len({(game.start, game.moves) for game in played[name]}),
            "moves": [*depths],
            "rates": [share.value for share in shares],
            "intervals": [[share.low, share.high] for share in shares],
            "paper": _paper_repeats(name, depths),
        }
        for name, shares in rates.items()
    ]
    distinct = ", ".join(f"{fact['search']} {fact['distinct']}/{fact['games']}" for fact in facts)
    legend = [(name, COLOURS[at % len(COLOURS)]) for at, name in enumerate(rates)]
    lines = [
        Line(
            [(float(m), each.value or 0.0) for m, each in zip(depths, shares, strict=True)], colour
        )
        for shares, (_, colour) in zip(rates.values(), legend, strict=True)
    ]
    panels = [Panel("share of games that begin as an earlier one", lines, "moves")] if lines else []
    said = [f"per cent with 95 % intervals; distinct games: {distinct}"]
    headings = ("move", *(name.replace(" ", "\n", 1) for name in rates))
    return Findings(headings, rows, facts, panels, legend, lines=said)


def _paper_repeats(name: str, depths: Sequence[int]) -> list[float | None] | None:
    """The paper's rates after the same moves."""
    if name not in PAPER_REPEATS:
        return None
    rates = dict(zip(DEPTHS, PAPER_REPEATS[name], strict=True))
    return [rates.get(depth) for depth in depths]


# --- control --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Controller(SelfPlayPlan):
    """Figure 6: the limit follows the games, as in `kibitz learn` with learn.ratio."""

    name: ClassVar[str] = "controller"
    about: ClassVar[str] = "Find the N_scl that keeps decided games and draws level."

    games: int = setting(60, "of each round, an even number", low=2, high=MOST_GAMES)
    rounds: int = setting(8, "times that the limit is moved", low=1)
    limit: int = setting(5, "N_scl of the first round", low=1, high=OFF)
    ratio: float = setting(1.0, "decided games for each draw that are wanted", low=0.01, high=100)
    power: float = setting(0.8, "the ratio falls with N_scl to this power", low=0.05, high=10)

    def cells(self) -> list[SelfCell]:
        """As many rounds as there are, all as if the first limit stayed."""
        return [self._round(self.limit, number) for number in range(1, self.rounds + 1)]

    def find(self, session: Session) -> Findings:
        """Play the rounds, each with the limit that the last one asks for."""
        rows: list[tuple[object, ...]] = []
        facts: list[Json] = []
        limit, limits = self.limit, list[float]()
        for number in range(1, self.rounds + 1):
            # Every round has games of its own, whether or not its limit is a new one.
            games = session.play(self._round(limit, number))
            if not games:
                break
            tally = white_tally(games)
            ratio = decided_per_draw(tally)
            shown = "off" if limit == OFF else f"{limit}"
            rows.append((f"{number}", shown, tally.text, *_cells(ratio)))
            facts.append(
                _counted(f"N_scl {shown}", tally, ratio, mean_plies(games)) | {"limit": limit}
            )
            limits.append(limit)
            if len(games) < self.games:
                break
            limit = next_sc_limit(
                limit, tally.games - tally.draws, tally.draws, self.ratio, self.power
            )
        later = limits[len(limits) // 2 :]
        settled = math.exp(sum(map(math.log, later)) / len(later)) if later else None
        said = []
        if settled is not None:
            said.append(f"N_scl of the later half, geometric mean: {settled:.3g}")
            if settled > self.nodes:  # then no reply is ever frozen
                said.append("that is beyond the nodes of a move: no N_scl reaches this ratio")
        headings = ("round", "N_scl", "w-d-l", "(w+l)/d", "95 %")
        panels = _panels(facts)
        if limits:
            steps = [(float(n), math.log10(limit)) for n, limit in enumerate(limits, 1)]
            panels.append(Panel("log10 of N_scl", [Line(steps, COLOURS[3])], "round"))
        return Findings(headings, rows, facts, panels, _RESULTS, {"settled": settled}, said)

    def _round(self, limit: int, number: int) -> SelfCell:
        cell, seed = self.contempt(limit), self.seed * 1000 + number
        return replace(cell, name=f"round {number} {cell.name}", seed=seed)
