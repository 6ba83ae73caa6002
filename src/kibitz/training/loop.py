"""The loop around the step: data, settings -> **steps, checks, checkpoints** -> networks."""

from __future__ import annotations

import datetime
import itertools
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import torch
from torch import Tensor

from kibitz.dataset.batch import Recipe, recipe
from kibitz.dataset.loader import Loader, Place, Share, TensorBatch, rows_in_batches
from kibitz.dataset.sample import Samples
from kibitz.dataset.window import Window
from kibitz.files import dated
from kibitz.locks import alone
from kibitz.log import Bar, Stop, progress, say
from kibitz.network.build import count_parameters
from kibitz.training import best
from kibitz.training import checkpoint as checkpoints
from kibitz.training.average import estimate_norms, has_norms
from kibitz.training.best import Best
from kibitz.training.checkpoint import Checkpoint
from kibitz.training.config import TrainingSettings
from kibitz.training.finish import Training, trained, write_networks
from kibitz.training.parallel import agreed, local_device, processes
from kibitz.training.record import DETAILS, recording
from kibitz.training.schedule import rate_at
from kibitz.training.setup import (
    as_json,
    average_of_run,
    check,
    described,
    fingerprint,
    found_checkpoint,
    learner_of,
    place_of,
    schedule_of,
    total_steps,
    warn_of_few_steps,
    window_of,
)
from kibitz.training.step import Learner
from kibitz.training.validate import validate


class Outcome(NamedTuple):
    """How a training ended."""

    stopped: bool  # before its time
    step: int
    positions: int
    seconds: float  # of this run
    speed: float  # positions a second, without validations and checkpoints
    losses: dict[str, float]  # of the last steps
    validation: dict[str, float]  # of the network that is exported
    best: int | None  # the step of the best validation; None without one
    files: list[Path]
    rank: int  # of several processes the first, 0, tells what came of it


def train(
    settings: TrainingSettings,
    command: str,
    stop: Stop,
    resume: bool = False,
    damaged_allowed: bool = False,
) -> Outcome:
    """Train until the last step or until asked to stop."""
    run = settings.run
    check(settings)
    device = local_device(run.device)
    if run.threads:
        torch.set_num_threads(run.threads)
    with processes(str(device)) as share, ExitStack() as stack:
        if share.rank == 0:
            stack.enter_context(alone(run.output, "training"))
        found = found_checkpoint(settings, resume, damaged_allowed)
        torch.manual_seed(run.seed)
        learner = learner_of(settings, found, share, device)
        window = window_of(settings)
        how = recipe(learner.card, settings.data.result_share)
        seen = recipe(learner.teacher.card, 0.0) if learner.teacher else None
        place = place_of(found, window)
        loader = stack.enter_context(
            Loader(window, how, run.batch, run.seed, place, share, str(device), seen)
        )
        if found is not None:
            checkpoints.restore_random(found)
        work = _Work(settings, command, share, learner, window, how, loader, stop, found)
        work.best = _best_of(work.checkpoints, found, share, damaged_allowed)
        return work.run()


def _best_of(
    folder: Path, found: Checkpoint | None, share: Share, damaged_allowed: bool
) -> Best | None:
    """Return the best weights of a training that goes on; what an older one left is removed."""
    if share.rank:
        return None
    if found is None:
        best.forget(folder)
        return None
    return best.load(folder, damaged_allowed)


