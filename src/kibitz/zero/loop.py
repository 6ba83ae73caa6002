"""The order of the stages: one process does all of them, or several share them by roles.

What comes next follows from the folder alone, so a run goes on wherever it was interrupted.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Literal

from kibitz.core.journal import with_lock
from kibitz.core.log import Stop, say
from kibitz.zero import rating
from kibitz.zero.config import LearnSettings
from kibitz.zero.folder import Folder
from kibitz.zero.stages import enough, play_group, train_network
from kibitz.zero.status import keep_log, line_of
from kibitz.zero.work import Work

Role = Literal["all", "play", "train", "rate"]
WAIT_SECONDS = 0.5  # before a process looks again whether there is something for it to do


class Learning:
    """A process that learns: does, of its role, what comes next."""

    def __init__(
        self, folder: Folder, role: Role, stop: Stop, settings: LearnSettings | None = None
    ) -> None:
        self.work = Work(folder, settings or folder.settings(), stop, role)
        self.folder, self.role = folder, role
        self._began = time.monotonic()
        if hours := self.work.settings.learn.hours:
            self.work.until = time.time() + 3600 * hours

    def run(self) -> bool:
        """Work until the budget is spent; False if asked to stop before."""
        self.folder.check_networks()
        with self.locks(), self.folder.present(self.role):
            self.folder.forget_silent()
            if self.folder.newest:
                rating.keep_best(self.folder)  # it may have been lost or damaged
            over = False
            while not (over or self.work.stop.requested):
                over = not self._step()
            keep_log(self.folder)  # with the games since the last stage that was finished
            if over:
                spent = self._spent(self.folder.newest)
                say(f"the budget is spent: {spent}; give a larger one")
        return over

    @contextmanager
    def locks(self) -> Iterator[None]:
        """Refuse a second process that trains, or rates; any number may play."""
        with ExitStack() as stack:
            if self.role in ("all", "train"):
                stack.enter_context(with_lock(self.folder.root / "training", "learning"))
            if self.role in ("all", "rate"):
                stack.enter_context(with_lock(self.folder.root / "matches", "rating"))
            yield

    def _step(self) -> bool:
        """Do what comes next, or wait for others; False once the run is over."""
        work, newest = self.work, self.folder.newest
        over = bool(self._spent(newest))
        due = rating.due(self.folder, work.settings.learn, over)
        if self.role in ("all", "rate") and due is not None:
            if rating.rate(work, due):
                self._finished(due)
        elif over:
            return False
        elif self.role in ("all", "train") and enough(work, newest):
            if train_network(work, newest + 1):
                if not self.folder.rated():  # the newest plays until there are ratings
                    rating.keep_best(self.folder)
                self._finished(newest + 1)
        elif self.role == "all" or (self.role == "play" and self._may_play(newest)):
            self._play(newest)
        else:
            self._wait()
        return True

    def _play(self, generation: int) -> None:
        """Play groups until the generation has its games or there is a newer one."""
        work, learn = self.work, self.work.settings.learn
        done = sum(group.games for group in self.folder.groups(generation).values())
        work.begin("play", generation, 0 if learn.evaluations else learn.games, done)
        while play_group(work, generation):
            if self.role == "all" and enough(work, generation):
                self._finished(generation)
                return
            newest = self.folder.newest
            if self._spent(newest) or newest > generation or not self._may_play(generation):
                return

    def _may_play(self, generation: int) -> bool:
        return not enough(self.work, generation, self.work.settings.learn.ahead)

    def _spent(self, newest: int) -> str:
        """Which budget is spent; nothing as long as none is."""
        learn, hours = self.work.settings.learn, (time.monotonic() - self._began) / 3600
        spent = (
            ("hours", hours, learn.hours),
            ("generations", newest, learn.generations),
            ("games", self.folder.all_games, learn.total_games),
        )
        over = (f"{limit:g} {what}" for what, done, limit in spent if limit and done >= limit)
        return next(over, "")

    def _wait(self) -> None:
        if self.work.stage != "wait":
            self.work.begin("wait", self.folder.newest)
        self.work.advance(0)
        time.sleep(WAIT_SECONDS)

    def _finished(self, generation: int) -> None:
        """Keep the figures, and say what a stage has brought."""
        rows = keep_log(self.folder)
        say(line_of(rows[generation]))
