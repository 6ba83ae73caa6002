"""`kibitz perft`, `kibitz show` and `kibitz bench`: rules counted, speeds measured."""

from __future__ import annotations

import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from cyclopts import App, Parameter

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

if TYPE_CHECKING:
    from kibitz.nets.load import Evaluator

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
        "outcome": None if end is None else end.termination.text,
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
                position, depth, threads=threads, stop=_stop_flag(stop), advance=bar.advance
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
                results = _check(entry, depth, threads, limit, stop)
            except Stopped:
                return _stopped()
            failures += [failure for failure in results if "error" in failure]
            total += sum(count["nodes"] for count in results)
            checked += len(results)
    skipped = sum(not _wanted(*pair, depth, limit) for pair in listed)
    result = {"suite": str(suite), "entries": len(entries), "counts": checked, "skipped": skipped}
    result |= _speed(total, time.perf_counter() - started)
    emit({**result, "failures": failures if json else len(failures)}, as_json=json)
    for failure in () if json else failures:
        named, line = failure["name"], f"line {failure['line']}"
        where = line if named == line else f"{named}, {line}"
        say(f"{where}, depth {failure['depth']}: {failure['error']}", Level.QUIET)
    return EXIT_MISMATCH if failures else 0


def _wanted(plies: int, expected: int, depth: int, limit: int | None) -> bool:
    """Whether a count of a suite is to be checked."""
    return plies <= depth and (limit is None or expected <= limit)


def _refuse_nothing(
    suite: Path, listed: list[tuple[int, int]], depth: int, limit: int | None
) -> None:
    """Refuse a suite of which nothing would be checked."""
    if any(_wanted(*pair, depth, limit) for pair in listed):
        return
    least, leaves = min(listed, default=(0, 0))
    flags = f"--depth {depth}" + ("" if limit is None else f" --limit {limit}")
    fix = f"the shallowest count is {leaves} at depth {least}" if listed else "it lists no counts"
    raise InputError(f"nothing to check in {suite} with", value=flags, fix=fix)


def _check(
    entry: Entry, depth: int, threads: int, limit: int | None, stop: Stop
) -> list[dict[str, Any]]:
    """Count an entry at every depth it has; an `error` in the result tells what was wrong."""
    about: dict[str, Any] = {"name": entry.name, "line": entry.line, "fen": entry.fen}
    try:
        position = parse_fen(entry.fen)
    except PositionError as error:
        return [{**about, "depth": 0, "nodes": 0, "error": str(error)}]
    results = []
    for plies, expected in entry.counts.items():
        if not _wanted(plies, expected, depth, limit):
            continue
        leaves = count.nodes(position, plies, threads=threads, stop=_stop_flag(stop))
        result = {**about, "depth": plies, "nodes": leaves}
        if leaves != expected:
            result |= {"expected": expected, "error": f"expected {expected}, found {leaves}"}
        results.append(result)
    if stop.requested:
        raise Stopped
    return results


def _stop_flag(stop: Stop) -> Any:
    return lambda: stop.requested


def _warm_up() -> None:
    """Load the kernels, or compile them on the very first run, before the clock starts."""
    count.divide(parse_fen(START), WARM_UP_DEPTH)


def _speed(leaves: int, seconds: float) -> dict[str, Any]:
    return {"nodes": leaves, "seconds": seconds, "nps": round(leaves / max(seconds, 1e-9))}


def _stopped() -> int:
    say("stopped before the count was complete", Level.QUIET)
    return EXIT_STOPPED


# --- bench ----------------------------------------------------------------------------------------
#
# `kibitz bench`: the speed of this machine, measured by the room bench, as tables or JSON.


NODES, BATCHED_NODES, THREADS = 200_000, 2_000, 2
BATCHED_NETWORK = "kibitz-plain-4x64"
SEARCH_HEADINGS = ("evaluator", "rule", "threads", "playouts/s", "average depth")
ALPHABETA_HEADINGS = ("network", "threads", "nodes/s", "average depth")
BATCH_HEADINGS = ("batch", "nodes/s", "average depth")
BYTES = "bytes a node", "an edge"
CACHED = "cache hits", "misses", "evictions", "full, per mille"

