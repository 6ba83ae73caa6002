"""How far `kibitz check` can be trusted, and how often human commentary is wrong.

table of commentary (fen_before, uci, fen_after, comment a row) -> settings -> verdicts -> rates

`ideas`, `puzzles` and `spoken` are about Kibitz's own comments: which ideas of a table of positions
and which tags of puzzles they speak of, rightly or wrongly, and of which moves of games.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, groupby
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import chess
from cyclopts import App, Parameter

from kibitz.arena.match.elo import wilson
from kibitz.cli.output import EXIT_STOPPED, JsonFlag, NetworkFlag, at_least, columns, emit
from kibitz.comment.annotate import COMMANDS, Style, annotate, scene_on
from kibitz.comment.check.games import BEFORE, BEHIND, NODES, Tally, searching
from kibitz.comment.check.verdict import VERDICTS, Search, Setting, judge
from kibitz.comment.claims.claim import Claim
from kibitz.comment.claims.cover import hampered, let_through, uncovered
from kibitz.comment.claims.faults import faults
from kibitz.comment.claims.lines.outlook import mark_of
from kibitz.comment.judge import Label
from kibitz.comment.searches import NODES as ANNOTATES
from kibitz.comment.select.rank import FEATURES, asides, kind_of, proved_of
from kibitz.comment.select.selection import Selection, said_of_reply
from kibitz.comment.words.speaker import Speaker
from kibitz.core.errors import InputError
from kibitz.core.log import graceful_stop, progress
from kibitz.engine import Engine
from kibitz.engine.options import AUTODISCOVER, chosen
from kibitz.position.board import Board
from kibitz.position.pgn import Game, read_games
from kibitz.search.limits import Limits
from research.command import carry_out
from research.tags import IDEAS_OF_TAGS, TAGS, tagged_in, tags_said

app = App(
    name="commentary", help="How far kibitz check can be trusted.", result_action="return_value"
)
GOOD = {1, 3}  # marks of good moves in PGN
COLUMNS = {"game", "ply", "fen_before", "uci", "fen_after", "comment"}

TableArgument = Annotated[Path, Parameter(help="Table of comments, as in commentary_clear.tsv.")]
NodesFlag = Annotated[int, Parameter(help="Nodes of a search; ten times as many confirm.")]


class Row(NamedTuple):
    """A comment of a table, and what it may be about; no setting where the position is missing."""

    game: str
    text: str
    setting: Setting | None


def rows_of(path: Path) -> list[Row]:
    """The comments of a table, each with its position and those near it in its game."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    if not lines or not {*lines[0]} >= COLUMNS:
        fix = f"give a table with the columns {', '.join(sorted(COLUMNS))}"
        raise InputError("no table of comments", value=str(path), fix=fix)
    games: dict[str, dict[int, str]] = defaultdict(dict)
    for line in lines:
        if line["fen_after"]:
            games[line["game"]].setdefault(int(line["ply"]), line["fen_after"])
    return [Row(one["game"], one["comment"], _setting(one, games[one["game"]])) for one in lines]


def _setting(line: Mapping[str, str], game: Mapping[int, str]) -> Setting | None:
    fen, before, move = line["fen_after"] or line["fen_before"], None, None
    if not fen:
        return None
    if line["uci"] and line["fen_before"]:
        before, move = chess.Board(line["fen_before"]), chess.Move.from_uci(line["uci"])
    if before is not None and (move is None or move not in before.legal_moves):
        before, move = None, None
    ply, now = int(line["ply"]), chess.Board(fen)
    others = [at for at in range(ply - BEFORE - 1, ply + BEHIND + 2) if at != ply and at in game]
    fresh = move is None and now.board_fen() == chess.STARTING_BOARD_FEN
    return Setting(now, before, move, tuple(chess.Board(game[at]) for at in others), fresh)


class Labelled(NamedTuple):
    """A sentence with a label given by hand; in some sentences a word is replaced."""

    row: int
    start: int
    end: int
    replaced: str
    by: str
    label: str

    def text(self, comment: str) -> str:
        """The comment up to the sentence, and the sentence as it was labelled."""
        said = comment[self.start : self.end]
        if self.replaced:
            said = said.replace(self.replaced, self.by, 1)
        return f"{comment[: self.start]}{said}"


