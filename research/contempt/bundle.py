"""What a study leaves behind, beside its JSON and its figure.

All games as PGN and as a table, the tables that its numbers stand in, annotated games, BibTeX, a
page for a journalist and one for a referee. The same games make the same files.
"""

from __future__ import annotations

import csv
import datetime
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

import kibitz
from kibitz.arena.match.journal import PlayedGame
from kibitz.arena.match.report import to_game
from kibitz.cli.explain.comment import engines_for
from kibitz.comment.annotate import Style, annotate
from kibitz.core.files import dated, write_bytes
from kibitz.core.provenance import commit
from kibitz.position.pgn import Game
from kibitz.search.limits import Limits
from research.contempt.cells import MatchCell, Session
from research.contempt.plan import Findings, Json
from research.contempt.reasons import PHASES, RISK
from research.contempt.study import Study, traps

SURE = 0.05  # corrected p-values below it are more than chance

PAPERS = """\
@misc{joshi2025searchcontempt,
  author = {Ameya Joshi},
  title = {Search-contempt: a hybrid {MCTS} algorithm for training {AlphaZero}-like engines with
           better computational efficiency},
  year = {2025},
  eprint = {2504.07757},
  archivePrefix = {arXiv}
}

@inproceedings{mcilroyyoung2020maia,
  author = {Reid McIlroy-Young and Siddhartha Sen and Jon Kleinberg and Ashton Anderson},
  title = {Aligning Superhuman {AI} with Human Behavior: Chess as a Model System},
  booktitle = {Proceedings of the 26th {ACM SIGKDD} Conference on Knowledge Discovery and
               Data Mining},
  year = {2020},
  eprint = {2006.01855},
  archivePrefix = {arXiv}
}
"""


def write_bundle(
    folder: Path, plan: Study, session: Session, findings: Findings, command: str
) -> None:
    """Write all of it."""
    rows: list[Json] = []
    won: list[Game] = []
    for cell in plan.cells():
        games = cell.there(session.folder)
        rows += [_of_game(cell, game) for game in games]
        _write(folder / "pgn" / f"{cell.slug}.pgn", _pgn(_as_pgn(cell, game) for game in games))
        first = next((game for game in games if game.points == 1.0), None)
        if first is not None and len(won) < plan.annotated:
            won.append(_as_pgn(cell, first))
    _write(folder / "annotated.pgn", _pgn(_annotated(plan, won)))
    _write(folder / "games.csv", table(rows))
    _write(folder / "cells.csv", table(findings.facts))
    _write(folder / "comparisons.csv", table(findings.more["comparisons"]))
    _write(folder / "gains.csv", table(findings.more["gains"]))
    _write(folder / "study.bib", f"{_own_entry(command)}\n{PAPERS}")
    _write(folder / "journalist.md", journalist(plan, findings))
    _write(folder / "referee.md", referee(plan, findings, command))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, text.encode())


# --- games and tables -----------------------------------------------------------------------------


def _as_pgn(cell: MatchCell, game: PlayedGame) -> Game:
    players = cell.setup.players
    controls = [cell.setup.control_of(spec) for spec in players]
    return to_game(game, [spec.name for spec in players], controls)


def _pgn(games: Iterator[Game]) -> str:
    return "".join(f"{game}\n\n" for game in games)


def _annotated(plan: Study, games: Sequence[Game]) -> Iterator[Game]:
    if not games:
        return
    limits = Limits(nodes=plan.annotate_nodes)
    with engines_for(plan.judge, limits, 1) as (engine,):
        for game in games:
            engine.new_game()
            for node in game.tree.mainline():
                node.comment = ""  # the players' own scores
            yield annotate(game, engine, Style(limits=limits)).game


def _of_game(cell: MatchCell, game: PlayedGame) -> Json:
    giver, opponent = (spec.name for spec in cell.setup.players)
    return {
        "cell": cell.name,
        "giver": giver,
        "opponent": opponent,
        "number": game.number,
        "start": game.fen,
        "opening": " ".join(game.book),
        "result": game.result,
        "plies": len(game.moves),
        "termination": game.termination,
        "traps": traps(game),
    }