Measured = TypeVar("Measured")
Rounds = Annotated[int, Parameter(help="Measure so often; the fastest round counts.")]
Options = Annotated[
    str,
    Parameter(
        name="--backend-options",
        help="What computes a network: backend=torch,device=cuda,precision=bfloat16.",
    ),
]

bench = App(name="bench", help="Measure the speed of this machine.", result_action="return_value")


def _opened(network: str, options: str) -> Evaluator:
    """A network by its options; one that is of no use to it is said."""
    from kibitz.engine.options import open_evaluator

    opened = open_evaluator(network, "auto", options, cached=0)
    for line in opened.unused:
        say(line)
    return opened.evaluator


def _last(what: str, total: int, steps: Iterable[Measured]) -> Measured | None:
    """The last of what a measurement yields, with progress; None if Ctrl-C stopped it."""
    latest = None
    with progress(what, total=total) as bar, graceful_stop() as stop:
        for measured in bar.over(steps, stop):
            latest = measured
    if stop.requested:
        say("stopped before everything was measured")
        return None
    return latest


@bench.command(help="Encode positions in every layout, on one core.")
def encoding(
    *,
    batch: Annotated[int, Parameter(help="Positions encoded at once.")] = 512,
    rounds: Rounds = 5,
    json: JsonFlag = False,
) -> None:
    """Encode positions in every layout, policy order and packed form on one core."""
    from kibitz.arena.bench.evaluator import encoding_speed

    at_least(1, batch=batch, rounds=rounds)
    rows = encoding_speed(batch, rounds)
    table = columns(("layout", "positions/s", "bytes/position"), rows, title="encoding, one core")
    listed = [row._asdict() for row in rows]
    emit({"batch": batch, "threads": 1, "rows": listed}, as_json=json, table=table)


@bench.command(help="Evaluate positions with networks of every family.")
def evaluate(
    *sizes: Annotated[str, Parameter(help="Sizes of networks, or files; all families by default.")],
    batches: Annotated[str, Parameter(help="Batch sizes.")] = "1,32,256",
    threads: Annotated[int, Parameter(help="Threads that evaluate at the same time.")] = 1,
    rounds: Rounds = 5,
    backend_options: Options = "",
    json: JsonFlag = False,
) -> None:
    """Evaluate positions with random networks of every family, on one core or on several.

    With --backend-options: as they say, on a GPU for example; convolutional ones by default.
    """
    from kibitz.arena.bench.evaluator import measure, peaks

    at_least(1, threads=threads, rounds=rounds)
    counts, best = _batch_sizes(batches), peaks(rounds)
    opened = partial(_opened, options=backend_options) if backend_options else None
    with progress("evaluate") as bar:
        measured = bar.over(measure(sizes, counts, rounds, threads, best, opened))
        rows = [row for of_one_network in measured for row in of_one_network]
    rounded = {name: round(peak, 1) for name, peak in best.items()}
    title = "evaluations, one core" if threads == 1 else f"evaluations, {threads} threads"
    headings = tuple(name.replace("_", " ") for name in rows[0]._fields)
    listed = [row._asdict() for row in rows]
    result = {"threads": threads, "peak_giga_operations": rounded, "rows": listed}
    emit(result, as_json=json, table=columns(headings, rows, title=title))
    say(f"peak of a core, billion operations a second: {rounded}")


