"""`kibitz comment` and `kibitz annotate`: what is true of a move, and games in plain English."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from kibitz.cli.output import (
    EXIT_STOPPED,
    FLAT,
    At,
    EngineFlag,
    JsonFlag,
    at_least,
    columns,
    emit,
    milliseconds,
)
from kibitz.comment.annotate import (
    TABLE,
    Moments,
    Sides,
    Style,
    Words,
    move_facts,
    scene_of_game,
    scene_on,
    silence,
)
from kibitz.comment.batch import annotate_file, check_output
from kibitz.comment.decoder.comments import SUITE, Case, Tally, decoded_words, several
from kibitz.comment.decoder.corpus import (
    Example,
    Table,
    examples_of,
    own_examples,
    read_examples,
    with_claims,
    write_examples,
)
from kibitz.comment.decoder.file import PRESETS, Decoder, Method, Order, Sampling, WordsCard
from kibitz.comment.decoder.scraper import Site, collect
from kibitz.comment.facts import Scene
from kibitz.comment.report.page import Report, is_report
from kibitz.comment.searches import NODES, SMALL_TABLE, Effort
from kibitz.comment.select.rank import Level
from kibitz.comment.words.language import Language
from kibitz.comment.words.languages import Code, chosen_language, language_of
from kibitz.comment.words.speaker import Speaker
from kibitz.core.errors import InputError, missing_extra
from kibitz.core.log import Stop, graceful_stop, progress, say
from kibitz.core.workers import processors
from kibitz.data.importing import STANDARD_INPUT, files_in
from kibitz.engine import Engine
from kibitz.engine.options import AUTODISCOVER
from kibitz.position.board import Board
from kibitz.position.fen import START
from kibitz.position.pgn import BadGame, Game, read_games
from kibitz.search.limits import Limits
from kibitz.train.config import WordsSettings

LanguageFlag = Annotated[
    Code | None, Parameter(help="Language of the words; by default that of the settings.")
]
LevelFlag = Annotated[Level, Parameter(help="Whom the words are for.")]


@dataclass(frozen=True)
class WordsFlags:
    """Whose words comments are in."""

    words: Annotated[
        Literal["table", "decoder"], Parameter(help="Whose words: the table's, or a decoder's.")
    ] = "table"
    model: Annotated[Path | None, Parameter(help="The decoder's file, NAME.words.")] = None
    sampling: Annotated[Method, Parameter(help="How a decoder samples.", show_choices=True)] = (
        "covet"
    )
    p: Annotated[float | None, Parameter(help="Mass that COVET or nucleus may use.")] = None
    temperature: Annotated[float | None, Parameter(help="Of COVET, nucleus and top-k.")] = None
    order: Annotated[Order, Parameter(help="What comes first, the cut or the temperature.")] = "cut"

    def chosen(self, tally: Tally, language: Code) -> Words:
        """The words that the flags ask for."""
        if self.words == "table":
            if self != TABLES_WORDS:
                changed = (
                    flag.name for flag in fields(self) if getattr(self, flag.name) != flag.default
                )
                fix = "leave it out, or give --words decoder"
                raise InputError(
                    "only a decoder has that flag", value=f"--{next(changed)}", fix=fix
                )
            return TABLE
        if language != "en":
            fix = "give --language en, or leave the decoder out"
            raise InputError("a decoder speaks English only", value=language, fix=fix)
        if self.model is None:
            fix = "give --model FILE.words; kibitz comment train makes one"
            raise InputError("a decoder needs a model", value=self.words, fix=fix)
        usual = PRESETS[self.sampling]
        sampling = Sampling(
            self.sampling,
            usual.p if self.p is None else self.p,
            usual.temperature if self.temperature is None else self.temperature,
            self.order,
        )
        return decoded_words(Decoder(self.model), sampling, tally)


TABLES_WORDS = WordsFlags()

comment = App(
    name="comment",
    help="Say what is true of one move; make what a decoder's words need.",
    result_action="return_value",
)


# --- one move -------------------------------------------------------------------------------------


@comment.default
def say_of(
    *,
    move: Annotated[
        str | None, Parameter(help="The move, in SAN or UCI; 12...Nf6 of a game.")
    ] = None,
    fen: Annotated[str, Parameter(help="The position before the move.")] = START,
    game: Annotated[
        Path | None,
        Parameter(help="PGN file: of the move is said what annotate knows of it in this game."),
    ] = None,
    level: LevelFlag = "club",
    language: LanguageFlag = None,
    nodes: Annotated[int | None, Parameter(help="Nodes; 0 for no search at all.")] = None,
    time: Annotated[float | None, Parameter(help="Seconds.")] = None,
    said_by: Annotated[WordsFlags, FLAT] = TABLES_WORDS,
    suite: Annotated[
        bool, Parameter(help="Five comments on each of eleven moves, in place of one.")
    ] = False,
    network: EngineFlag = AUTODISCOVER,
    json: JsonFlag = False,
) -> int:
    """Say what a move does, wins, threatens or overlooks."""
    at_least(0, nodes=nodes)
    if (move is None) != suite:
        raise InputError("one of --move and --suite", value=move, fix="give a move, or --suite")
    if nodes == 0 and time is not None:
        fix = "leave out --time, or --nodes 0"
        raise InputError("--nodes 0 searches nothing, in no time", value=time, fix=fix)
    if game is not None and (suite or fen != START):
        raise InputError("--game has the position", value=str(game), fix="leave --fen, --suite out")
    tally, limits = Tally(), None if nodes == 0 else limits_of(nodes, time)
    tongue = language_of(language)
    voice = said_by.chosen(tally, chosen_language(language))
    cases = SUITE if move is None else (Case("", fen, move),)
    rows: list[dict[str, Any]] = []
    with engines_for(network, limits, 1 if game is None else processors()) as engines:
        for case in cases:
            if game is None:
                scene = scene_on(engines[0], Board(case.fen), case.move, limits)
            else:
                scene = scene_of_game(_first_game(game), case.move, limits, engines)
            facts = _report(scene, voice.speaker(level, tongue), case.name)
            rows.append(facts)
            if not json:
                _print(facts, tongue)
    decoder = tally.facts() if tally.sampled else {}
    if json:
        emit({**(rows[0] if move else {"suite": rows}), **decoder}, as_json=True)
    elif decoder:
        say(", ".join(f"{name.replace('_', ' ')} {value}" for name, value in decoder.items()))
    return 0


@contextmanager
def engines_for(network: str, limits: Limits | None, count: int) -> Iterator[list[Engine]]:
    """Engines of a kind that comments are made with."""
    table = Effort(limits).table if limits else SMALL_TABLE
    with ExitStack() as stack:
        engines = (Engine(network, search="alphabeta", multipv=2, hash=table) for _ in range(count))
        yield [stack.enter_context(engine) for engine in engines]


def _first_game(path: Path) -> Game:
    game = next(iter(read_games(path)), None)
    if game is None:
        raise InputError("no game to comment on", value=str(path), fix="give a PGN file")
    return game


def _report(scene: Scene, speaker: Speaker, suite: str) -> dict[str, Any]:
    """What is said of a move; of one of the suite several comments."""
    if not suite:
        return move_facts(scene, speaker)
    facts = {"fen": Board.from_chess(scene.before).fen(), "move": scene.before.san(scene.move)}
    return facts | {"level": speaker.level, "name": suite, "comments": several(speaker, scene)}


def _print(facts: dict[str, Any], language: Language) -> None:
    if "comments" not in facts:
        mark = facts.get("mark", "")
        silent = f"{facts['move']}{mark}" if mark else silence(facts["move"], language)
        sys.stdout.write(f"{facts['comment'] or silent}\n")
        return
    sys.stdout.write(f"{facts['name']}: {facts['move']} ({facts['fen']})\n")
    for text, whose in facts["comments"] or [(silence(facts["move"], language), "table")]:
        sys.stdout.write(f"  {text}{' *' if whose == 'decoder' else ''}\n")
    sys.stdout.flush()


def limits_of(nodes: int | None, time: float | None) -> Limits:
    """The limits of a position's search."""
    if nodes is None and time is None:
        nodes = NODES
    return Limits(nodes=nodes, movetime=milliseconds(time))


