"""The pages of a study: one without a formula for a journalist, one on its design for a referee."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from kibitz.arena.match.spec import Spec, parse_players
from research.contempt.plan import Findings, Json
from research.contempt.reasons import PHASES, RISK
from research.contempt.study import Study

SURE = 0.05  # corrected p-values below it are more than chance

JOURNALIST = """\
# Odds: who makes the most of people's mistakes?

A chess program that begins without its queen is lost, if its opponent makes no mistakes. People
do make them. Which way of thinking wins most often from there: one that expects the best replies,
one that stops to look for better replies after a while (search-contempt), or one that expects
what people really play?

Kibitz played {games} games to find out{part}. The giver had White, at odds of: {odds}. It looked at
{nodes} positions for each move; a good program usually looks at millions. The opponents with the
name Maia are networks that were trained on games of people of the rating that follows; each plays
a move as often as such people do{others}. All givers played the same openings{random}:

{ways}

## What came out

{scores}

Over the same openings, in points of 100, give or take what chance may do; a star stands where
chance alone would seldom make such a difference (in one of 20 such studies at most):

{comparisons}
{early}{why}
## What this does not say

- The opponents are networks. They are not afraid of a famous opponent, they do not tire, and they
  have no clock.
- It is one program with one network and little thought; more thought, or another network, may
  change the order.
- A draw counts as half a point. A difference of a few points of 100 is a few games of a hundred,
  seen only over thousands.

The games are in `pgn/`, some of them with comments in `annotated.pgn`; all numbers are in
`study.json`, the figure is `study.svg`.
"""

WHY = """
## Where the points come from

A stronger search judged every position of each giver's first {judged} games against each
opponent. What is won comes from two sources: own moves that give little away, and errors of the
opponent. A risk is a move that costs {risk:g} points of 100 or more against best play; it pays off
if the reply gives more than that back. Costs and gifts are in points of 100.

{habits}
"""

REFEREE = """\
# Odds against people-like opponents: for the referee

Hypotheses, cells, sample sizes, the stopping rule and all tests are in
`research/contempt/PLAN.md`, committed before the first game that counts; its changes stand at its
end.

## Design

{design}
- games in all: {games}; the share {share:g} of the openings; {adjudication}; draws by threefold
  repetition and the 50-move rule are claimed

## Tests

Mean differences of points over the same openings; two-sided p-values by the normal distribution
of the mean, corrected by Holm's method for all {count}.{early}

{tests}

Won, drawn and lost games with Wilson's intervals are in `cells.csv`, a line for each game in
`games.csv`.

## Forfeits

{forfeits}

{gains}## Threats to validity

- Maia's policy without search is a model of people; its moves are independent draws, and it does
  not play worse when it is short of time.
- A giver that expects people's moves has the network of one rating for opponents of all; against
  that rating its model of them is exact.
- Nodes are not time: a search with a second network costs many times as much.

## To make it again

`{command}` plays what is missing and writes all files anew; with `--reproducible` a seed fixes
every byte. Players, with the first digits of the SHA-256 of their network files:

{players}
"""


EARLY = """
These are the first games only. The study decides its questions when all are played, and what is
seen so far may change, stars included.
"""
GAINS = """## Where differences come from

Alpha-beta ({judge}, {judge_nodes} nodes) searches every position of the first {judged} games of a
cell. Its expected scores, ending with the points of the game, rise and fall with the moves of
either side: sums over them, and over phases, add up to the difference (`gains.csv`). In
`cells.csv` `reasons_left` is what the giver's moves cost against best play, `reasons_given` what
the opponent's gave; `reasons_risks` counts moves that cost {risk:g} points of 100 or more,
`reasons_worked` those whose reply gave more than that; phases end at moves {phases} and with the
game. The judge knows no human opponents; its errors are part of both sums and cancel in the total
only.

{gains}