def table(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows as CSV; what has parts gets a column for each."""
    flat = [dict(_parts("", row)) for row in rows]
    names = dict.fromkeys(name for row in flat for name in row)
    text = io.StringIO()
    writer = csv.DictWriter(text, [*names], restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return text.getvalue()


def _parts(name: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, list | tuple):
        value = {str(number): part for number, part in enumerate(value, start=1)}
    if not isinstance(value, Mapping):
        yield name, value
        return
    for key, part in value.items():
        yield from _parts(f"{name}_{key}" if name else key, part)


def _own_entry(command: str) -> str:
    date = dated(datetime.datetime.now(datetime.UTC))
    root = Path(kibitz.__file__).parents[2]
    lines = [
        "  author = {The Kibitz developers},",
        "  title = {Odds against people-like opponents},",
        *([f"  year = {{{date[:4]}}},"] if date else []),
        f"  note = {{Kibitz {kibitz.__version__}, commit {commit(root)}: \\verb|{command}|}}",
    ]
    return "\n".join(["@misc{kibitzodds,", *lines, "}", ""])


# --- pages ----------------------------------------------------------------------------------------


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


def _plainly(row: Json) -> str:
    """A comparison, for those who know no p-values."""
    points, error = 100 * row["difference"], 100 * row["error"]
    sure = "more than chance explains" if row["p_holm"] < SURE else "which may be chance"
    direction = "more" if points >= 0 else "less"
    return (
        f"- Odds {row['odds']}, against {row['opponent']}: {row['giver']} makes {abs(points):.1f} "
        f"points of 100 {direction} than {row['control']}, give or take {error:.1f}, {sure}."
    )


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
        lines.append([giver, f"{100 * left:.0f}", f"{100 * given:.0f}", f"{risks:.1f}"])
        lines[-1].append(f"{worked:.1f}")
    headings = ("a game", "own moves cost", "opponents' errors give", "risks", "that pay off")
    return _markdown(headings, lines)


def _gains(findings: Findings) -> str:
    """Where each difference comes from."""
    lines = [
        [
            f"{row['odds']}, {row['opponent']}",
            f"{row['giver']} less {row['control']}",
            str(row["games"]),
            f"{100 * row['difference']:+.1f}",
            f"{100 * row['own']:+.1f} ± {100 * row['own_error']:.1f}",
            f"{100 * row['opponents']:+.1f} ± {100 * row['opponents_error']:.1f}",
        ]
        for row in findings.more["gains"]
    ]
    headings = ("cell", "difference", "judged games", "points of 100", "own moves", "opponent's")
    return _markdown(headings, lines)


def _games(findings: Findings) -> int:
    return sum(row["games"] for row in findings.facts)


def journalist(plan: Study, findings: Findings) -> str:
    """One page without a formula."""
    judged = any(row["reasons"] for row in findings.facts)
    why = [
        "",
        "## Where the points come from",
        "",
        f"A stronger search judged every position of the first {plan.judged} games against each "
        "opponent. What is won comes from two sources: own moves that give little away, and errors "
        "of the opponent. A risk is a move that costs "
        f"{100 * RISK:g} points of 100 or more against best play; it pays off if the reply gives "
        "more than that back. Costs and gifts are in points of 100.",
        "",
    ]
    return "\n".join(
        [
            "# Odds: who makes the most of people's mistakes?",
            "",
            "A chess program that begins without its queen is lost, if its opponent makes no "
            "mistakes. People do make them. Which way of thinking wins most often from there: one "
            "that expects the best replies, one that stops to look for better replies after a "
            "while (search-contempt), or one that expects what people really play?",
            "",
            f"Kibitz played {_games(findings)} games to find out. The giver of odds had White "
            f"({', '.join(plan.odds)}) and looked at {plan.nodes} positions for each move; a good "
            "program usually looks at millions. The opponents with the name Maia are networks that "
            "were trained on games of people of the rating that follows; each plays a move as "
            "often as such people do. All givers played the same openings.",
            "",
            "## What came out",
            "",
            _scores(plan, findings),
            "",
            *map(_plainly, findings.more["comparisons"]),
            *([*why, _habits(plan, findings)] if judged else []),
            "",
            "## What this does not say",
            "",
            "- The opponents are networks. They are not afraid of a famous opponent, they do not "
            "tire, and they have no clock.",
            "- It is one program with one network and little thought; more thought, or another "
            "network, may change the order.",
            "- A draw counts as half a point. What looks like a win of a few points of 100 is a "
            "few games of a hundred, seen only over thousands.",
            "",
            "The games are in `pgn/`, some of them with comments in `annotated.pgn`; all numbers "
            "are in `study.json`, the figure is `study.svg`.",
            "",
        ]
    )


def referee(plan: Study, findings: Findings, command: str) -> str:
    """One page on design, tests and what may be wrong with them."""
    tests = [
        [
            f"{row['odds']}, {row['opponent']}",
            f"{row['giver']} less {row['control']}",
            str(row["games"]),
            f"{100 * row['difference']:+.2f} ± {100 * row['error']:.2f}",
            f"{row['p']:.4f}",
            f"{row['p_holm']:.4f}",
        ]
        for row in findings.more["comparisons"]
    ]
    headings = ("cell", "difference", "games", "points of 100, 95 %", "p", "p (Holm)")
    facts = [f"- {name}: {value}" for name, value in plan.described().items()]
    forfeits = [f"- {row['cell']}: {row['player']} {row['games']}" for row in _forfeits(findings)]
    players = {name for cell in plan.cells() for name in cell.setup.header().players}
    return "\n".join(
        [
            "# Odds against people-like opponents: for the referee",
            "",
            "Hypotheses, cells, sample sizes, the stopping rule and all tests are in "
            "`research/contempt/PLAN.md`, committed before the first game that counts; its changes "
            "stand at its end.",
            "",
            "## Design",
            "",
            *facts,
            f"- games: {_games(findings)}; the share {plan.share:g} of the openings; no "
            "adjudication; draws by threefold repetition and the 50-move rule are claimed",
            "",
            "## Tests",
            "",
            "Mean differences of points over the same openings; two-sided p-values by the normal "
            f"distribution of the mean, corrected by Holm's method for all {len(tests)}.",
            "",
            _markdown(headings, tests),
            "",
            "Won, drawn and lost games with Wilson's intervals are in `cells.csv`, a line for each "
            "game in `games.csv`.",
            "",
            "## Forfeits",
            "",
            *(forfeits or ["No game was decided by a crash, an illegal move or the time."]),
            "",
            "## Where differences come from",
            "",
            f"Alpha-beta ({plan.judge}, {plan.judge_nodes} nodes) searches every position of the "
            f"first {plan.judged} games of a cell. Its expected scores, ending with the points of "
            "the game, rise and fall with the moves of either side: sums over them, and over "
            "phases, add up to the difference (`gains.csv`). In `cells.csv` `reasons_left` is what "
            "the giver's moves cost against best play, `reasons_given` what the opponent's gave; "
            f"`reasons_risks` counts moves that cost {100 * RISK:g} points of 100 or more, "
            "`reasons_worked` those whose reply gave more than that; phases end at moves "
            f"{', '.join(map(str, PHASES))} and with the game. The judge knows no human opponents; "
            "its errors are part of both sums and cancel in the total only.",
            "",
            _gains(findings),
            "",
            "## Threats to validity",
            "",
            "- Maia's policy without search is a model of people; its moves are independent draws, "
            "and it does not play worse when it is short of time.",
            "- The giver that expects people's moves has the network of one rating for opponents "
            "of all; against that rating its model of the opponent is exact.",
            "- Nodes are not time: a search with a second network costs many times as much.",
            "",
            "## To make it again",
            "",
            f"`{command}` plays what is missing and writes all files anew; with "
            "`--reproducible` a seed fixes every byte. Players, with the first digits of their "
            "networks' SHA-256:",
            "",
            *(f"- `{name}`" for name in sorted(players)),
            "",
        ]
    )


def _forfeits(findings: Findings) -> list[Json]:
    listed: list[Json] = findings.more.get("forfeits", [])
    return listed