# --- a corpus -------------------------------------------------------------------------------------


@comment.command
def fetch(
    *start: Annotated[str, Parameter(help="Pages to begin with.")],
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="Folder to collect in.")],
    follow: Annotated[str, Parameter(help="Pattern of links to pages with more links.")] = "",
    games: Annotated[str, Parameter(help="Pattern of links to games.")] = r"\.pgn$",
    pages: Annotated[int, Parameter(help="Pages that are read at most.")] = 1000,
    delay: Annotated[float, Parameter(help="Seconds between two questions.")] = 2.0,
    tries: Annotated[int, Parameter(help="For a page that fails.")] = 5,
    least_comments: Annotated[int, Parameter(help="Games with fewer are left out.")] = 3,
    json: JsonFlag = False,
) -> int:
    """Collect annotated games from a site, as robots.txt allows; the same command goes on."""
    at_least(1, pages=pages, tries=tries)
    if not start or delay < 0:
        raise InputError("start pages and a delay", value=delay, fix="name pages; 0 s or more")
    site = Site(start, follow, games, pages, delay, tries, least_comments=least_comments)
    with graceful_stop() as stop:
        done = collect(site, output, stop)
    facts = {**vars(done), "failed": len(done.failed), "output": str(output)}
    emit(facts if not json else facts | {"failed": done.failed}, as_json=json)
    return EXIT_STOPPED if stop.requested else 0