@bench.command(help="Search with every evaluator and rule.")
def search(
    *,
    nodes: Annotated[
        int | None, Parameter(help="Nodes for each position; 200 000, or 2 000 with --batches.")
    ] = None,
    rounds: Rounds = 3,
    threads: Annotated[
        int | None, Parameter(help="Measure PUCT with so many threads, too; by default 2.")
    ] = None,
    hash: Annotated[int, Parameter(help="Memory of the tree in MiB.")] = 1024,  # noqa: A002 - UCI
    batches: Annotated[
        str, Parameter(help="Measure a network with batches of these sizes instead: 1,8,32.")
    ] = "",
    network: Annotated[
        str | None, Parameter(help=f"The network of --batches; {BATCHED_NETWORK} by default.")
    ] = None,
    backend_options: Options = "",
    json: JsonFlag = False,
) -> int:
    """Search fixed positions with every evaluator and rule, on one thread and on several.

    With --batches: nodes a second by batch size, and what the prediction cache was good for.
    """
    if network is not None and not batches:
        fix = "give sizes of batches, too, or see kibitz bench evaluate"
        raise InputError("--network is that of --batches", value=network, fix=fix)
    if backend_options and not batches:
        fix = "give sizes of batches, too, or see kibitz bench evaluate"
        raise InputError("--backend-options are of --batches", value=backend_options, fix=fix)
    if threads is not None and batches:
        raise InputError("--batches are of one thread", value=threads, fix="leave --threads out")
    threads = THREADS if threads is None else threads
    if nodes is None:
        nodes = BATCHED_NODES if batches else NODES
    at_least(1, nodes=nodes, rounds=rounds, threads=threads)
    if batches:
        network = network or BATCHED_NETWORK
        return _batches(batches, network, backend_options, hash, nodes, rounds, json)
    from rich.console import Group

    from kibitz.arena.bench import search as bench_search

    sign, alphabeta = bench_search.signature(), bench_search.alphabeta_signature()
    steps = bench_search.measure(threads, hash, nodes, rounds)
    rows = _last("search", bench_search.EVALUATORS * rounds, steps)
    more = bench_search.NODES_A_PLAYOUT * nodes
    played = bench_search.measure_alphabeta(threads, hash, more, rounds)
    lines = None if rows is None else _last("alpha-beta", rounds, played)
    if rows is None or lines is None:
        return EXIT_STOPPED
    signs = {"signature": sign, "alphabeta_signature": alphabeta}
    positions = list(bench_search.TIMED)
    title = "\n".join([f"signature {sign}; {nodes} nodes for each of", *positions])
    listed = [row._asdict() for row in rows]
    result = {**signs, "nodes": nodes, "positions": positions, "rows": listed}
    result |= {"alphabeta_nodes": more, "alphabeta": [row._asdict() for row in lines]}
    headings, about = (*SEARCH_HEADINGS, *BYTES), f"alpha-beta, signature {alphabeta}; {more} nodes"
    tables = columns(headings, rows, title=title), columns(ALPHABETA_HEADINGS, lines, title=about)
    emit(result, as_json=json, table=Group(*tables))
    return 0


def _batches(
    batches: str,
    network: str,
    options: str,
    megabytes: int,
    nodes: int,
    rounds: int,
    as_json: bool,
) -> int:
    """Measure nodes a second by batch size."""
    from kibitz.arena.bench.search import TIMED, measure_batches
    from kibitz.nets.evaluators.inline import InlineEvaluator

    sizes, evaluator = _batch_sizes(batches), _opened(network, options)
    if isinstance(evaluator, InlineEvaluator):
        fix = f"take --network {BATCHED_NETWORK}, or leave --batches out"
        raise InputError("this network is not asked in batches", value=network, fix=fix)
    steps = measure_batches(evaluator, sizes, megabytes, nodes, rounds)
    rows = _last("search", rounds, steps)
    if rows is None:
        return EXIT_STOPPED
    title = "\n".join([f"{evaluator.name}; {nodes} nodes for each of", *TIMED])
    headings = (*BATCH_HEADINGS, *BYTES, *CACHED)
    table = columns(headings, [row[1:] for row in rows], title=title)
    listed = [row._asdict() for row in rows]
    emit({"nodes": nodes, "positions": list(TIMED), "rows": listed}, as_json=as_json, table=table)
    return 0


def _batch_sizes(text: str) -> list[int]:
    """The sizes of `--batches`."""
    sizes = text.split(",")
    if not all(word.isdigit() and int(word) > 0 for word in sizes):
        raise InputError("--batches", value=text, fix="write them like 1,32,256")
    return [int(word) for word in sizes]