def labelled_of(path: Path) -> list[Labelled]:
    """The labels of a table, as in tests/comment/labelled.tsv."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Labelled(int(one["row"]), int(one["start"]), int(one["end"]), *_words(one))
            for one in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        ]


def _words(line: Mapping[str, str]) -> tuple[str, str, str]:
    return line["replaced"], line["by"], line["label"]


def compared(
    rows: Sequence[Row], labels: Sequence[Labelled], search: Search | None
) -> Counter[tuple[bool, str, str]]:
    """How many sentences, replaced or not, of each label got each verdict."""
    counts: Counter[tuple[bool, str, str]] = Counter()
    for one in labels:
        row = rows[one.row]
        if row.setting is not None:
            judged = judge(one.text(row.text), row.setting, search)[-1]
            counts[bool(one.replaced), one.label, judged.verdict] += 1
    return counts


def _share(part: int, whole: int) -> dict[str, Any]:
    interval = [round(end, 4) for end in wilson(part, whole)] if whole else [0.0, 1.0]
    share = round(part / whole, 4) if whole else None
    return {"of": whole, "count": part, "share": share, "interval": interval}


# --- ideas ----------------------------------------------------------------------------------------


class Idea(NamedTuple):
    """A move that shows an idea, or looks as if it did; the moves before it are made first."""

    name: str  # of a claim
    true: bool
    fen: str
    moves: tuple[str, ...]

    @property
    def board(self) -> Board:
        """The position before the move."""
        board = Board(self.fen)
        for move in self.moves[:-1]:
            board.push(board.parse(move))
        return board


def ideas_in(path: Path) -> list[Idea]:
    """The rows of a table as tests/comment/data/ideas.tsv."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Idea(one["idea"], one["truth"] == "true", one["fen"], tuple(one["moves"].split()))
            for one in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        ]


def proved_in(engine: Engine, idea: Idea, nodes: int) -> bool:
    """Whether the claim of an idea is proved of the move."""
    scene = scene_on(engine, idea.board, idea.moves[-1], Limits(nodes=nodes))
    named = [find for find in FEATURES if find.__name__ == idea.name]
    claims = chain.from_iterable(find(scene) for find in named)
    found: list[Claim] = [*claims] if named else [*proved_of(scene), *asides(scene)]
    found += [] if named else [*faults(scene, ()), *uncovered(scene), *let_through(scene)]
    if idea.true and scene.reply and mark_of(scene) is not Label.NONE:
        found += proved_of(scene.other)  # of a bad move the idea may be its refutation's
    return idea.name in map(kind_of, [*found, *hampered(scene)])


def said_in(engine: Engine, idea: Idea, nodes: int) -> tuple[bool, str]:
    """Whether a comment on the move speaks of the idea, and the comment."""
    scene = scene_on(engine, idea.board, idea.moves[-1], Limits(nodes=nodes))
    comment = Speaker("club").comment(scene)
    chosen = Selection(comment.claims, comment.better, comment.reply)
    said = [*comment.claims, *said_of_reply(chosen)]
    return idea.name in map(kind_of, said), comment.text


# --- what is spoken of ----------------------------------------------------------------------------


def spoken_in(game: Game, engine: Engine, nodes: int, *, blind: bool) -> Counter[tuple[str, bool]]:
    """Of a game that a person has annotated: kinds of moves, and whether we speak of them.

    The kinds are "all", "annotated" (with a mark or words) and "good" (with ! or !!). `blind` keeps
    from us what the person thought; then the name of an opening is a word on its move, too.
    """
    nodes_of, counts = list(game.tree.mainline()), Counter[tuple[str, bool]]()
    kinds = [["all"] for _ in nodes_of]
    for node, names in zip(nodes_of, kinds, strict=True):
        names += ["annotated"] if node.comment.strip() or node.nags & {1, 2, 3, 4, 5, 6} else []
        names += ["good"] if node.nags & GOOD else []
        if blind:
            node.comment, node.nags = "", set()
    comments = annotate(game, engine, Style(limits=Limits(nodes=nodes))).comments
    for node, comment, names in zip(nodes_of, comments, kinds, strict=True):
        printed = blind and COMMANDS.sub("", node.comment).strip()
        counts.update((name, bool(comment.text or printed)) for name in names)
    return counts


# --- commands -------------------------------------------------------------------------------------