@comment.command
def corpus(
    *files: Annotated[At, Parameter(help="PGN files, packed or not, or folders of them.")],
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="File to write, .jsonl.")],
    own: Annotated[
        bool, Parameter(help="What Kibitz says of the games, not what they say.")
    ] = False,
    claims: Annotated[
        bool, Parameter(negative_bool="no-", help="Add what is proved of each move.")
    ] = True,
    level: LevelFlag = "club",
    nodes: Annotated[int, Parameter(help="With --own: nodes for each position.")] = 1000,
    games: Annotated[int | None, Parameter(help="At most so many games.")] = None,
    source: Annotated[str, Parameter(help="Where the games are from.")] = "",
    licence: Annotated[str, Parameter(help="Of their comments.")] = "",
    json: JsonFlag = False,
) -> int:
    """Make a corpus of the comments in games, with a table of what is kept and dropped."""
    at_least(1, nodes=nodes, games=games)
    table = Table()
    source = source or ", ".join(place.name for place in files)
    sources = (game for place in files_in(files, (".pgn",)) for game in read_games(place))

    def examples(stop: Stop) -> Iterator[Example]:
        for game in bar.over(islice(sources, games), stop):
            for example in examples_of(game, table, source, licence):
                yield with_claims(example) if claims else example

    def own_words(engine: Engine, stop: Stop) -> Iterator[Example]:
        style = Style(level, limits=Limits(nodes=nodes))
        for game in bar.over(islice(sources, games), stop):
            for example in own_examples(game, engine, style, source):
                table.add("kept", example.text)
                yield example

    with graceful_stop() as stop, progress("games", total=games) as bar:
        if own:
            with engines_for(AUTODISCOVER, Limits(nodes=nodes), 1) as (engine,):
                count = write_examples(output, own_words(engine, stop))
        else:
            count = write_examples(output, examples(stop))
    facts = {"examples": count, "output": str(output)}
    shown = columns(("rule", "comments", "example"), table.rows())
    emit(
        facts | {"rules": table.counts, "examples_by_rule": table.shown}, as_json=json, table=shown
    )
    return EXIT_STOPPED if stop.requested else 0


# --- training -------------------------------------------------------------------------------------

SIZES = {
    "small": WordsCard(
        encoding="onehot15",
        encoder_layers=1,
        layers=2,
        width=96,
        heads=4,
        feed_forward=256,
        dropout=0.1,
        longest=80,
        longest_claims=100,
        vocabulary=1000,
    ),
    "chesscoach": WordsCard(),  # without claims it is the original: set longest_claims to 0
}


TRAIN_FLAGS = WordsSettings()