class _Work:
    """One training while it runs."""

    def __init__(
        self,
        settings: TrainingSettings,
        command: str,
        share: Share,
        learner: Learner,
        window: Window,
        how: Recipe,
        loader: Loader,
        stop: Stop,
        found: Checkpoint | None,
    ) -> None:
        self.settings, self.command, self.share, self.learner = settings, command, share, learner
        self.window, self.how, self.loader, self.stop = window, how, loader, stop
        self.step = 0 if found is None else int(found.state["step"])
        self.total = total_steps(settings, window, loader)
        self.devices = share.processes if settings.schedule.by_devices else 1
        self.schedule = schedule_of(settings, self.total, self.devices)
        self.folder = settings.run.output
        self.checkpoints = self.folder / "checkpoints"
        self.date = _now() if found is None else found.state.get("date", _now())
        self.best: Best | None = None
        self.validated = -1  # the step of that
        self.held_out: tuple[Samples, np.ndarray] | None = None
        self.average = average_of_run(settings, found)
        self.recent: list[dict[str, Tensor]] = []
        self.losses: dict[str, float] = {}
        self.validation: dict[str, float] = {}
        self.busy, self.shown = 0.0, 0  # seconds in steps and positions, of this run
        self.since = (0.0, 0)

    def run(self) -> Outcome:
        began, first = time.perf_counter(), self.step
        if self.share.rank == 0:
            warn_of_few_steps(self.settings, self.total)
            self._hold_out()
        main = self.share.rank == 0
        with recording(self.folder, self.step, main, self.settings.run.tensorboard) as self.write:
            with progress("training", total=self.total) as bar:
                bar.advance(self.step)
                stopped = self._steps(bar)
            if self.step > first or not checkpoints.checkpoints_in(self.checkpoints):
                self._save_checkpoint()
            files = [] if stopped else self._finish()
        seconds = time.perf_counter() - began
        speed = self.shown / self.busy if self.busy else 0.0
        shown = self.step * self.settings.run.batch * self.share.processes
        figures, step = self.validation, self.best.step if self.best else None
        how_long = (self.step, shown, seconds, speed)
        return Outcome(stopped, *how_long, self.losses, figures, step, files, self.share.rank)

    def _steps(self, bar: Bar) -> bool:
        """Train up to the last step; returns whether it was stopped before."""
        run = self.settings.run
        batches = self._batches() if self.step < self.total else iter(())
        while self.step < self.total and not self._out_of_patience():
            before = time.perf_counter()
            rate = rate_at(self.schedule, self.step, self.devices)
            self.recent.append(self.learner.step(next(batches), rate, self.step))
            self.step += 1
            if self.average and self.step % self.settings.average.interval == 0:
                self.average.update(self.learner.network.state_dict())
            self.busy += time.perf_counter() - before
            self.shown += run.batch * self.share.processes
            bar.advance()
            if self.step % run.log == 0 or self.step == self.total:
                self._report(rate, bar)
            if run.validate and self.step % run.validate == 0:
                self._validate()
            if agreed(self.stop.requested, self.share):
                return self.step < self.total
            if run.checkpoint and self.step % run.checkpoint == 0 and self.step < self.total:
                self._save_checkpoint()
        return False

    def _batches(self) -> Iterator[TensorBatch]:
        """Return what to train on; a network that cannot learn one batch by heart is broken."""
        batches = iter(self.loader)
        if not self.settings.run.overfit:
            return batches
        first = next(batches)
        self.loader.place = Place()
        return itertools.repeat(first)

    def _report(self, rate: float, bar: Bar) -> None:
        """Say and write the means of the losses since the last time."""
        names = self.recent[0].keys()
        self.losses = {
            name: float(torch.stack([losses[name].float() for losses in self.recent]).mean())
            for name in names
        }
        self.recent = []
        busy, shown = self.busy - self.since[0], self.shown - self.since[1]
        self.since = self.busy, self.shown
        speed = shown / busy
        self.write(self.step, **self.losses, rate=rate, positions_per_second=round(speed))
        told = ", ".join(f"{name} {loss:.4f}" for name, loss in self.losses.items())
        left = (self.total - self.step) * busy / shown * self.settings.run.batch
        left *= self.share.processes
        bar.describe(f"{told}, {speed:,.0f} positions/s")
        if self.share.rank == 0:
            line = f"step {self.step}/{self.total}: {told}; {speed:,.0f} positions/s"
            say(f"{line}, {_duration(left)} left")

    def _hold_out(self) -> None:
        """Find the positions to validate on; few games may have none that is held out."""
        data, patience = self.settings.data, self.settings.run.patience
        if not data.validation:
            return
        samples, rows = self.window.validation_rows(data.validation_positions)
        if len(rows):
            self.held_out = samples, rows
            return
        what = f"no game is held out to validate on (data.validation={data.validation:g})"
        then = "the last weights count" + (", and patience does not" if patience else "")
        say(f"warning: {what}: {then}; give a larger data.validation")

    def _validate(self, whose: str = "") -> None:
        if self.held_out is None:
            return
        samples, rows = self.held_out
        size, device = self.settings.run.batch, str(self.learner.device)
        figures = validate(self.learner, rows_in_batches(samples, rows, self.how, size, device))
        if not whose:
            self.validation, self.validated = figures, self.step
            self._take_best(figures)
        found = {f"{whose}validation_{name}": value for name, value in figures.items()}
        self.write(self.step, **found, validation_positions=len(rows))
        told = ", ".join(f"{name} {figures[name]:.4f}" for name in figures if name not in DETAILS)
        who = f"step {self.step}" + (", average of weights" if whose else "")
        say(f"{who}, {len(rows)} positions of held-out games: {told}")

    def _take_best(self, figures: dict[str, float]) -> None:
        """Keep the weights if no validation before was as good."""
        loss = best.loss_of(figures, self.settings.loss)
        if self.best is None or loss < self.best.loss:
            state = self.learner.network.state_dict()
            weights = {name: tensor.detach().cpu().clone() for name, tensor in state.items()}
            self.best = Best(self.step, loss, figures, weights)
            best.save(self.checkpoints, self.best)

    def _out_of_patience(self) -> bool:
        """Whether the last validations, as many as patience allows, were all worse than one before.

        It follows from the steps alone, so a training that goes on ends where it would have ended.
        """
        run = self.settings.run
        if not run.patience:
            return False
        since = self.step // run.validate - self.best.step // run.validate if self.best else 0
        over = agreed(since >= run.patience, self.share)
        if over and self.share.rank == 0 and self.best:
            say(f"stopping at step {self.step}: no validation was better since {self.best.step}")
        return over

    def _save_checkpoint(self) -> None:
        if self.share.rank:
            return
        self.date = _now()
        tensors, optimiser = checkpoints.optimiser_parts(self.learner.optimiser)
        network = self.learner.network.state_dict()
        tensors |= {f"network.{name}": tensor for name, tensor in network.items()}
        if self.average is not None:
            average = self.average.state()
            tensors |= {f"average.{name}": tensor for name, tensor in average.items()}
        tensors |= checkpoints.random_parts()
        state = {
            "step": self.step,
            "place": list(self.loader.place),
            "window": fingerprint(self.window),
            "settings": as_json(self.settings),
            "card": msgspec.to_builtins(self.learner.card),
            "command": self.command,
            "date": self.date,
            "optimiser": optimiser,
        }
        path = checkpoints.path_of(self.checkpoints, self.step)
        checkpoints.save(path, Checkpoint(tensors, state))
        checkpoints.prune(self.checkpoints, self.settings.run.keep)

    def _finish(self) -> list[Path]:
        """Validate once more and write the networks."""
        if self.share.rank:
            return []
        if self.validated != self.step:
            self._validate()
        run, network = self.settings.run, self.learner.network
        step = self._exported_step()
        positions = step * run.batch * self.share.processes
        training = Training(described(self.window), self.command, step, positions, self.date)
        name = run.name or run.output.resolve().name
        card, count = self.learner.card, count_parameters(network)
        mine = trained(card, name, training, run.licence)
        files = write_networks(self.folder, network.state_dict(), mine, count, run.export)
        if self.average is None or not self.average.updates:
            return files
        network.load_state_dict(self.average.weights())
        self._estimate_norms()
        self._validate("average_")
        card = trained(card, f"{name}-average", training, run.licence)
        written = write_networks(self.folder, network.state_dict(), card, count, run.export)
        return files + written

    def _exported_step(self) -> int:
        """Give the network the best weights, if they are wanted; returns the step they are from."""
        if not self.settings.run.best or self.best is None or self.best.step == self.step:
            return self.step
        self.learner.network.load_state_dict(self.best.weights)
        self.validation = self.best.figures
        say(f"the network is that of step {self.best.step}, which was the best on held-out games")
        return self.best.step

    def _estimate_norms(self) -> None:
        """Give the averaged weights batch norms of their own."""
        network, batches = self.learner.network, self.settings.average.norm_batches
        if has_norms(network) and batches:
            ahead = itertools.islice(self.loader, batches)
            estimate_norms(network, ahead, self.learner.forward)


def _now() -> str:
    return dated(datetime.datetime.now(datetime.UTC))


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"