"""
EARLY_TESTS = """ This is an
interim look at the share {share:g} of the games: the plan decides its hypotheses by complete cells
only, and no p-value below does."""


def journalist(plan: Study, findings: Findings) -> str:
    """One page without a formula."""
    habits = ""
    if any(row["reasons"] for row in findings.facts):
        habits = WHY.format(judged=plan.judged, risk=100 * RISK, habits=_habits(plan, findings))
    return JOURNALIST.format(
        games=_games(findings),
        part="" if plan.share == 1 else f", the first {100 * plan.share:g} % of those planned",
        others=_others(plan),
        odds=", ".join(plan.odds),
        nodes=plan.nodes,
        ways=_list([f"{spec.name} {_way(spec)}" for spec in parse_players([*plan.givers])]),
        scores=_scores(plan, findings),
        random=_random(plan),
        comparisons=_plainly(findings.more["comparisons"]),
        early="" if plan.share == 1 else EARLY,
        why=habits,
    )


def referee(plan: Study, findings: Findings, command: str) -> str:
    """One page on design, tests and what may be wrong with them."""
    players = {name for cell in plan.cells() for name in cell.setup.header().players}
    listed = findings.more.get("forfeits", [])
    forfeits = [f"{row['cell']}: {row['player']} {row['games']}" for row in listed]
    return REFEREE.format(
        design=_list([f"{name}: {value}" for name, value in plan.described().items()]),
        games=_games(findings),
        share=plan.share,
        adjudication=_adjudication(plan),
        early="" if plan.share == 1 else EARLY_TESTS.format(share=plan.share),
        count=len(findings.more["comparisons"]),
        tests=_tests(findings),
        forfeits=_list(forfeits) or "No game was decided by a crash, an illegal move or the time.",
        gains=_gains(plan, findings),
        command=command,
        players=_list([f"`{name}`" for name in sorted(players)]),
    )


# --- their parts ----------------------------------------------------------------------------------


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _games(findings: Findings) -> str:
    return f"{sum(row['games'] for row in findings.facts):,}"


def _random(plan: Study) -> str:
    """How the openings begin, in words."""
    plies = "" if plan.openings else plan.random_plies
    return f", each of which begins with {plies} random moves, the sides in turn" if plies else ""


def _adjudication(plan: Study) -> str:
    return f"drawn after {plan.most_moves} moves" if plan.most_moves else "no adjudication"


def _others(plan: Study) -> str:
    """Opponents that are no model of people, in words."""
    opponents = parse_players([*plan.opponents])
    names = [spec.name for spec in opponents if "maia" not in spec.text.partition(",")[0]]
    return f"; {' and '.join(names)} plays as a program does" if names else ""


def _way(spec: Spec) -> str:
    """How a giver searches, in words."""
    search = spec.options.get("Search")
    if spec.rule == "expectimax":
        return "expects replies as often as people play them"
    if "ScLimit" in spec.options:
        return f"stops to look for better replies after {spec.options['ScLimit']} looks"
    if search == "alphabeta":
        return (
            "expects the best replies and gives up early on other lines, as classical programs do"
        )
    own = "the best replies, and looks first at moves that people play"
    return f"expects {own if 'maia' in spec.text.split(',')[0] else 'the best replies'}"


def _compared(row: dict[str, Any]) -> tuple[str, str, str]:
    """What is compared, and over how many games: the first columns of a row."""
    cell = f"{row['odds']}, {row['opponent']}"
    return cell, f"{row['giver']} less {row['control']}", str(row["games"])


def _tests(findings: Findings) -> str:
    lines = [
        [
            *_compared(row),
            f"{100 * row['difference']:+.2f} ± {100 * row['error']:.2f}",
            _p(row["p"]),
            _p(row["p_holm"]),
        ]
        for row in findings.more["comparisons"]
    ]
    headings = ("cell", "difference", "games", "points of 100, 95 %", "p", "p (Holm)")
    return _markdown(headings, lines)


def _p(value: float) -> str:
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def _markdown(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _scores(plan: Study, findings: Findings) -> str:
    """Per cent of the points, a line for each giver."""
    columns = [(odds, name) for odds in plan.odds for name in plan.names(plan.opponents)]
    made = {
        (row["odds"], row["opponent"], row["giver"]): f"{100 * row['score']:.1f} %"
        for row in findings.facts
    }
    lines = [
        [giver, *(made.get((*column, giver), "") for column in columns)]
        for giver in plan.names(plan.givers)
    ]
    return _markdown(["scores", *(f"{odds}, {name}" for odds, name in columns)], lines)


def _plainly(rows: Sequence[Json]) -> str:
    """Comparisons, a line for each giver, for those who know no p-values."""
    told: dict[str, list[str]] = {}
    for row in rows:
        star = " *" if row["p_holm"] < SURE else ""
        difference = f"{100 * row['difference']:+.1f} ± {100 * row['error']:.1f}{star}"
        about = told.setdefault(f"{row['giver']} less {row['control']}", [])
        about.append(f"{difference} ({row['odds']}, {row['opponent']})")
    return _list([f"{name}: {'; '.join(differences)}" for name, differences in told.items()])


def _habits(plan: Study, findings: Findings) -> str:
    """What moves cost and gave, a line for each giver: the mean of its cells, points of 100."""
    lines = []
    for giver in plan.names(plan.givers):
        rows = [row["reasons"] for row in findings.facts if row["giver"] == giver]
        means = [
            fmean([row[name] for row in rows if row] or [math.nan])
            for name in ("left", "given", "risks", "worked")
        ]
        left, given, risks, worked = means
        lines.append([giver, str(round(100 * left)), str(round(100 * given)), f"{risks:.1f}"])
        lines[-1].append(f"{worked:.1f}")
    headings = ("a game", "own moves cost", "opponents' errors give", "risks", "that pay off")
    return _markdown(headings, lines)


def _gains(plan: Study, findings: Findings) -> str:
    """Where each difference comes from; nothing if no game was judged."""
    if not findings.more["gains"]:
        return ""
    lines = [
        [
            *_compared(row),
            f"{100 * row['difference']:+.1f}",
            f"{100 * row['own']:+.1f} ± {100 * row['own_error']:.1f}",
            f"{100 * row['opponents']:+.1f} ± {100 * row['opponents_error']:.1f}",
        ]
        for row in findings.more["gains"]
    ]
    headings = ("cell", "difference", "judged games", "points of 100", "own moves", "opponent's")
    return GAINS.format(
        judge=plan.judge,
        judge_nodes=plan.judge_nodes,
        judged=plan.judged,
        risk=100 * RISK,
        phases=", ".join(map(str, PHASES)),
        gains=_markdown(headings, lines),
    )