@comment.command
def train(
    *corpora: Annotated[Path, Parameter(help="Files of kibitz comment corpus.")],
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="Folder; goes on there.")],
    name: Annotated[str, Parameter(help="Of the decoder.")] = "words",
    size: Literal["small", "chesscoach"] = "small",
    flags: Annotated[WordsSettings, FLAT] = TRAIN_FLAGS,
    tower: Annotated[
        Path | None, Parameter(help="Network whose frozen tower sees the positions.")
    ] = None,
    licence: Annotated[str, Parameter(help="Of the decoder.")] = "",
    json: JsonFlag = False,
) -> int:
    """Train a decoder; Ctrl-C saves, the same command goes on."""
    try:
        from kibitz.train.words import train_words
    except ImportError as error:
        raise missing_extra("training a decoder", error.name or "torch", "train") from error
    import msgspec

    at_least(1, steps=flags.steps, batch=flags.batch, period=flags.period, every=flags.every)
    examples = [example for path in corpora for example in read_examples(path)]
    card = msgspec.structs.replace(SIZES[size], name=name, licence=licence)
    with graceful_stop() as stop:
        done = train_words(examples, card, flags, output, stop, tower)
    facts: dict[str, Any] = {"examples": len(examples), "steps": done.step, **done.losses}
    emit(facts | {"file": str(done.file or "")}, as_json=json)
    return EXIT_STOPPED if done.stopped else 0


# --- annotate -------------------------------------------------------------------------------------
#
# `kibitz annotate`: what is true of a game's moves, in plain English.


def _check_page(game: At, html: Path, output: Path | None) -> None:
    """Refuse a page that cannot be written, or would cost what is there."""
    check_output(game, html, "--html")
    if html.exists() and not is_report(html):
        fix = "give another --html, or move the file away"
        raise InputError("the page would replace another file", value=str(html), fix=fix)
    if output is not None and html.resolve() == output.resolve():
        raise InputError("the page is the output", value=str(html), fix="give another --html")


def annotate(
    game: Annotated[
        At, Parameter(help="PGN file, packed or not; - for the input.", allow_leading_hyphen=True)
    ],
    *,
    output: Annotated[
        Path | None, Parameter(name=["--output", "-o"], help="PGN to write; else it is printed.")
    ] = None,
    html: Annotated[Path | None, Parameter(help="HTML page to write: board, graph, story.")] = None,
    level: LevelFlag = "club",
    language: LanguageFlag = None,
    moments: Annotated[Moments, Parameter(help="Speak of all moves or of key moments.")] = "all",
    nodes: Annotated[int | None, Parameter(help=f"Nodes for each position; {NODES:,}.")] = None,
    time: Annotated[float | None, Parameter(help="Seconds for each position.")] = None,
    side: Annotated[Sides, Parameter(help="Whose moves are commented on.")] = "both",
    said_by: Annotated[WordsFlags, FLAT] = TABLES_WORDS,
    network: EngineFlag = AUTODISCOVER,
    threads: Annotated[
        int | None, Parameter(help="Positions searched at the same time; by default one a core.")
    ] = None,
) -> int:
    """Annotate games: marks, values, arrows, lines and comments; an output begun goes on."""
    at_least(1, nodes=nodes, threads=threads)
    if game == STANDARD_INPUT:
        game = Path("/dev/stdin")
    elif str(game).startswith("-"):
        raise InputError("no such option", value=str(game), fix="see --help")
    tally, faults, skipped = Tally(), list[str](), list[str]()

    def tell(fault: str) -> None:
        faults.append(fault)
        say(fault)

    def skip(bad: BadGame) -> None:
        skipped.append(str(bad))
        say(str(bad))

    spoken = chosen_language(language)
    words = said_by.chosen(tally, spoken)
    style = Style(level, side, moments, limits_of(nodes, time), words, spoken)
    report = None if html is None else Report(language_of(spoken))
    if html is not None:
        _check_page(game, html, output)
    with (
        engines_for(network, style.limits, threads or processors()) as (engine, *more),
        graceful_stop() as stop,
    ):
        for done in annotate_file(game, output, engine, style, stop, tell, more, skip):
            if report is not None:
                report.add(done)
            elif output is None:
                sys.stdout.write(f"{done}\n\n")
                sys.stdout.flush()
        for problem in engine.problems:
            say(problem)
    if tally.sampled:
        say(f"the decoder's texts: {tally.facts()}")
    if report is not None and html is not None and report.games:
        report.write(html)
        say(f"{html}: {report.games} games" if report.games > 1 else f"{html}: written")
    if faults:
        say(f"{len(faults)} left without comments by faults of Kibitz")
    return EXIT_STOPPED if stop.requested else 1 if faults or skipped else 0
