"""The tools that search: positions and games analysed, moves explained, texts checked.

    server -> `calls` -> **searches** -> the library, as the commands call it

What stands in docstrings and descriptions is read by language models: what a tool is for, what
comes back and in which units. Limits are part of the schemas.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Annotated, Any

import chess.engine
import chess.pgn
from msgspec import Meta

from kibitz.apps.mcp.calls import (
    Call,
    CallEngine,
    GameNodes,
    Moves,
    Pgn,
    PositionTool,
    Reader,
    Seconds,
    Shelf,
    Tongue,
    Tool,
)
from kibitz.apps.web.positions import PagePosition, described, game_to_annotate, san_line
from kibitz.coach.human import HIGHEST_RATING, LOWEST_RATING, people_facts
from kibitz.comment.annotate import (
    Annotated as AnnotatedGame,
)
from kibitz.comment.annotate import (
    Moments,
    Sides,
    Style,
    annotate,
    move_facts,
    scene_of_game,
    scene_on,
)
from kibitz.comment.cache import AnalysisCache
from kibitz.comment.check.games import Checked, check_game, check_text, searching
from kibitz.comment.claims.claim import step
from kibitz.comment.facts import Scene
from kibitz.comment.judge import MARKS, Label, accuracy, key_moments
from kibitz.comment.marks import grade_in
from kibitz.comment.searches import NODES, Effort
from kibitz.comment.words.languages import language_of
from kibitz.comment.words.speaker import Speaker
from kibitz.core.errors import InputError
from kibitz.position.board import Board
from kibitz.position.fen import START
from kibitz.position.pgn import BadGame, eval_of, main_turns, read_games
from kibitz.search.limits import Limits
from kibitz.search.report import Line, Report, Score, spelled


class AnalysePosition(PositionTool, kw_only=True):
    """Analyse a chess position with the engine: the best moves, how good they are and what follows.

    Use it before you say who is better or what should be played. Scores are in pawns for White on
    the common scale (+1.00: White wins half of such games, the others are mostly draws; #3: White
    mates in 3, #-3: Black does); chances are per mille of White's wins, draws and Black's wins.
    Also: whose turn it is, check, the end of the game, the name of the opening.
    """

    lines: Annotated[int, Meta(ge=1, le=10, description="How many of the best moves.")] = 3
    nodes: Annotated[int, Meta(ge=1, le=20_000_000, description="Positions to search.")] = 200_000
    seconds: Seconds = 30.0

    def answer(self, call: Call, shelf: Shelf) -> dict[str, Any]:  # noqa: ARG002
        """The lines."""
        board = self.board()
        about = described(board)
        facts: dict[str, Any] = {"fen": about["fen"], "to_move": board.turn}
        facts["in_check"] = bool(about["check"])
        facts["legal_moves"] = [san for _, san in about["moves"]]
        facts["opening"], facts["game_over"] = about["opening"], about["over"]
        if about["over"] is not None:
            return facts | {"lines": []}
        limits = Limits(nodes=self.nodes, movetime=round(1000 * self.seconds))

        def follow(report: Report) -> None:
            call.progress = call.progress._replace(done=report.nodes, total=self.nodes)

        with call.engine(self.lines, search="auto") as engine:
            engine.new_game()
            report = engine.begin(board, limits).run(follow).report
            call.check()
        facts |= {"depth": report.depth, "nodes": report.nodes, "network": engine.source}
        return facts | {"lines": [_line(board, line) for line in report.lines]}


def _line(board: Board, line: Line) -> dict[str, Any]:
    """A line of a search, for White."""
    score, white = line.common or line.score, board.turn == "white"
    wdl = list(line.wdl) if white else list(line.wdl)[::-1]
    sans = san_line(board, line.moves)
    return {"move": sans[0], "score": _for_white(score, white), "chances": wdl, "line": sans}


def _for_white(score: Score, white: bool) -> str:
    return spelled(score if white else score._replace(amount=-score.amount))


class HumanMoves(PositionTool, kw_only=True):
    """Say which moves people of a rating play in a position, and how hard the best move is to find.

    Shares are probabilities, from networks trained on games of people on Lichess. Scores are in
    pawns for the side to move; marks are ?!, ? and ??. Use it to say what is natural or a typical
    mistake at a level, and how many players find a move.
    """

    rating: Annotated[
        int, Meta(ge=LOWEST_RATING, le=HIGHEST_RATING, description="Of the people, on Lichess.")
    ] = 1500
    nodes: Annotated[
        int, Meta(ge=0, le=1_000_000, description="Positions searched to judge moves; 0: none.")
    ] = 100_000
    most: Annotated[int, Meta(ge=1, le=218, description="So many moves at most.")] = 10

    def answer(self, call: Call, shelf: Shelf) -> dict[str, Any]:  # noqa: ARG002
        """The moves, the likeliest first."""
        board, lines = self.board(), tuple[Line, ...]()
        if self.nodes and board.legal_moves:
            with call.engine(len(board.legal_moves), search="auto") as engine:
                lines = engine.play(board, nodes=self.nodes).report.lines
                call.check()
        facts = people_facts(board, self.rating, lines)
        for row in (*facts["moves"], *filter(None, (facts.get("best"),))):
            row["share"] = round(row["share"], 4)
        return facts | {"moves": facts["moves"][: self.most]}


# --- words ------------------------------------------------------------------------------------


class ExplainMove(PositionTool, kw_only=True):
    """Explain one chess move in plain English: what it does, wins, threatens, overlooks or allows.

    Every claim in the answer is proved from the position and a search; add nothing to it that you
    have not checked. mark is ??, ?, ?!, !?, ! or !!; grade names brilliant, great, interesting,
    book, forced, miss; score has what the engine saw before and after the move, in centipawns or
    moves to mate for the player who moved, and loss the share of the expected result given away.
    """

    move: Annotated[
        str,
        Meta(max_length=20, description="SAN or UCI; of a PGN with its number: 12...Nf6."),
    ]
    pgn: Annotated[
        str,
        Meta(
            max_length=200_000,
            description="Instead of fen and moves: a game, all of which is looked at (slower).",
        ),
    ] = ""
    level: Reader = "club"
    language: Tongue = "en"
    nodes: Annotated[
        int, Meta(ge=0, le=200_000, description="Positions of a first look; 0: no search.")
    ] = NODES

    def answer(self, call: Call, shelf: Shelf) -> dict[str, Any]:  # noqa: ARG002
        """The comment and its claims."""
        limits = Limits(nodes=self.nodes) if self.nodes else None
        with call.engine() as engine:
            scene = self._scene(call, limits, engine)
            call.step(message="searching")
            return move_facts(scene, self.speaker())

    def speaker(self) -> Speaker:
        """Who says it."""
        return Speaker(self.level, language_of(self.language))

    def _scene(self, call: Call, limits: Limits | None, engine: CallEngine) -> Scene:
        if not self.pgn:
            return scene_on(engine, self.board(), self.move, limits)
        if self.moves or self.fen != START:
            raise InputError("a game and a position", value=self.fen, fix="give pgn, or fen, moves")
        game = game_to_annotate(self.pgn, max(1, self.nodes))
        return scene_of_game(game, self.move, limits, [engine], call.step)


class CheckText(Tool, kw_only=True):
    """Check what a text says of a chess position, of a move, or in the comments of a game.

    Give every sentence of yours about a position to this tool before you show it. Each sentence
    comes back as true, false with the reason, or not checkable (nothing in it could be read as a
    claim about the board; that is no praise). Checked: where pieces stand, attacks, pins, forks,
    checks, mates, material, legal moves and lines, who stands better, what is threatened or won.
    """

    text: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=100_000,
            description="The text; without fen and moves PGN, whose comments are checked.",
        ),
    ]
    fen: Annotated[
        str, Meta(max_length=200, description="The position that the text is about, as FEN.")
    ] = ""
    moves: Moves = ()
    move: Annotated[
        str, Meta(max_length=20, description="A move made there, if the text is about it.")
    ] = ""
    search: Annotated[
        bool, Meta(description="Also judge who is better and what wins, by searching.")
    ] = True

    def answer(self, call: Call, shelf: Shelf) -> dict[str, Any]:  # noqa: ARG002
        """Verdicts and sums."""
        with call.engine() as engine:
            search = searching(engine) if self.search else None
            if self.fen or self.moves:
                board = PagePosition(self.fen or START, self.moves).board()
                return check_text(self.text, board, self.move or None, search).facts()
            if self.move:
                raise InputError("a move of no position", value=self.move, fix="give fen, too")
            checked, bad = Checked(), list[BadGame]()
            for game in read_games(io.StringIO(self.text), bad.append):
                check_game(game, checked, search, call.step)
        facts = checked.facts()
        if bad or not facts["sentences"]:
            reason = bad[0].reason if bad else "it has no comment"
            fix = "give the position as fen or moves, if the text is about one"
            raise InputError(f"the text is no commented PGN ({reason})", value=self.text, fix=fix)
        return facts


class AnnotateGame(Tool, kw_only=True):
    """Annotate a whole game: marks, evaluations, better lines, comments in plain English, as PGN.

    Everything in the comments is proved. It takes some seconds (20 000 nodes a move by default).
    """

    pgn: Pgn
    level: Reader = "club"
    language: Tongue = "en"
    side: Annotated[Sides, Meta(description="Whose moves are commented on.")] = "both"
    moments: Annotated[Moments, Meta(description="Speak of all moves or of key moments.")] = "all"
    nodes: GameNodes = NODES

    def answer(self, call: Call, shelf: Shelf) -> dict[str, Any]:  # noqa: ARG002
        """The PGN."""
        return {"pgn": str(annotated(call, self.pgn, self.style()).game)}

    def style(self) -> Style:
        """How it is annotated."""
        return Style(
            self.level, self.side, self.moments, Limits(nodes=self.nodes), language=self.language
        )


def annotated(call: Call, pgn: str, style: Style) -> AnnotatedGame:
    """A game annotated on an engine of a call; what is kept of it is not searched again."""
    game = game_to_annotate(pgn, style.limits.nodes or 1)
    total, effort = 1 + sum(1 for _ in game.tree.mainline()), Effort(style.limits)

    def on_ply() -> None:
        call.step(total, "positions")

    with call.engine(memory=effort.table) as engine:
        return annotate(game, engine, style, on_ply, cache=AnalysisCache(engine, effort))


class AnalyseGame(Tool, kw_only=True):
    """Analyse a whole game: every move with its score and mark, accuracy, and the key moments.

    Scores are in pawns for White after the move, on the common scale; marks are ??, ?, ?!, !?, !
    and !!. The key moments come with proved comments. For the full commentary use annotate_game.
    """

    pgn: Pgn
    level: Reader = "club"
    language: Tongue = "en"
    nodes: GameNodes = NODES

    def answer(self, call: Call, shelf: Shelf) -> dict[str, Any]:  # noqa: ARG002
        """Moves, accuracy, key moments."""
        style = Style(
            self.level, moments="key", limits=Limits(nodes=self.nodes), language=self.language
        )
        game, figures, comments = annotated(call, self.pgn, style)
        shares = accuracy(figures.values, game.tree.board().turn)
        names = ("white", "black")
        rows = list(_played(game.tree, figures.labels))
        moments = [
            {**rows[ply], "comment": comments[ply].text}
            for ply in key_moments(figures.values, figures.labels)
        ]
        return {
            "players": {name: game.tags.get(name.title(), "?") for name in names},
            "result": game.result,
            "opening": "" if figures.opening is None else " ".join(figures.opening),
            "accuracy": {
                name: None if share is None else round(share, 1)
                for name, share in zip(names, shares, strict=True)
            },
            "moves": rows,
            "key_moments": moments,
        }


def _played(tree: chess.pgn.Game, labels: Sequence[Label]) -> Iterator[dict[str, str]]:
    """The moves of an annotated game, each with the score after it and its mark."""
    nodes = islice(main_turns(tree), 1, None)
    for (node, turn), label in zip(nodes, labels, strict=True):
        assert isinstance(node, chess.pgn.ChildNode)
        score, grade = eval_of(node, turn), grade_in(node)
        made = step(node.parent.board(), node.move).text
        yield {
            "move": made,
            "score": "" if score is None else _of_eval(score.white()),
            "mark": MARKS[label] or (grade.mark if grade else ""),
        }


def _of_eval(score: chess.engine.Score) -> str:
    mate = score.mate()
    return spelled(Score("cp", score.score() or 0) if mate is None else Score("mate", mate))
