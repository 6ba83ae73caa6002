"""`kibitz data fetch` and `kibitz data import`: public games, and games that become shards."""

from __future__ import annotations

import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Annotated, Any, cast
from urllib.parse import urlsplit

import numpy as np
from cyclopts import Parameter

from kibitz.cli.output import EXIT_STOPPED, At, JsonFlag, at_least, columns, emit
from kibitz.core.downloads import TRIES, download, published
from kibitz.core.errors import DamagedFileError, InputError
from kibitz.core.files import atomic_write, data_folder
from kibitz.core.journal import with_lock
from kibitz.core.log import graceful_stop, progress, say
from kibitz.core.places import Place
from kibitz.core.unpacking import refuse_ratio
from kibitz.data.catalogue import CATALOGUE, Entry, entry
from kibitz.data.importing import (
    KINDS,
    LABELLED,
    PLIES,
    STANDARD_INPUT,
    Imported,
    files_in,
    import_labelled,
    import_pgn,
    kind_of,
    scores_and_results,
)
from kibitz.data.labels.labels import LabelModel, fit
from kibitz.data.pgn import GameFilter, Pace

ARCHIVES = (".zip", ".tar.bz2")
BLOCK = 1 << 20
INSIDE = (".pgn", ".epd")  # of archives, what is taken out
THIS_MACHINE = ("localhost", "127.0.0.1", "::1")  # where http is as good as https
BAD_ARCHIVE = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError),
    *(EOFError, NotImplementedError, RuntimeError),  # methods unknown here; a password
)


def fetch(
    name: Annotated[
        str | None, Parameter(help="As in the catalogue; without one it is listed.")
    ] = None,
    *,
    output: Annotated[
        Path | None, Parameter(name=["--output", "-o"], help="Folder; by default in KIBITZ_DATA.")
    ] = None,
    mirror: Annotated[
        str, Parameter(help="Ask this server, like https://my.host, in place of the publisher's.")
    ] = "",
    tries: Annotated[int, Parameter(help="Failures in a row that are put up with.")] = TRIES,
    dry_run: Annotated[bool, Parameter(help="Only print the addresses.")] = False,
    json: JsonFlag = False,
) -> None:
    """Download games, evaluations, puzzles, tables, books; the same command goes on."""
    at_least(1, tries=tries)
    if name is None:
        rows = [
            (archive.name, archive.about, archive.size, archive.licence) for archive in CATALOGUE
        ]
        listed = [
            archive._asdict() | {"urls": archive.urls[:1], "files": len(archive.urls)}
            for archive in CATALOGUE
        ]
        table = columns(("name", "what", "size", "licence"), rows)
        emit({"catalogue": listed}, as_json=json, table=None if json else table)
        return
    archive = entry(name)
    if mirror:
        archive = _mirrored(archive, mirror)
    folder = output or data_folder() / (archive.folder or archive.name)
    if dry_run:
        facts = {**archive._asdict(), "folder": str(folder)}
        lines = [(url,) for url in (*archive.urls, *filter(None, [archive.checksums]))]
        emit(facts, as_json=json, table=None if json else columns((), lines))
        say(f"{archive.size}; licence: {archive.licence}; to {folder}")
        return
    files, fetched, size = [], 0, 0
    with with_lock(folder, "fetch"):
        for path, new in _fetched(archive, folder, tries):
            fetched += new
            size += path.stat().st_size
            files.append(_unpacked(path))
    facts = {"files": len(files), "fetched": fetched, "bytes": size, "folder": str(folder)}
    emit(facts | {"licence": archive.licence}, as_json=json)
    say(archive.then.format(files[0] if len(files) == 1 else folder))


def _mirrored(archive: Entry, mirror: str) -> Entry:
    """The same files on another server."""
    try:
        parts = urlsplit(mirror)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise InputError("--mirror", value=mirror, fix=f"it is no address: {error}") from error
    safe = parts.scheme == "https" or (parts.scheme == "http" and host in THIS_MACHINE)
    if not host or not safe or port == 0:
        raise InputError("--mirror", value=mirror, fix="begin with https://; files come over it")

    def moved(url: str) -> str:
        return url and mirror.rstrip("/") + urlsplit(url).path

    return archive._replace(
        urls=tuple(map(moved, archive.urls)), checksums=moved(archive.checksums)
    )


def _fetched(archive: Entry, folder: Path, tries: int) -> Iterator[tuple[Path, bool]]:
    """The files, and whether each of them is new."""
    paths = [folder / Path(urlsplit(url).path).name for url in archive.urls]
    complete = all(path.exists() for path in paths)
    checksums = {path.name: digest for path, digest in zip(paths, archive.sha256, strict=False)}
    if archive.checksums and not complete:
        checksums = published(archive.checksums, tries=tries)
    with progress("bytes") as bar:
        for url, path in zip(archive.urls, paths, strict=True):
            bar.describe(path.name)
            sha256 = checksums.get(path.name, "")
            if archive.checksums and not sha256 and not path.exists():
                what = f"no checksum of it is in {archive.checksums}"
                raise DamagedFileError(what, value=url, fix="nothing is fetched without one")
            yield path, download(url, path, sha256, on_bytes=bar.advance, tries=tries)


