"""`kibitz bench search`: playouts a second for evaluators, rules and threads, and the signature.

bench/search.py -> **table or JSON**
"""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from kibitz.bench.search import (
    PLAIN,
    RULES,
    TIMED,
    BatchedSpeed,
    Speed,
    contempt_settings,
    evaluators,
    measure,
    measure_batches,
    signature,
)
from kibitz.commands.arguments import JsonFlag
from kibitz.commands.bench_evaluate import batch_sizes
from kibitz.commands.output import EXIT_STOPPED, columns, emit
from kibitz.errors import InputError
from kibitz.evaluator.discover import resolve
from kibitz.evaluator.inline import InlineEvaluator
from kibitz.evaluator.load import load_evaluator
from kibitz.log import graceful_stop, progress, say
from kibitz.search.params import Settings

BYTES = "bytes a node", "an edge"
NODES, BATCHED_NODES, THREADS = 200_000, 2_000, 2
BATCHED_NETWORK = "kibitz-plain-4x64"


def search(
    *,
    nodes: Annotated[
        int | None,
        Parameter(help="Nodes for each position; 200 000, or 2 000 with --batches."),
    ] = None,
    rounds: Annotated[int, Parameter(help="Measure so often; the fastest round counts.")] = 3,
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
    json: JsonFlag = False,
) -> int:
    """Search fixed positions with every evaluator and rule, on one thread and on several.

    With --batches: nodes a second by batch size, and what the prediction cache was good for.
    """
    if network is not None and not batches:
        fix = "give sizes of batches, too, or see kibitz bench evaluate"
        raise InputError("--network is that of --batches", value=network, fix=fix)
    if threads is not None and batches:
        raise InputError("--batches are of one thread", value=threads, fix="leave --threads out")
    threads = THREADS if threads is None else threads
    if nodes is None:
        nodes = BATCHED_NODES if batches else NODES
    if nodes < 1 or rounds < 1 or threads < 1:
        raise InputError("--nodes, --rounds, --threads at least 1", value=(nodes, rounds, threads))
    if batches:
        return _search_in_batches(
            batches, network or BATCHED_NETWORK, hash, nodes, rounds, as_json=json
        )
    runs = [PLAIN.with_(search_rule=rule) for rule in RULES]
    runs += [contempt_settings(), Settings()]
    if threads > 1:
        runs.append(PLAIN.with_(threads=threads))
    runs = [settings.with_(hash=hash) for settings in runs]
    found: dict[str, list[Speed]] = {}
    subjects = evaluators()
    with progress("search", total=len(subjects) * rounds + 1) as bar, graceful_stop() as stop:
        sign = signature()
        bar.advance()
        for evaluator in subjects:
            for speeds in measure(evaluator, runs, nodes, rounds):
                found[evaluator.name] = speeds
                bar.advance()
                if stop.requested:
                    say("stopped before everything was measured")
                    return EXIT_STOPPED
    rows = [
        {
            **speed._asdict(),
            "playouts_per_second": round(speed.playouts_per_second),
            "bytes_a_node": round(speed.bytes_a_node, 1),
        }
        for speeds in found.values()
        for speed in speeds
    ]
    headings = (
        "evaluator",
        "rule",
        "threads",
        "playouts/s",
        "average depth",
        "bytes a node",
        "an edge",
    )
    title = "\n".join([f"signature {sign}; {nodes} nodes for each of", *TIMED])
    table = columns(headings, [tuple(row.values()) for row in rows], title=title)
    result = {"signature": sign, "nodes": nodes, "positions": list(TIMED), "rows": rows}
    emit(result, as_json=json, table=table)
    return 0


def _search_in_batches(
    batches: str, network: str, megabytes: int, nodes: int, rounds: int, *, as_json: bool
) -> int:
    """Nodes a second by batch size."""
    sizes = batch_sizes(batches)
    evaluator = load_evaluator(resolve(network))
    if isinstance(evaluator, InlineEvaluator):
        fix = f"take --network {BATCHED_NETWORK}, or leave --batches out"
        raise InputError("this network is not asked in batches", value=network, fix=fix)
    found: list[BatchedSpeed] = []
    with progress("search", total=rounds) as bar, graceful_stop() as stop:
        for speeds in measure_batches(evaluator, sizes, megabytes, nodes, rounds):
            found = speeds
            bar.advance()
            if stop.requested:
                say("stopped before everything was measured")
                return EXIT_STOPPED
    rows = [
        {
            **speed._asdict(),
            "nodes_per_second": round(speed.nodes_per_second),
            "bytes_a_node": round(speed.bytes_a_node, 1),
        }
        for speed in found
    ]
    cached = "cache hits", "misses", "evictions", "full, per mille"
    headings = "batch", "nodes/s", "average depth", *BYTES, *cached
    title = "\n".join([f"{evaluator.name}; {nodes} nodes for each of", *TIMED])
    table = columns(headings, [tuple(row.values())[1:] for row in rows], title=title)
    result = {"nodes": nodes, "positions": list(TIMED), "rows": rows}
    emit(result, as_json=as_json, table=table)
    return 0
