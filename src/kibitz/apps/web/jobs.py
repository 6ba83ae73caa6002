"""Annotating games in the background: progress for the pages, the report in the end."""

from __future__ import annotations

import secrets
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from kibitz.apps.web.engines import EngineChoice, Engines
from kibitz.apps.web.library import MISTAKE, names_only
from kibitz.apps.web.positions import game_to_annotate, tree_of
from kibitz.apps.web.watch import Post
from kibitz.comment.annotate import Style, annotate
from kibitz.comment.batch import Stopped
from kibitz.comment.cache import AnalysisCache
from kibitz.comment.judge import key_moments
from kibitz.comment.report.page import Report
from kibitz.comment.searches import Effort
from kibitz.comment.select.rank import Level
from kibitz.comment.words.language import Language
from kibitz.comment.words.languages import Code, language_of
from kibitz.core.errors import InputError, KibitzError
from kibitz.position.pgn import Game
from kibitz.search.limits import Limits

MOST_KEPT = 50  # reports
GRACE_SECONDS = 120.0  # for a page to come back, after which its annotation ends
ANNOTATOR = EngineChoice(search="alphabeta", lines=2)


@dataclass(eq=False)
class Job:
    """A game that is annotated."""

    name: str
    game: Game
    style: Style
    posts: set[Post]
    address: str = ""  # of the page that asked for it
    done: int = 0
    total: int = 1
    state: str = "running"
    error: str = ""
    page: str = ""
    result: dict[str, Any] | None = None
    stop: threading.Event = field(default_factory=threading.Event)

    def facts(self) -> dict[str, Any]:
        """How it stands."""
        return {
            "topic": self.name,
            "job": self.name,
            "state": self.state,
            "done": self.done,
            "total": self.total,
            "error": self.error,
            "report": f"/report/{self.name}" if self.page else "",
            "game": self.result,
        }

    def tell(self) -> None:
        """Send the state to all subscribers."""
        message = msgspec.json.encode(self.facts())
        for post in [*self.posts]:
            post(self.name, message)


class Jobs:
    """The games that are annotated, and the last that were."""

    def __init__(self, engines: Engines) -> None:
        self._engines, self._lock = engines, threading.Lock()
        self._jobs: dict[str, Job] = {}

    def begin(
        self,
        pgn: str,
        level: Level,
        nodes: int,
        post: Post,
        address: str = "",
        language: Code = "en",
    ) -> Job:
        """Start to annotate a game for a page at an address."""
        game = game_to_annotate(pgn, nodes)
        style = Style(level, limits=Limits(nodes=nodes), language=language)
        total = 1 + sum(1 for _ in game.tree.mainline())
        job = Job(secrets.token_urlsafe(12), game, style, {post}, address, total=total)
        with self._lock:
            running = [each for each in self._jobs.values() if each.state == "running"]
            if len(running) >= self._engines.most:
                raise InputError("too many games are being annotated", fix="wait for one to end")
            of_address = sum(each.address == address for each in running)
            if of_address >= max(1, self._engines.most // 2):
                what = f"{of_address} games from this address are being annotated"
                raise InputError(what, fix="stop one, or wait for one to end")
            self._jobs[job.name] = job
            for name in [*self._jobs][:-MOST_KEPT]:
                if self._jobs[name].state != "running":
                    del self._jobs[name]
        threading.Thread(target=self._run, args=(job,), name="annotate", daemon=True).start()
        return job

    def find(self, name: str) -> Job:
        """A job by its name."""
        if name not in self._jobs:
            fix = "start the annotation again"
            raise InputError("the server knows no such annotation any more", fix=fix)
        return self._jobs[name]

    def forget(self, post: Post) -> None:
        """Tell a page no more; a job ends when none of its pages comes back for a while."""
        for job in [*self._jobs.values()]:
            job.posts.discard(post)
            if not job.posts and job.state == "running":
                timer = threading.Timer(GRACE_SECONDS, _end_if_left, (job,))
                timer.daemon = True
                timer.start()

    def close(self) -> None:
        """End all jobs."""
        for job in [*self._jobs.values()]:
            job.stop.set()

    def _run(self, job: Job) -> None:
        def on_ply() -> None:
            job.done += 1
            job.tell()
            if job.stop.is_set():
                raise Stopped

        try:
            with self._engines.use(ANNOTATOR) as engine:
                cache = AnalysisCache(engine, Effort(job.style.limits))
                account = annotate(job.game, engine, job.style, on_ply, cache=cache).figures
            job.page = _page(job.game, language_of(job.style.language))
            job.result = tree_of(job.game)
            job.result["keys"] = key_moments(account.values, account.labels)
            job.state = "done"
        except Stopped:
            job.state = "stopped"
        except KibitzError as error:
            job.state, job.error = "failed", names_only(error)
        finally:
            if job.state == "running":
                job.state, job.error = "failed", MISTAKE
            job.tell()


def _end_if_left(job: Job) -> None:
    """End a job whose pages are all gone."""
    if not job.posts:
        job.error = "The annotation was stopped, as its page was gone; start it again."
        job.stop.set()


def _page(game: Game, language: Language) -> str:
    """The report of a game."""
    report = Report(language)
    report.add(game)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.html"
        report.write(file)
        return file.read_text(encoding="utf-8")