@app.command(name="human")
def human_command(
    table: TableArgument,
    *,
    nodes: NodesFlag = NODES,
    network: NetworkFlag = AUTODISCOVER,
    json: JsonFlag = False,
) -> int:
    """Print how often the sentences of human commentary that can be checked are false."""
    at_least(1, nodes=nodes)
    rows, tally, false = rows_of(table), Tally(), list[dict[str, str]]()
    shown = progress("check", total=len(rows))
    with Engine(chosen(network), search="alphabeta", multipv=2, hash=16) as engine:
        search = searching(engine, nodes)
        with shown as bar, graceful_stop() as stop:
            for row in bar.over(rows, stop):
                judged = [] if row.setting is None else judge(row.text, row.setting, search)
                tally.add(judged)
                false += [
                    {"game": row.game, "reason": one.reason}
                    for one in judged
                    if one.verdict == "false"
                ]
    counts = tally.counts
    facts = {
        **tally.facts(),
        "checkable": _share(counts["true"] + counts["false"], counts.total()),
        "false_claims": _share(counts["false"], counts["true"] + counts["false"]),
        "findings": false,
    }
    emit(facts, as_json=json, table=columns(("", "sentences"), list(_sums(facts))))
    return EXIT_STOPPED if stop.requested else 0


def _sums(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name in ("sentences", *VERDICTS):
        yield name, f"{facts[name]:,}"
    for name in ("checkable", "false_claims"):
        low, high = facts[name]["interval"]
        share = facts[name]["share"] or 0.0
        yield name.replace("_", " "), f"{share:.2%} ({low:.2%} to {high:.2%})"


@app.command(name="ideas")
def ideas_command(
    table: Annotated[Path, Parameter(help="Positions, as in tests/comment/data/ideas.tsv.")],
    *,
    nodes: NodesFlag = ANNOTATES,
    network: NetworkFlag = AUTODISCOVER,
    json: JsonFlag = False,
) -> int:
    """Print how many ideas of a table comments speak of, and how many where there are none."""
    at_least(1, nodes=nodes)
    counts: Counter[tuple[bool, bool]] = Counter()
    wrong = []
    with Engine(chosen(network), search="alphabeta", multipv=2, hash=16) as engine:
        for idea in ideas_in(table):
            said, text = said_in(engine, idea, nodes)
            counts[idea.true, said] += 1
            if said is not idea.true:
                wrong.append({**idea._asdict(), "comment": text})
    shares = {
        "said": _share(counts[True, True], counts[True, True] + counts[True, False]),
        "false": _share(counts[False, True], counts[False, True] + counts[False, False]),
    }
    rows = [(name, one["count"], one["of"]) for name, one in shares.items()]
    told = [(one["name"], " ".join(one["moves"]), one["comment"]) for one in wrong]
    table_of = columns(("", "", ""), [*rows, *told])
    emit({**shares, "wrong": wrong}, as_json=json, table=table_of)
    return 0


@app.command(name="spoken")
def spoken_command(
    games: Annotated[Path, Parameter(help="PGN of games that people have annotated.")],
    *,
    blind: Annotated[bool, Parameter(help="Take out what people wrote first.")] = False,
    nodes: NodesFlag = ANNOTATES,
    network: NetworkFlag = AUTODISCOVER,
    json: JsonFlag = False,
) -> int:
    """Print of how many moves that people annotated, or gave an exclamation mark, we speak."""
    at_least(1, nodes=nodes)
    counts: Counter[tuple[str, bool]] = Counter()
    with Engine(chosen(network), search="alphabeta", multipv=2, hash=16) as engine:
        for game in read_games(games):
            counts += spoken_in(game, engine, nodes, blind=blind)
    facts = {
        name: _share(counts[name, True], counts[name, True] + counts[name, False])
        for name in ("all", "annotated", "good")
    }
    rows = [(name, one["count"], one["of"], one["share"]) for name, one in facts.items()]
    emit(facts, as_json=json, table=columns(("moves", "spoken of", "of", "share"), rows))
    return 0


@app.command(name="puzzles")
def puzzles_command(
    *tables: Annotated[Path, Parameter(help="Puzzles with tags, as Lichess's CSV.")],
    puzzles: Annotated[int, Parameter(help="At most so many.")] = 400,
    half: Literal["held", "build"] = "held",
    seed: int = 1,
    nodes: NodesFlag = ANNOTATES,
    network: NetworkFlag = AUTODISCOVER,
    json: JsonFlag = False,
) -> int:
    """Print how often what is printed on tagged puzzles has the tag's idea, and where it is none.

    Each puzzle is annotated as a game of its own.
    """
    at_least(1, puzzles=puzzles, nodes=nodes)
    drawn = tagged_in(tables, half, seed, puzzles)
    counts: Counter[tuple[str, bool, bool]] = Counter()
    style, shown = Style(limits=Limits(nodes=nodes)), progress("puzzles", total=len(drawn))
    with (
        Engine(chosen(network), search="alphabeta", multipv=2, hash=16) as engine,
        shown as bar,
        graceful_stop() as stop,
    ):
        for puzzle in bar.over(drawn, stop):
            said = tags_said(annotate(puzzle.game(), engine, style).comments)
            counts.update((tag, tag in puzzle.tags, tag in said) for tag in TAGS)
    emit_tags(counts, as_json=json)
    return EXIT_STOPPED if stop.requested else 0


def emit_tags(counts: Mapping[tuple[str, bool, bool], int], *, as_json: bool) -> None:
    """Print for each tag the puzzles that have it, said or silent, and those wrongly named."""
    rows = [
        (tag, counts[tag, True, True], counts[tag, True, False], counts[tag, False, True], rest)
        for tag in TAGS
        for rest in [counts[tag, False, True] + counts[tag, False, False]]
    ]
    said, silent = sum(row[1] for row in rows), sum(row[2] for row in rows)
    strict = [row for row in rows if row[0] in IDEAS_OF_TAGS]
    facts = {
        "said": _share(said, said + silent),
        "wrong": _share(sum(row[3] for row in strict), sum(row[4] for row in strict)),
    }
    names = ("tag", "said", "silent", "named without the tag", "of the rest")
    tags = [dict(zip(names, row, strict=True)) for row in rows]
    sums = [
        (name, share["count"], share["of"], share["share"], "") for name, share in facts.items()
    ]
    emit({**facts, "tags": tags}, as_json=as_json, table=columns(names, [*rows, *sums]))


@app.command(name="labelled")
def labelled_command(
    table: TableArgument,
    labels: Annotated[Path, Parameter(help="Labels, as in tests/comment/labelled.tsv.")],
    *,
    nodes: NodesFlag = NODES,
    network: NetworkFlag = AUTODISCOVER,
    json: JsonFlag = False,
) -> int:
    """Compare verdicts with labels given by hand: precision and recall of false, coverage."""
    at_least(1, nodes=nodes)
    with Engine(chosen(network), search="alphabeta", multipv=2, hash=16) as engine:
        counts = compared(rows_of(table), labelled_of(labels), searching(engine, nodes))
    _tell(counts, as_json=json)
    return 0


@app.command(name="positions")
def positions_command(
    table: Annotated[Path, Parameter(help="Labels, as in tests/comment/data/positions.tsv.")],
    *,
    nodes: NodesFlag = NODES,
    network: NetworkFlag = AUTODISCOVER,
    json: JsonFlag = False,
) -> int:
    """Compare verdicts on texts on positions with labels given by hand."""
    at_least(1, nodes=nodes)
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    counts: Counter[tuple[bool, str, str]] = Counter()
    with Engine(chosen(network), search="alphabeta", multipv=2, hash=16) as engine:
        search = searching(engine, nodes)
        for fen, group in groupby(rows, key=lambda row: row["fen"]):
            said = list(group)
            text = "\n".join(f"- {row['sentence']}" for row in said)  # a list, as models write it
            judged = judge(text, Setting(chess.Board(fen), text=True), search)
            for row, one in zip(said, judged, strict=True):
                counts[False, row["label"], one.verdict] += 1
    _tell(counts, as_json=json)
    return 0


def _tell(counts: Counter[tuple[bool, str, str]], *, as_json: bool) -> None:
    called = _of(counts, verdict="false")
    facts = {
        "precision_of_false": _share(_of(counts, label="false", verdict="false"), called),
        "recall_of_false": _share(
            _of(counts, label="false", verdict="false"), _of(counts, label="false")
        ),
        "precision_of_true": _share(
            _of(counts, label="true", verdict="true"), _of(counts, verdict="true")
        ),
        "recall_of_true": _share(
            _of(counts, label="true", verdict="true"), _of(counts, label="true")
        ),
        "checkable": _share(counts.total() - _of(counts, verdict="not checkable"), counts.total()),
        "rows": [
            {"replaced": replaced, "label": label, "verdict": verdict, "sentences": count}
            for (replaced, label, verdict), count in sorted(counts.items())
        ],
    }
    rows = [tuple(row.values()) for row in facts["rows"]]  # type: ignore[attr-defined]
    emit(facts, as_json=as_json, table=columns(("replaced", "label", "verdict", "sentences"), rows))


def _of(counts: Counter[tuple[bool, str, str]], label: str = "", verdict: str = "") -> int:
    return sum(
        count
        for (_, own, got), count in counts.items()
        if label in ("", own) and verdict in ("", got)
    )


if __name__ == "__main__":
    sys.exit(carry_out(app))