def _unpacked(path: Path) -> Path:
    """The games or positions in an archive, one after the other in a file; else the file itself."""
    kind = next((suffix for suffix in ARCHIVES if path.name.endswith(suffix)), "")
    if not kind:
        return path
    inner = path.name.removesuffix(kind)
    target = path.with_name(inner if inner.endswith(INSIDE) else f"{inner}.pgn")
    if target.exists():
        return target
    try:
        with atomic_write(target) as whole:
            for member in _members(path):
                with member:
                    while block := member.read(BLOCK):
                        whole.write(block)
                        refuse_ratio(whole.tell(), path.stat().st_size, path)
                    whole.write(b"\n")
    except BAD_ARCHIVE as error:
        fix = "delete it and fetch it again"
        raise DamagedFileError(f"no archive ({error})", value=str(path), fix=fix) from error
    return target


def _members(path: Path) -> Iterator[IO[bytes]]:
    """The files in an archive that hold games or positions."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if name.endswith(INSIDE):
                    yield archive.open(name)
        return
    with tarfile.open(path, "r|bz2") as stream:  # read once, from the front
        while (member := stream.next()) is not None:
            inside = stream.extractfile(member) if member.name.endswith(INSIDE) else None
            if inside is not None:
                yield inside
            cast(Any, stream).members.clear()  # its list of all members, which may be millions


# --- importing ------------------------------------------------------------------------------------
#
# `kibitz data import` and `fit-labels`: games and labelled positions become shards and a model.


Output = Annotated[At, Parameter(name=["--output", "-o"], help="Folder for the new shards.")]
EXIT_REFUSED = 1  # of an import that could not read a file, and named it
DEFAULT = LabelModel()

Workers = Annotated[int, Parameter(help="Processes at the same time.")]


def import_games(
    *files: Annotated[
        At,
        # A lone hyphen is standard input; `readable_files` refuses what else begins with one.
        Parameter(
            help="PGN, CSV or JSONL, packed or not, folders, or -.", allow_leading_hyphen=True
        ),
    ],
    output: Output,
    workers: Workers = 1,
    plies: Annotated[int, Parameter(help="Positions in a shard, about.")] = PLIES,
    rating: Annotated[int, Parameter(help="Of PGN: only if both players have at least this.")] = 0,
    time_control: Annotated[
        tuple[Pace, ...], Parameter(help="Of PGN: only games like these; may be repeated.")
    ] = (),
    evaluated: Annotated[bool, Parameter(help="Of PGN: only games with [%eval] comments.")] = False,
    games: Annotated[int | None, Parameter(help="End once so many are imported, or more.")] = None,
    a: Annotated[float, Parameter(help="Centipawns where a win is as likely as not.")] = DEFAULT.a,
    b: Annotated[float, Parameter(help="Centipawns of the label model's slope.")] = DEFAULT.b,
    json: JsonFlag = False,
) -> int:
    """Bring games or labelled positions into a store."""
    if not files:
        raise InputError("nothing to import", fix="name files")
    at_least(1, workers=workers, plies=plies, games=games, b=b)
    at_least(0, rating=rating)
    game_filter = GameFilter(rating, time_control, evaluated)
    done, skipped, refused = Imported(), 0, 0
    with graceful_stop() as stop, progress("positions", total=None) as bar:
        for piece in _pieces(
            readable_files(files), output, workers, plies, LabelModel(a, b), game_filter
        ):
            done = done.plus(piece._replace(bad=(), refused=()))  # counted: there may be many
            skipped, refused = skipped + len(piece.bad), refused + len(piece.refused)
            bar.advance(piece.plies)
            for text in piece.bad + piece.refused:
                say(text)
            if stop.requested or (games is not None and done.games >= games):
                break
    result = {"games": done.games, "positions": done.plies, "shards": done.shards}
    result |= {"skipped": skipped, "empty": done.empty, "refused": refused}
    result |= {"copies": done.copies}
    result |= {"unwanted": done.unwanted} if game_filter != GameFilter() else {}
    emit(result | {"output": str(output)}, as_json=json)
    if stop.requested:
        return EXIT_STOPPED
    if not done.games:
        say("nothing was imported")
    return 0 if done.games and not refused else EXIT_REFUSED


def readable_files(places: Sequence[Place], kinds: Sequence[str] = KINDS) -> list[Place]:
    """The files that arguments stand for, by what they are named."""
    for place in places:
        if str(place).startswith("-") and place != STANDARD_INPUT:
            raise InputError("no such option", value=str(place), fix="see --help")
    files = files_in(places, kinds)
    for path in files:
        kind_of(path, kinds)
    return files


def _pieces(
    files: list[Place],
    output: Place,
    workers: int,
    plies: int,
    model: LabelModel,
    game_filter: GameFilter,
) -> Iterator[Imported]:
    labelled = [path for path in files if kind_of(path) in LABELLED]
    games = [path for path in files if path not in labelled]
    for path in labelled:
        yield from import_labelled(path, output, model, plies=plies, workers=workers)
    yield from import_pgn(
        games, output, model, game_filter=game_filter, plies=plies, workers=workers
    )


def fit_labels(
    *files: Annotated[At, Parameter(help="CSV files of labelled positions, packed or not.")],
    json: JsonFlag = False,
) -> None:
    """Find the label model under which the games' results are most likely."""
    if not files:
        raise InputError("nothing to fit to", fix="name files")
    with progress("positions", total=None) as bar:
        pairs = []
        for pair in scores_and_results(files):
            pairs.append(pair)
            bar.advance(len(pair[0]))
    scores, results = (np.concatenate(column) for column in zip(*pairs, strict=True))
    fitted = fit(scores, results)
    facts = {"log_likelihood": fitted.log_likelihood, "positions": fitted.positions}
    emit(fitted.model._asdict() | facts, as_json=json)