@bench.command(help="Play games of networks against themselves.")
def selfplay(
    *,
    seconds: Annotated[float, Parameter(help="Time for each row.")] = 10.0,
    threads: Annotated[int, Parameter(help="That play; 0: one a processor.")] = 0,
    network: Annotated[str, Parameter(help="Network that is asked in batches.")] = BATCHED_NETWORK,
    backend_options: Options = "",
    json: JsonFlag = False,
) -> int:
    """Play with sparse networks, at few playouts and at 800, and with one asked in batches.

    With --backend-options: with the latter only, as they say.
    """
    from kibitz.core.workers import processors
    from kibitz.nets.load import as_batched
    from kibitz.zero.bench import INLINE_ROWS, measure

    at_least(0, threads=threads)
    if not seconds > 0:
        raise InputError("--seconds", value=seconds, fix="give more than 0")
    evaluator = as_batched(_opened(network, backend_options))
    inline = not backend_options
    steps = measure(evaluator, threads or processors(), seconds, inline)
    rows = _last("selfplay", 1 + INLINE_ROWS * inline, steps)
    if rows is None:
        return EXIT_STOPPED
    headings = tuple(name.replace("_", " ") for name in rows[0]._fields)
    cells = [["" if cell is None else cell for cell in row] for row in rows]
    listed = [row._asdict() for row in rows]
    emit({"seconds": seconds, "rows": listed}, as_json=json, table=columns(headings, cells))
    return 0


@bench.command
def position(
    *,
    rounds: Rounds = 3,
    plies: Annotated[int, Parameter(help="Take away from (or add to) every depth.")] = 0,
    json: JsonFlag = False,
) -> int:
    """Count the classic perft positions against other generators, in turns on one thread."""
    from kibitz.arena.bench.position import CLASSIC, compare, installed, measure

    at_least(1, rounds=rounds)
    at_least(-3, plies=plies)
    rivals = installed()
    turns = rounds * len(CLASSIC) * (1 + len(rivals))
    times = _last("perft", turns, measure(rivals, rounds, plies))
    if times is None:
        return EXIT_STOPPED
    result, rows = compare(times, rivals, plies)
    headings = ("generator", "million/s", "kibitz is x", *(f"no. {n}" for n in range(1, 7)))
    emit(result, as_json=json, table=columns(headings, rows, title="perft, one thread"))
    for name in result["disagreements"]:
        say(f"{name} counts differently")
    return EXIT_MISMATCH if result["disagreements"] else 0


@bench.command(help="Comment on moves without a search.")
def comment(*, rounds: Rounds = 5, json: JsonFlag = False) -> int:
    """Say what is true of the moves of `kibitz comment --suite`, by the table's words."""
    from chess import Move

    from kibitz.comment.decoder.comments import SUITE
    from kibitz.comment.facts import Scene
    from kibitz.comment.words.speaker import Speaker
    from kibitz.position.board import Board

    at_least(1, rounds=rounds)
    rows = []
    for case in SUITE:
        board, spent = Board(case.fen), []
        move = Move.from_uci(board.uci(board.parse(case.move)))
        for _ in range(rounds):
            began = time.perf_counter()
            Speaker().comment(Scene(board.to_chess(), move, ()))
            spent.append(1000 * (time.perf_counter() - began))
        rows.append((case.name, case.move, round(min(spent), 2)))
    slowest = max(milliseconds for *_, milliseconds in rows)
    mean = round(sum(milliseconds for *_, milliseconds in rows) / len(rows), 2)
    shown = [*rows, ("mean", "", mean), ("slowest", "", slowest)]
    headings = ("position", "move", "milliseconds")
    listed = [dict(zip(headings, row, strict=True)) for row in rows]
    facts = {"rows": listed, "mean": mean, "slowest": slowest}
    emit(facts, as_json=json, table=columns(headings, shown, title="a comment without a search"))
    return 0
