"""`kibitz search`, `analyse` and `human`: what the engine, or people, would play in a position."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from cyclopts import Parameter

from kibitz.cli.output import (
    EXIT_STOPPED,
    EngineFlag,
    JsonFlag,
    NetworkFlag,
    at_least,
    columns,
    emit,
    from_flag,
    milliseconds,
    within,
)
from kibitz.coach.human import HIGHEST_RATING, LOWEST_RATING, people_facts
from kibitz.core.errors import InputError
from kibitz.core.log import Level, Stop, console, graceful_stop, say
from kibitz.engine import Engine
from kibitz.engine.options import AUTODISCOVER, chosen, file_options, search_settings
from kibitz.nets.discover import named
from kibitz.nets.evaluators.inline import InlineEvaluator
from kibitz.nets.load import Evaluator, load_evaluator
from kibitz.position.board import Board
from kibitz.position.fen import START
from kibitz.position.notation import moves_in
from kibitz.position.pgn import read_games
from kibitz.search.limits import Limits
from kibitz.search.mcts.rules.parameters import RuleName
from kibitz.search.method import changes_of, open_search, warm, without_effect
from kibitz.search.options import SearchName, Settings
from kibitz.search.report import Line, Report, Result, spelled

if TYPE_CHECKING:
    from rich.table import Table

SearchFlag: TypeAlias = Annotated[
    SearchName | None, Parameter(name="--search", help="Tree search, alpha-beta or best-first.")
]

# --- search ---------------------------------------------------------------------------------------

DEFAULT_SECONDS = 5.0
ROWS_SHOWN = 12
LINE_SHOWN = 8  # plies of the principal variation


def search(
    fen: Annotated[str, Parameter(help="The position.")] = START,
    *,
    nodes: Annotated[int | None, Parameter(help="Stop after so many nodes.")] = None,
    time: Annotated[float | None, Parameter(help="Stop after so many seconds.")] = None,
    kind: SearchFlag = None,
    rule: Annotated[
        RuleName | None, Parameter(help="Selection rule, with its authors' constants.")
    ] = None,
    preset_name: Annotated[
        str, Parameter(name="--preset", help="Start from a preset.")
    ] = "default",
    option: Annotated[tuple[str, ...], Parameter(help="Name=value, as in UCI; repeatable.")] = (),
    network: NetworkFlag = AUTODISCOVER,
    moves: Annotated[
        tuple[str, ...], Parameter(help="Search only these moves.", consume_multiple=True)
    ] = (),
    against: Annotated[
        str | None, Parameter(help="A player, as in matches, whose search is shown beside.")
    ] = None,
    json: JsonFlag = False,
) -> int:
    """Search a position; Ctrl-C ends it and prints what was found."""
    options = read_options(option)
    with from_flag("--network"):
        what = chosen(network)
    with from_flag("--preset"):
        changes_of(preset_name, rule or "")
    settings = search_settings(what, preset_name, rule or "", {})
    with from_flag("--option"):
        settings = settings.parse(options)
    if kind is not None and any(name.casefold() == "search" for name in options):
        raise InputError("--search and --option Search", value=kind, fix="give one of them")
    settings = settings.with_(
        search=kind or (settings.search if settings.search != "auto" else "mcts")
    )
    board = Board(fen)
    seconds = DEFAULT_SECONDS if nodes is None and time is None else time
    at_least(1, nodes=nodes)
    with from_flag("--moves"):
        only = tuple(moves_in(moves))
        for move in only:
            board.parse(move)
    with from_flag("--nodes"):
        limits = Limits(nodes=nodes, movetime=milliseconds(seconds), searchmoves=only)
    with from_flag("--network"):
        evaluator = load_evaluator(what)
    tell_idle_options(evaluator, settings, preset_name, rule)
    if against is not None:
        return _both(board, limits, settings, what, against, json)
    result = _searched(board, limits, settings, evaluator, what, live=not json)
    request = {"fen": board.fen(), "limits": limits.given()}
    facts = {"network": named(what), "settings": settings.changed(), **request, **_plain(result)}
    emit(facts, as_json=json, table=_table(result.report, board, what))
    if not json:
        end = board.outcome()
        if end is not None:
            say(f"the game is over: {end.termination.text}")
        elif result.move is not None:
            say(f"best move {board.san(result.move)}")
    return 0


def _both(
    board: Board, limits: Limits, settings: Settings, what: str, player: str, json: bool
) -> int:
    """Two searches side by side."""
    from kibitz.cli.explain.search_against import Side, differing, search_both, side_of, table

    first = "kibitz" if settings.search_rule == "puct" else settings.search_rule
    with from_flag("--against"):
        sides = [Side(first, what, settings), side_of(player)]
    with _live(not json) as show:
        results = search_both(board, limits, sides, show)
    facts: dict[str, Any] = {"fen": board.fen(), "limits": limits.given()}
    facts["differing"] = differing(settings, sides[1].settings)
    facts["sides"] = [
        {"network": named(side.network), "settings": side.settings.changed(), **_plain(result)}
        for side, result in zip(sides, results, strict=True)
    ]
    emit(facts, as_json=json, table=table(board, sides, [result.report for result in results]))
    return 0


def read_options(options: tuple[str, ...]) -> dict[str, str]:
    """Options of a search or a program by their names, from texts like CPuct=2.5."""
    for text in options:
        if "=" not in text:
            raise InputError("--option", value=text, fix="expected Name=value, as Hash=64")
    pairs = (text.partition("=")[::2] for text in options)
    return {name.strip(): value.strip() for name, value in pairs}


def tell_idle_options(
    evaluator: Evaluator, settings: Settings, preset: str, rule: RuleName | None
) -> None:
    """Name the options beyond those of a preset and a rule that have no effect."""
    base = Settings().with_(**changes_of(preset, rule or ""))
    batched = not isinstance(evaluator, InlineEvaluator)
    if rule and settings.search != "mcts":
        say(f"--rule has no effect with Search {settings.search}")
    if preset != "default" and settings.search != "mcts":
        say(f"of --preset {preset} counts only what Search {settings.search} heeds")
    for line in without_effect(settings, base, batched=batched):
        say(line)


def _searched(
    board: Board, limits: Limits, settings: Settings, evaluator: Evaluator, what: str, live: bool
) -> Result:
    """Search, with a live table on a terminal."""
    warm(evaluator, settings)
    with closing(open_search(evaluator, settings)) as searcher, graceful_stop() as stop:
        for problem in searcher.problems:
            say(problem)
        searcher.ready()
        with _live(live) as show:

            def follow(report: Report) -> None:
                show(partial(_table, report, board, what))
                if stop.requested:
                    searcher.stop()

            return searcher.search(board, limits, follow)


@contextmanager
def _live(wanted: bool) -> Iterator[Callable[[Callable[[], Table]], None]]:
    """What shows a table in place of the last one, if that is wanted and on a terminal."""
    if not (wanted and console().is_terminal):
        yield lambda _: None
        return
    from rich.live import Live

    with Live(console=console(), refresh_per_second=8, transient=True) as shown:
        yield lambda table: shown.update(table())


def _has_priors(report: Report) -> bool:
    """Whether the search asked a policy; alpha-beta does not, and its visits are nodes."""
    return any(row.prior > 0.0 for row in report.moves)


def _table(report: Report, board: Board, what: str) -> Table:
    with_priors = _has_priors(report)
    rows = [
        (
            board.san(row.move),
            row.visits,
            *([f"{100 * row.prior:.1f} %"] if with_priors else []),
            f"{row.value:+.3f}" if row.scored else "",
            f"{100 * row.draw:.0f} %" if row.scored else "",
            row.proof or "",
        )
        for row in report.moves[:ROWS_SHOWN]
    ]
    best = "\n".join(f"{line.score} {_moves(line, LINE_SHOWN)}" for line in report.lines)
    title = (
        f"network {named(what)}: {report.nodes:,} nodes, {report.nps:,}/s, "
        f"depth {report.depth}/{report.seldepth}, "
        f"memory {report.hashfull / 10:.1f} % full: {best}"
    )
    title = "\n".join((title, *report.notes))
    effort = ("visits", "prior") if with_priors else ("nodes",)
    return columns(("move", *effort, "value", "draw", "proof"), rows, title=title)


def _moves(line: Line, most: int | None = None) -> str:
    return " ".join(move.uci() for move in line.moves[:most])


def _plain(result: Result) -> dict[str, Any]:
    report = result.report
    with_priors = _has_priors(report)
    return {
        "best_move": result.move.uci() if result.move else None,
        "ponder": result.ponder.uci() if result.ponder else None,
        "score": str(report.best.score),
        "value": report.best.value,
        "wdl": list(report.best.wdl),
        "nodes": report.nodes,
        "seconds": report.milliseconds / 1000,
        "nps": report.nps,
        "depth": report.depth,
        "seldepth": report.seldepth,
        "hashfull": report.hashfull,
        "tbhits": report.tbhits,
        "notes": list(report.notes),
        "pv": [move.uci() for move in report.best.moves],
        "lines": [{"score": str(line.score), "pv": _moves(line)} for line in report.lines],
        "moves": [
            {
                "move": row.move.uci(),
                "visits": row.visits,
                "prior": row.prior if with_priors else None,
                "value": row.value if row.scored else None,
            }
            for row in report.moves
        ],
    }


# --- analyse --------------------------------------------------------------------------------------

LINES = 3  # of the best moves
ANALYSE_DEFAULT_SECONDS = 2.0  # for each position
ANALYSE_LINE_SHOWN = 12  # plies
POSITIONS_AT_MOST = 2_000  # of one file


def analyse(
    what: Annotated[str, Parameter(help="FEN, or a PGN file.")] = START,
    *,
    network: EngineFlag = AUTODISCOVER,
    lines: Annotated[int | None, Parameter(help="Of the best moves to show; 3.")] = None,
    nodes: Annotated[int | None, Parameter(help="Nodes for each position.")] = None,
    time: Annotated[float | None, Parameter(help="Seconds for each position.")] = None,
    threads: Annotated[int | None, Parameter(help="Search threads; 1.")] = None,
    kind: SearchFlag = None,
    json: JsonFlag = False,
) -> int:
    """Analyse a position, or a game move by move; Ctrl-C ends it and prints what was found."""
    seconds = ANALYSE_DEFAULT_SECONDS if nodes is None and time is None else time
    at_least(1, nodes=nodes)
    for flag, option in {"--lines": {"multipv": lines}, "--threads": {"threads": threads}}.items():
        with from_flag(flag):
            Settings().with_(**{name: value for name, value in option.items() if value is not None})
    limits = Limits(nodes=nodes, movetime=milliseconds(seconds))
    results: list[dict[str, Any]] = []
    skipped: list[str] = []
    positions = _positions(what, skipped)
    given = {"multipv": lines, "threads": threads, "search": kind}
    shown = {"multipv": LINES, **file_options(network).search}
    shown |= {name: value for name, value in given.items() if value is not None}
    with Engine(network, **shown) as engine, graceful_stop() as stop:
        engine.ready(limits)
        for problem in engine.problems:
            say(problem)
        if not json:
            sys.stdout.write(f"network {engine.source}\n")
        for board, played in positions:
            if stop.requested:
                break
            report = _watched(engine, board, limits, stop, live=not json)
            results.append(_analyse_plain(board, played, report))
            if not json:
                emit({}, as_json=False, table=_analyse_table(board, played, report))
    if json:
        changed = engine.settings.changed()
        request = {"network": engine.source, "settings": changed, "limits": limits.given()}
        emit({**request, "skipped": skipped, "positions": results}, as_json=True)
    if not (results or stop.requested):
        raise InputError("no game to analyse", value=what, fix=f"{len(skipped)} skipped")
    return EXIT_STOPPED if stop.requested else 0


def _positions(what: str, skipped: list[str]) -> Iterator[tuple[Board, str]]:
    """The positions to look at, each with the move that led to it in SAN; games may be skipped.

    They are read when they are asked for: by then a second process helps to compile the rules.
    """
    if Path(what).is_file():
        return _played(what, skipped)
    if len(what.split()) == 1:  # no FEN has only one field
        fix = "check the path; without any, the start of a game is analysed"
        raise InputError("neither a FEN nor a file", value=what, fix=fix)
    return ((Board(fen), "") for fen in (what,))


def _played(what: str, skipped: list[str]) -> Iterator[tuple[Board, str]]:
    """The positions of a file of games."""
    from kibitz.position.pgn import BadGame, move_number, read_games

    def skip(game: BadGame) -> None:
        skipped.append(str(game))
        say(str(game), Level.QUIET)

    count = 0
    for game in read_games(what, skip):
        board = game.start
        yield board, ""
        for move in game.moves:
            count += 1
            if count > POSITIONS_AT_MOST:
                fix = "give a file with fewer games"
                raise InputError("more positions than one analysis takes", value=what, fix=fix)
            played = f"{move_number(board.ply)} {board.san(move)}"
            board.push(move)
            yield board, played


def _watched(engine: Engine, board: Board, limits: Limits, stop: Stop, live: bool) -> Report:
    """Search, with a live table on a terminal."""
    with engine.analyse(board, limits) as reports, _live(live) as show:
        for report in reports:
            show(partial(_analyse_table, board, "", report))
            if stop.requested:
                reports.stop()
    return reports.result().report


def _analyse_table(board: Board, played: str, report: Report) -> Table:
    counts = f"depth {report.depth}/{report.seldepth}, {report.nodes:,} nodes, {report.nps:,} nps"
    if not report.best.moves:
        return columns(("", ""), [("game over", str(report.best.score))], played)
    rows = [
        (line.number, spelled(line.score), " ".join(map(str, line.wdl)), _san_line(board, line))
        for line in report.lines
    ]
    title = f"{played}: {counts}" if played else counts
    return columns(("", "score", "win draw loss", "line"), rows, title)


def _san_line(board: Board, line: Line) -> str:
    after, sans = board.copy(), []
    for move in line.moves[:ANALYSE_LINE_SHOWN]:
        sans.append(after.san(move))
        after.push(move)
    return " ".join(sans)


def _analyse_plain(board: Board, played: str, report: Report) -> dict[str, Any]:
    lines = [
        {
            "score": line.score.amount,
            "kind": line.score.kind,
            "wdl": list(line.wdl),
            "moves": [board.uci(move) for move in line.moves],
        }
        for line in report.lines
    ]
    counts = {"depth": report.depth, "nodes": report.nodes, "milliseconds": report.milliseconds}
    return {"fen": board.fen(), "played": played, **counts, "lines": lines}


# --- human ----------------------------------------------------------------------------------------

NODES = 100_000
MOVES_SHOWN = 10


def human(
    what: Annotated[str, Parameter(help="FEN, or a PGN file, of which the first game.")] = START,
    *,
    rating: Annotated[
        int,
        Parameter(help=f"Of the people, as on Lichess: {LOWEST_RATING} to {HIGHEST_RATING}."),
    ] = 1500,
    moves: Annotated[
        tuple[str, ...],
        Parameter(help="Played from there: people's moves depend on them.", consume_multiple=True),
    ] = (),
    ply: Annotated[
        int | None, Parameter(help="Of a PGN: after so many plies, by default all.")
    ] = None,
    nodes: Annotated[int, Parameter(help="Of the search for the best move; 0: none.")] = NODES,
    network: EngineFlag = AUTODISCOVER,
    json: JsonFlag = False,
) -> int:
    """Say what people of a rating play, and how hard the best move is to find."""
    at_least(0, nodes=nodes)
    within(LOWEST_RATING, HIGHEST_RATING, rating=rating)
    board = _position_of(what, ply)
    with from_flag("--moves"):
        for move in moves_in(moves):
            board.push(move)
    lines = list[Line]()
    if nodes and board.legal_moves:
        with Engine(network, multipv=len(board.legal_moves)) as engine:
            lines += engine.play(board, Limits(nodes=nodes)).report.lines
    facts = people_facts(board, rating, lines)
    rows = facts["moves"]
    emit(facts, as_json=json, table=None if json else _people_table(rows, rating))
    if not rows:
        say("the game is over")
    elif "best" in facts and not json:
        say(_best_told(facts["best"], rating))
    return 0


def _position_of(what: str, ply: int | None) -> Board:
    """The position, with the moves that led to it where they are given."""
    if not Path(what).is_file():
        if ply is not None:
            raise InputError("--ply", value=ply, fix="it is for PGN files; give one")
        return Board(what)
    game = next(iter(read_games(what)), None)
    if game is None:
        raise InputError("no game in this file", value=what, fix="give a PGN file")
    if ply is not None and not 0 <= ply <= len(game.moves):
        raise InputError("--ply", value=ply, fix=f"the game has {len(game.moves)} plies")
    board = game.start
    for move in game.moves[:ply]:
        board.push(move)
    return board


def _people_table(rows: list[dict[str, Any]], rating: int) -> Any:
    cells = [
        (row["san"], _percent(row["share"]), row.get("score", ""), row.get("mark", ""))
        for row in rows[:MOVES_SHOWN]
    ]
    return columns(("move", f"played at {rating}", "score", ""), cells)


def _best_told(best: dict[str, Any], rating: int) -> str:
    others = ", ".join(
        f"{_percent(share)} at {other}"
        for other, share in best["by_rating"].items()
        if other != rating
    )
    return f"best move {best['san']}: {_percent(best['share'])} play it at {rating}; {others}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
