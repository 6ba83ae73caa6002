"""Every option of the tree search tried: what each one changes, by rule and by the way it is run.

An option changes a search if anything of it differs: the tree, the report, the move, the plan for a
clock, what the tablebases say, or the memory. Two searches differ in one option only, and repeat
themselves: of several threads the first plays alone, next to a pending visit of another.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from kibitz.core.errors import ConfigError
from kibitz.core.options import Option, Value, markdown_table, put_table
from kibitz.nets.evaluators.batched import BatchedEvaluator, InlineBatch
from kibitz.nets.evaluators.inline import InlineEvaluator
from kibitz.position.board import Board
from kibitz.search.clock import budget
from kibitz.search.limits import Limits
from kibitz.search.mcts.rules.parameters import OFF, RULES, to_rule
from kibitz.search.mcts.searcher import Searcher
from kibitz.search.mcts.tree.nodes import block_of
from kibitz.search.method import why_without_effect
from kibitz.search.options import OPTIONS, Settings

Evaluator: TypeAlias = InlineEvaluator | BatchedEvaluator
Outcome: TypeAlias = Literal["changes", "no effect", "refused", "not tried", "silent", "wrong"]

CONTEMPT = "+contempt"
OTHER_KINDS = {"search", "bestfirst_batch", "bestfirst_quiet"} | {
    "bestfirst_ordering",
    "bestfirst_file",
}
TREE_OPTIONS = tuple(
    option for option in OPTIONS if option.name not in OTHER_KINDS and option.visibility != "debug"
)
KINDS = (*RULES, *(rule + CONTEMPT for rule, entry in RULES.items() if entry.may_freeze))

MIDDLEGAME = "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10"
LATE = "4k3/2r2p2/4p1p1/8/3P4/5P2/4R1P1/4K3 w - - 60 90"  # near the fifty-move rule
MATES = "6k1/5ppp/8/8/8/8/5PPP/1R4K1 w - - 0 1"
ROOKS = "8/5pk1/4p1p1/3pP2p/r2P1P1P/4K1P1/4R3/8 w - - 0 1"
BACK_RANK = "r5k1/5ppp/8/8/8/8/1Q3PPP/1R4K1 w - - 0 1"  # a mate that most replies stop
STALEMATES = "7k/8/8/8/8/8/5KQ1/8 w - - 0 1"
PAWNS = "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1"
TABLES = "8/8/8/8/8/2k5/4P3/4K3 w - - 0 1"  # three men
NEAR_TABLES = "8/8/8/8/8/2k5/3pP3/4K3 w - - 0 1"  # four, one of which can be taken
PLY = 20
CLOCK = Limits(wtime=60_000, btime=60_000, winc=500, binc=500)
DRAWS = 4  # moves chosen on one tree


class Probe(NamedTuple):
    """How an option is tried: another value, what must be set besides, where and how long."""

    value: Value
    given: Mapping[str, Value] = {}
    fen: str = MIDDLEGAME
    nodes: int = 300


class Row(NamedTuple):
    """What came of one option with one rule and driver."""

    option: str
    rule: str
    driver: str
    outcome: Outcome
    why: str  # what changed, or why nothing does


# Or a small search is too small.
SHARP: dict[str, Value] = {"linear_rate": 9.0, "linear_delay": 90.0}
WIDE: dict[str, Value] = {"cpuct": 9.0}  # the most visited move is not always the best
LCB: dict[str, Value] = {"move_choice": "lcb", "lcb_visits": 0.0, "lcb_deviations": 0.0}
MINIMAX: dict[str, Value] = {
    "cpuct": 30.0,  # moves that are not the best have visits enough
    "minimax": True,
    "minimax_visits": 1,
    "minimax_ignore": 0.0,
    "minimax_material": 15_258,
}
MATING: dict[str, Value] = {"search_proven": True}
WITH_TABLES = "tables"  # stands for the folder of tables

PROBES: dict[str, Probe] = {
    "threads": Probe(3),
    "hash": Probe(4),
    "multipv": Probe(3),
    "move_overhead": Probe(900),
    "time_manager": Probe("dlchess"),
    "minibatch_size": Probe(5),
    "seed": Probe(7, {"noise_epsilon": 0.25}),
    "cpuct": Probe(4.0),
    "cpuct_base": Probe(30.0),
    "cpuct_factor": Probe(900.0),
    "root_cpuct_own": Probe(True, {"root_cpuct": 5.0}),
    "root_cpuct": Probe(5.0, {"root_cpuct_own": True}),
    "root_cpuct_base": Probe(30.0, {"root_cpuct_own": True}),
    "root_cpuct_factor": Probe(900.0, {"root_cpuct_own": True}),
    "fpu": Probe("win"),
    "fpu_value": Probe(-0.5),
    "root_fpu": Probe("win", nodes=40),
    "root_fpu_value": Probe(-0.9, {"root_fpu": "absolute"}),
    "count_parent": Probe(True, nodes=900),
    "virtual_loss": Probe(6.0),
    "log_visits": Probe(3.0, {"log_base": 10.0}),
    "log_base": Probe(5.0, {"log_visits": 3.0}),
    "variance_scaling": Probe(0.0),
    "gini_scaling": Probe(1.0),
    "widening": Probe(0.5),
    "faster_mate": Probe(5.0, MATING, MATES),
    "linear": Probe(False, SHARP),
    "linear_rate": Probe(30.0, SHARP),
    "linear_delay": Probe(900.0, SHARP),
    "elimination": Probe(False, SHARP),
    "elimination_exponent": Probe(2, SHARP),
    "selective_backup": Probe(False, SHARP),
    "backup_threshold": Probe(0.5, SHARP),
    "gumbel_considered": Probe(16),
    "gumbel_noise": Probe(1.0),
    "gumbel_value_scale": Probe(9.0),
    "gumbel_visit_offset": Probe(900.0),
    "sc_limit": Probe(20, nodes=900),
    "sc_temperature": Probe(0.1, nodes=900),
    "sc_negative": Probe(True, nodes=900),
    "sc_admit": Probe(True, nodes=900),
    "sc_prefer_proven": Probe(False, fen=BACK_RANK, nodes=900),
    "policy_temperature": Probe(0.5),
    "root_policy_temperature": Probe(0.5),
    "noise_epsilon": Probe(0.5),
    "noise_alpha": Probe(5.0, {"noise_epsilon": 0.5}),
    "noise_scaled": Probe(True, {"noise_epsilon": 0.5}),
    "expand_at": Probe(1),
    "share_values": Probe(True, fen=PAWNS, nodes=900),
    "value_average": Probe("moving"),
    "average_build": Probe(0.3, {"value_average": "moving"}),
    "average_cap": Probe(3.0, {"value_average": "moving"}),
    "prove": Probe(False, fen=MATES),
    "search_proven": Probe(True, fen=STALEMATES),
    "clear_losses": Probe(True, fen=MATES, nodes=2_000),
    "draw_sibling": Probe(True, fen=STALEMATES, nodes=2_000),
    "rule50_scaling": Probe(1.0, fen=LATE),
    "slow_start_nodes": Probe(250, {"slow_start_parallelism": 3}),
    "slow_start_parallelism": Probe(3, {"slow_start_nodes": 250}),
    "syzygy_path": Probe(WITH_TABLES, fen=TABLES),
    "syzygy_limit": Probe(2, {"syzygy_path": WITH_TABLES}, TABLES),
    "syzygy_depth": Probe(100, {"syzygy_path": WITH_TABLES, "syzygy_share": 1.0}, NEAR_TABLES),
    "syzygy_rule50": Probe(False, {"syzygy_path": WITH_TABLES}, "8/8/8/8/8/8/1k6/3RK3 w - - 90 99"),
    "syzygy_fastest": Probe(False, {"syzygy_path": WITH_TABLES}, "8/8/8/8/8/8/1k6/3RK3 w - - 0 99"),
    "syzygy_share": Probe(0.0, {"syzygy_path": WITH_TABLES}, NEAR_TABLES),
    "move_choice": Probe("lcb", {**WIDE, **LCB, "move_choice": "visits"}, ROOKS),
    "lcb_deviations": Probe(90.0, {**WIDE, **LCB}, ROOKS),
    "lcb_visits": Probe(1.0, {**WIDE, **LCB}, ROOKS),
    "temperature": Probe(50.0),
    "temp_decay_moves": Probe(1, {"temperature": 50.0}),
    "temp_decay_delay_moves": Probe(90, {"temperature": 50.0, "temp_decay_moves": 1}),
    "temp_cutoff_move": Probe(1, {"temp_endgame": 50.0}),
    "temp_endgame": Probe(50.0, {"temp_cutoff_move": 1}),
    "temp_visit_offset": Probe(900.0, {"temperature": 0.2}),
    "temp_value_cutoff": Probe(0.0, {"temperature": 50.0}),
    "sampling_plies": Probe(400, {"cpuct": 90.0}),
    "diversity_temperature": Probe(50.0, {"diversity_plies": 400, "diversity_delta": 1.0}),
    "diversity_delta": Probe(
        0.0, {"diversity_plies": 400, "diversity_temperature": 50.0, "diversity_delta": 1.0}
    ),
    "diversity_plies": Probe(400, {"diversity_temperature": 50.0, "diversity_delta": 1.0}),
    "minimax": Probe(True, {**MINIMAX, "minimax": False}, LATE),
    "minimax_material": Probe(15_258, {**MINIMAX, "minimax_material": 0}, LATE),
    "minimax_visits": Probe(10**6, MINIMAX, LATE),
    "minimax_ignore": Probe(1.0, MINIMAX, LATE),
    "score_type": Probe("centipawn_2019", fen=LATE, nodes=20),  # few: a score that is not near 0
}


def base_of(kind: str, driver: str) -> Settings:
    """Settings of a rule, with search-contempt or without, for a driver (see DRIVERS)."""
    rule: Any = kind.removesuffix(CONTEMPT)
    contempt = OFF if kind == rule else 8
    settings = Settings(hash=2, search="mcts", search_rule=rule, sc_limit=contempt)
    if driver == "threads":
        return settings.with_(threads=2, slow_start_nodes=10**6)
    return settings


def try_options(
    evaluator: Evaluator,
    kinds: tuple[str, ...] = KINDS,
    options: tuple[Option, ...] = TREE_OPTIONS,
    tables: str = "",
) -> Iterator[Row]:
    """Try every option with every rule and, as far as the evaluator goes, in every driver."""
    evaluators: dict[str, Evaluator] = {"batched": evaluator}
    if isinstance(evaluator, InlineEvaluator):
        batched = InlineBatch(evaluator)
        evaluators = {"inline": evaluator, "threads": evaluator, "batched": batched}
    for kind, driver in product(kinds, evaluators):
        searched: dict[Any, dict[str, Any]] = {}  # of the searches that others are compared with
        for option in options:
            case = _case(option, kind, driver, tables)
            outcome, why = _tried(evaluators[driver], option, driver, case, searched)
            yield Row(option.uci, kind, driver, outcome, why)


class Case(NamedTuple):
    """Two searches that differ in one option."""

    probe: Probe
    base: Settings
    changed: Settings


def _case(option: Option, kind: str, driver: str, tables: str) -> Case:
    """How to try an option with a rule and in a driver."""
    probe = PROBES.get(option.name, Probe("sble" if kind.startswith("puct") else "puct"))
    if driver == "threads":
        if option.name == "slow_start_nodes":
            probe = Probe(0, nodes=40_000)  # enough for the other thread to have its turn
        given = {name: value for name, value in probe.given.items() if name != "slow_start_nodes"}
        probe = probe._replace(given=given)
    given = {name: tables if value == WITH_TABLES else value for name, value in probe.given.items()}
    base = base_of(kind, driver).with_(**given)
    value = tables if probe.value == WITH_TABLES else probe.value
    return Case(probe, base, base.with_(**{option.name: value}))


def _tried(
    evaluator: Evaluator,
    option: Option,
    driver: str,
    case: Case,
    searched: dict[Any, dict[str, Any]],
) -> tuple[Outcome, str]:
    """Search with and without an option."""
    probe, base, changed = case
    needed = {option.name: probe.value, **probe.given}
    if WITH_TABLES in needed.values() and not changed.syzygy_path:
        return "not tried", "no tablebases"
    try:
        to_rule(changed)
    except ConfigError as error:
        return "refused", str(error)
    key = (base, probe.fen, probe.nodes)
    if key not in searched:
        searched[key] = observed(evaluator, base, probe, driver)
    seen = observed(evaluator, changed, probe, driver)
    differences = ", ".join(what for what, before in searched[key].items() if before != seen[what])
    reason = why_without_effect(option, changed, batched=driver == "batched")
    if reason:
        return ("wrong", differences) if differences else ("no effect", reason)
    return ("changes", differences) if differences else ("silent", "")


def observed(evaluator: Evaluator, settings: Settings, probe: Probe, driver: str) -> dict[str, Any]:
    """What can be seen of a search, by kind."""
    with Searcher(evaluator, settings) as searcher:
        board = Board(probe.fen)
        limits = Limits(nodes=probe.nodes, infinite=True)  # it goes on where all is proved
        if driver == "threads":
            searcher.search_tree(board, Limits(nodes=2))
            searcher.memory.edges["pending"][block_of(searcher.memory)][:1] += 2
        result = searcher.search(board, limits)
        memory, contexts = searcher.memory, searcher.contexts
        used, report = int(memory.record.edges_used), result.report
        seen = {
            "tree": memory.edges[:used].tobytes(),
            "report": [(str(line.score), len(line.moves)) for line in report.lines],
            "tables": (searcher.problems, report.tbhits),
            "memory": memory.bytes,
            "threads": [int(context.record.playouts) > 0 for context in contexts],
            "clock": budget(CLOCK, CLOCK.clock("white"), PLY, settings),
        }
        draws = 0 if driver == "threads" else DRAWS  # of one thread, as all draw alike
        moves = [result.move, *(searcher.search(board, limits).move for _ in range(draws))]
        return {**seen, "move": moves}


# --- the table ------------------------------------------------------------------------------------

TABLE_MARK = "<!-- options by rule and driver -->\n"  # in research/README.md, which ends with it

SIGNS = {"inline": "1", "threads": "2", "batched": "b"}  # of the drivers, in the table
FAILED = ("silent", "wrong")  # outcomes that no option may have
MARKS: dict[Outcome, str] = {"not tried": "?", "refused": "x", "silent": "!", "wrong": "!"}


def table(rows: Iterable[Row]) -> list[tuple[str, ...]]:
    """For each option the drivers in which it changes a search, one column for each rule."""
    cells: dict[str, dict[str, str]] = {}
    for row in rows:
        cell = cells.setdefault(row.option, dict.fromkeys(KINDS, ""))
        cell[row.rule] += SIGNS[row.driver] if row.outcome == "changes" else _mark(row, cell)
    return [(option, *(cell[kind] or "-" for kind in KINDS)) for option, cell in cells.items()]


def _mark(row: Row, cell: dict[str, str]) -> str:
    """What stands for an outcome other than a change; once in a cell is enough."""
    mark = MARKS.get(row.outcome, "")
    return "" if mark in cell[row.rule] else mark


def declared() -> Iterator[Row]:
    """What trying finds if every option does what its row says."""
    for kind, driver, option in product(KINDS, SIGNS, TREE_OPTIONS):
        changed = _case(option, kind, driver, WITH_TABLES).changed
        why = why_without_effect(option, changed, batched=driver == "batched")
        yield Row(option.uci, kind, driver, "no effect" if why else "changes", why)


def page_table() -> str:
    """The table in Markdown; options that count alike share a row."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for option, *cells in table(declared()):
        alike.setdefault(tuple(cells), []).append(option)
    rows = [(", ".join(options), *cells) for cells, options in alike.items()]
    return markdown_table(("options", *KINDS), rows)


if __name__ == "__main__":
    put_table(Path(sys.argv[1]), TABLE_MARK, page_table())
