"""What a study leaves behind, beside its JSON and its figure.

All games as PGN and as a table, the tables that its numbers stand in, annotated games, BibTeX, a
page for a journalist and one for a referee. The same games make the same files.
"""

from __future__ import annotations

import csv
import datetime
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

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
from research.contempt.pages import journalist, referee
from research.contempt.plan import Findings, Json
from research.contempt.study import Study, traps

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
