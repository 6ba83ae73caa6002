"""`kibitz bench search`: playouts a second for evaluators, rules and threads, and the signature.

search/speed.py -> **table or JSON**
"""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from kibitz.commands.output import JsonFlag, columns, emit
from kibitz.errors import InputError
from kibitz.log import graceful_stop, progress, say
from kibitz.search.params import Settings
from kibitz.search.speed import (
    PLAIN,
    RULES,
    TIMED,
    Speed,
    contempt_settings,
    evaluators,
    measure,
    signature,
)

EXIT_STOPPED = 130


def search(
    *,
    nodes: Annotated[int, Parameter(help="Nodes for each position.")] = 200_000,
    rounds: Annotated[int, Parameter(help="Measure so often; the fastest round counts.")] = 3,
    threads: Annotated[int, Parameter(help="Measure PUCT with so many threads, too.")] = 2,
    hash: Annotated[int, Parameter(help="Memory of the tree in MiB.")] = 1024,  # noqa: A002 - UCI
    json: JsonFlag = False,
) -> int:
    """Search fixed positions with every evaluator and rule, on one thread and on several."""
    if nodes < 1 or rounds < 1 or threads < 1:
        raise InputError("--nodes, --rounds, --threads at least 1", value=(nodes, rounds, threads))
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
        {**speed._asdict(), "playouts_per_second": round(speed.playouts_per_second)}
        for speeds in found.values()
        for speed in speeds
    ]
    headings = ("evaluator", "rule", "threads", "playouts/s", "average depth")
    title = "\n".join([f"signature {sign}; {nodes} nodes for each of", *TIMED])
    table = columns(headings, [tuple(row.values()) for row in rows], title=title)
    result = {"signature": sign, "nodes": nodes, "positions": list(TIMED), "rows": rows}
    emit(result, as_json=json, table=table)
    return 0
