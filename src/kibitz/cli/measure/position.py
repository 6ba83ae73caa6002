"""`kibitz show` and `kibitz perft`: a position drawn and described, and its legal moves counted."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from kibitz.cli.output import EXIT_STOPPED, JsonFlag, at_least, columns, emit, two_columns
from kibitz.core.errors import InputError, PositionError
from kibitz.core.files import write_bytes
from kibitz.core.log import Level, Stop, graceful_stop, progress, say
from kibitz.position import count
from kibitz.position.attacks import square_name
from kibitz.position.board import Board
from kibitz.position.count import Entry, Stopped, read_suite
from kibitz.position.fen import START, parse_fen
from kibitz.position.notation import legal_sans
from kibitz.position.notation import svg as drawing

# --- show -----------------------------------------------------------------------------------------


def show(
    fen: Annotated[str, Parameter(help="The position; the start of the game by default.")] = START,
    *,
    svg: Annotated[Path | None, Parameter(help="Draw it into this file, too.")] = None,
    json: JsonFlag = False,
) -> None:
    """Draw a position and say what it is."""
    board = Board(fen)
    if svg is not None:
        write_bytes(svg, drawing(board.to_chess()).encode())
        say(f"drawn into {svg}")
    result = _facts(board)
    from rich.console import Group

    moves, checkers = ", ".join(result["moves"]), " ".join(result["checkers"])
    shown = {**result, "moves": moves, "checkers": checkers}
    table = two_columns({name: value for name, value in shown.items() if value not in ("", None)})
    emit(result, as_json=json, table=Group(board, table))


def _facts(board: Board) -> dict[str, Any]:
    """What there is to say about a position."""
    end = board.outcome(claim=True)
    return {
        "fen": board.fen(),
        "key": f"{board.key:016x}",
        "turn": board.turn,
        "checkers": [square_name(square) for square in board.checkers()],
        "moves": sorted(legal_sans(board.position)),
        "outcome": None if end is None else end.termination.words,
        "result": None if end is None else end.result,
    }


# --- perft ----------------------------------------------------------------------------------------

EXIT_MISMATCH = 1
DEFAULT_DEPTH, DEFAULT_SUITE_DEPTH = 5, 4
WARM_UP_DEPTH = 2  # deep enough to load, or compile, everything that is timed afterwards


def perft(
    *,
    fen: Annotated[
        str | None, Parameter(help="The position to start from; by default the first of all games.")
    ] = None,
    depth: Annotated[int | None, Parameter(help="Plies; by default 5, for suites 4.")] = None,
    divide: Annotated[bool, Parameter(help="Show the count below each move.")] = False,
    suite: Annotated[Path | None, Parameter(help="Check every count of a suite file.")] = None,
    threads: Annotated[int, Parameter(help="Threads that share the work.")] = 1,
    limit: Annotated[int | None, Parameter(help="Skip larger counts of a suite.")] = None,
    chess960: Annotated[bool, Parameter(help="Write castling as e1h1.")] = False,
    json: JsonFlag = False,
) -> int:
    """Count positions, or check the counts of a suite (exit code 1 if one is wrong)."""
    at_least(1, threads=threads)
    if suite is not None:
        _refuse_idle({"--fen": fen, "--divide": divide, "--chess960": chess960}, "--suite is given")
        chosen = DEFAULT_SUITE_DEPTH if depth is None else depth
        return _suite(suite, chosen, threads, limit, json)
    _refuse_idle({"--limit": limit}, "there is no --suite")
    chosen = DEFAULT_DEPTH if depth is None else depth
    return _single(START if fen is None else fen, chosen, threads, divide, chess960, json)


def _refuse_idle(options: dict[str, Any], why: str) -> None:
    """Refuse options that were given and would do nothing."""
    for name, value in options.items():
        if value is not None and value is not False:
            raise InputError(f"{name} does nothing where {why}", value=value, fix="leave one out")


def _single(fen: str, depth: int, threads: int, divided: bool, chess960: bool, json: bool) -> int:
    position = parse_fen(fen)
    _warm_up()
    with graceful_stop() as stop, progress(f"perft {depth}", total=1) as bar:
        say("counting", Level.VERBOSE)
        started = time.perf_counter()
        try:
            counts = count.divide(
                position, depth, threads=threads, stop=_asked(stop), advance=bar.advance
            )
        except Stopped:
            return _stopped()
        seconds = time.perf_counter() - started
    moves = {move.uci(chess960 or None): leaves for move, leaves in sorted(counts.items())}
    if divided and not json:
        emit({}, as_json=False, table=columns(("move", "leaves"), list(moves.items())))
    result: dict[str, Any] = {"fen": fen, "depth": depth, "threads": threads}
    result |= _speed(sum(moves.values()), seconds)
    if divided and json:
        result["divide"] = moves
    emit(result, as_json=json)
    return 0


def _suite(suite: Path, depth: int, threads: int, limit: int | None, json: bool) -> int:
    entries = read_suite(suite)
    _warm_up()
    listed = [(plies, expected) for entry in entries for plies, expected in entry.counts.items()]
    _refuse_nothing(suite, listed, depth, limit)
    failures: list[dict[str, Any]] = []
    total = checked = 0
    started = time.perf_counter()
    with graceful_stop() as stop, progress(suite.name, total=len(entries)) as bar:
        for entry in bar.over(entries):
            try:
                found = _check(entry, depth, threads, limit, stop)
            except Stopped:
                return _stopped()
            failures += [failure for failure in found if "error" in failure]
            total += sum(one["nodes"] for one in found)
            checked += len(found)
    skipped = sum(not _wanted(*one, depth, limit) for one in listed)
    result = {"suite": str(suite), "entries": len(entries), "counts": checked, "skipped": skipped}
    result |= _speed(total, time.perf_counter() - started)
    emit({**result, "failures": failures if json else len(failures)}, as_json=json)
    for failure in () if json else failures:
        say("{name}, line {line}, depth {depth}: {error}".format(**failure), Level.QUIET)
    return EXIT_MISMATCH if failures else 0


def _wanted(plies: int, expected: int, depth: int, limit: int | None) -> bool:
    """Whether a count of a suite is to be checked."""
    return plies <= depth and (limit is None or expected <= limit)


def _refuse_nothing(
    suite: Path, listed: list[tuple[int, int]], depth: int, limit: int | None
) -> None:
    """Refuse a suite of which nothing would be checked."""
    if any(_wanted(*one, depth, limit) for one in listed):
        return
    least, leaves = min(listed, default=(0, 0))
    asked = f"--depth {depth}" + ("" if limit is None else f" --limit {limit}")
    fix = f"the shallowest count is {leaves} at depth {least}" if listed else "it lists no counts"
    raise InputError(f"nothing to check in {suite} with", value=asked, fix=fix)


def _check(
    entry: Entry, depth: int, threads: int, limit: int | None, stop: Stop
) -> list[dict[str, Any]]:
    """Count an entry at every depth it has; an `error` in the result tells what was wrong."""
    about: dict[str, Any] = {"name": entry.name, "line": entry.line, "fen": entry.fen}
    try:
        position = parse_fen(entry.fen)
    except PositionError as error:
        return [{**about, "depth": 0, "nodes": 0, "error": str(error)}]
    found = []
    for plies, expected in entry.counts.items():
        if not _wanted(plies, expected, depth, limit):
            continue
        leaves = count.nodes(position, plies, threads=threads, stop=_asked(stop))
        one = {**about, "depth": plies, "nodes": leaves}
        if leaves != expected:
            one |= {"expected": expected, "error": f"expected {expected}, found {leaves}"}
        found.append(one)
    if stop.requested:
        raise Stopped
    return found


def _asked(stop: Stop) -> Any:
    return lambda: stop.requested


def _warm_up() -> None:
    """Load the kernels, or compile them on the very first run, before the clock starts."""
    count.divide(parse_fen(START), WARM_UP_DEPTH)


def _speed(leaves: int, seconds: float) -> dict[str, Any]:
    return {"nodes": leaves, "seconds": seconds, "nps": round(leaves / max(seconds, 1e-9))}


def _stopped() -> int:
    say("stopped before the count was complete", Level.QUIET)
    return EXIT_STOPPED
