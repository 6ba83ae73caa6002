"""The training loop: step, log, validate, save a checkpoint, stop; at the end the networks."""

from __future__ import annotations

import datetime
import itertools
import math
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from kibitz.core.files import measured
from kibitz.core.journal import LOCK_FILE, with_lock
from kibitz.core.log import Stop, progress, say
from kibitz.data.batches.loader import Loader, PlaceInData, Share, TensorBatch, rows_in_batches
from kibitz.data.batches.sample import Samples
from kibitz.data.batches.window import Window
from kibitz.nets.card import NetworkCard, Provenance
from kibitz.nets.models.build import count_parameters, file_weights
from kibitz.nets.models.make import trained_card, write_networks
from kibitz.train import checkpoint as checkpoints
from kibitz.train.checkpoint import Best, estimate_norms, has_norms, validation_loss
from kibitz.train.config import TrainingSettings
from kibitz.train.metrics import DETAILS, METRICS, recording
from kibitz.train.state import (
    TrainState,
    begin,
    check,
    checkpoint_of,
    described,
    found_checkpoint,
    now,
    recipe_of,
    total_steps,
    warn_of_few_steps,
    window_of,
)
from kibitz.train.step import any_process, ending_at, local_device, processes, rate_at
from kibitz.train.validate import validate


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
    rank: int  # of several processes only the first, 0, prints the outcome


class Job(NamedTuple):
    """What stays the same while a training runs; what changes is its TrainState."""

    settings: TrainingSettings
    command: str
    share: Share
    window: Window
    total: int  # the step to end at
    held_out: HeldOut | None  # of the first process only
    write: Callable[..., None]  # figures of a step to metrics.jsonl
    on_step: Callable[[int], None]  # is given the steps made so far

    @property
    def main(self) -> bool:
        """Whether this is the process that validates, saves and says what happens."""
        return self.share.rank == 0

    @property
    def checkpoints(self) -> Path:
        """The folder of checkpoints."""
        return self.settings.run.output / "checkpoints"

    @property
    def positions(self) -> int:
        """Positions in a batch of all processes."""
        return self.settings.run.batch * self.share.processes


def train(
    settings: TrainingSettings,
    command: str,
    stop: Stop,
    resume: bool = False,
    damaged_allowed: bool = False,
    on_step: Callable[[int], None] = lambda _: None,
) -> Outcome:
    """Train until the last step, until patience ends or until asked to stop."""
    run = settings.run
    check(settings)
    device = local_device(run.device)
    if run.threads:
        torch.set_num_threads(run.threads)
    with processes(str(device)) as share, ExitStack() as stack:
        main = share.rank == 0
        if main:
            stack.enter_context(_folder(run.output))
        checkpoint = found_checkpoint(settings, resume, damaged_allowed)
        window = window_of(settings)
        state = begin(settings, checkpoint, window, share, device)
        stack.enter_context(state.loader)
        total = total_steps(settings, window, state.loader)
        held_out = held_out_of(settings, window) if main else None
        if held_out is not None:
            warn_of_idle_head(state.learner.card, held_out, settings.data.result_share)
        write = stack.enter_context(recording(run.output, state.step, main, run.tensorboard))
        job = Job(settings, command, share, window, total, held_out, write, on_step)
        if main:
            warn_of_few_steps(settings, total)
            state.best = _best(job, checkpoint is not None, damaged_allowed)
        began, first = time.perf_counter(), state.step
        log = Log(job)
        stopped = _steps(state, job, log, stop)
        if state.step > first or not checkpoints.checkpoints_in(job.checkpoints):
            _save(state, job)
        files = [] if stopped else _finish(state, job)
        return Outcome(
            stopped=stopped,
            step=state.step,
            positions=state.step * job.positions,
            seconds=time.perf_counter() - began,
            speed=log.positions / log.seconds if log.seconds else 0.0,
            losses=log.losses,
            validation=state.figures,
            best=state.best.step if state.best else None,
            files=files,
            rank=share.rank,
        )


@contextmanager
def _folder(output: Path) -> Iterator[None]:
    """Work alone in the output folder; one that was made for nothing is removed again."""
    new = not output.exists()
    try:
        with with_lock(output, "training"):
            yield
    except BaseException:
        is_made = new and output.is_dir()
        if is_made and {path.name for path in output.glob("*")} <= {LOCK_FILE, METRICS}:
            shutil.rmtree(output)
        raise


def _steps(state: TrainState, job: Job, log: Log, stop: Stop) -> bool:
    """Train up to the last step; returns whether it was stopped before."""
    run, average = job.settings.run, job.settings.average
    devices = job.share.processes if job.settings.schedule.by_devices else 1
    schedule = ending_at(job.settings.schedule, job.total, devices)
    batches = _batches(state.loader, run.overfit)
    with progress("training", total=job.total) as bar:
        bar.advance(state.step)
        job.on_step(state.step)
        ends = time.monotonic() + 3600 * run.hours if run.hours else math.inf
        while state.step < job.total and not _out_of_patience(state, job):
            if run.hours and any_process(time.monotonic() >= ends, job.share):
                if job.main:
                    say(f"stopping at step {state.step}: the {run.hours:g} hours are over")
                break
            began = time.perf_counter()
            rate = rate_at(schedule, state.step, devices)
            losses = state.learner.step(next(batches), rate, state.step)
            state.step += 1
            if state.average and state.step % average.interval == 0:
                state.average.update(state.learner.network.state_dict())
            log.add(losses, time.perf_counter() - began)
            bar.advance()
            job.on_step(state.step)
            if state.step % run.log == 0 or state.step == job.total:
                bar.describe(log.report(state.step, rate))
            if run.validate and state.step % run.validate == 0:
                _validate(state, job)
            if any_process(stop.requested, job.share):
                return state.step < job.total
            if run.checkpoint and state.step % run.checkpoint == 0 and state.step < job.total:
                _save(state, job)
    return False


def _batches(loader: Loader, overfit: bool) -> Iterator[TensorBatch]:
    """Yield batches; to `overfit`, the first one again and again."""
    batches = iter(loader)
    if overfit:
        first = next(batches)
        loader.place = PlaceInData()
        batches = itertools.repeat(first)
    yield from batches


class Log:
    """Losses and speed of the steps, said and written now and then."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.seconds, self.positions = 0.0, 0  # of all steps of this run
        self.losses: dict[str, float] = {}  # of the last report
        self._recent: list[dict[str, Tensor]] = []  # of each step since
        self._recent_seconds = 0.0

    def add(self, losses: dict[str, Tensor], seconds: float) -> None:
        """Take in a step."""
        self._recent.append(losses)
        self._recent_seconds += seconds
        self.seconds += seconds
        self.positions += self.job.positions

    def report(self, step: int, rate: float) -> str:
        """Say and write the means of the losses since the last report; returns them as text."""
        self.losses = {
            name: float(torch.stack([losses[name].float() for losses in self._recent]).mean())
            for name in self._recent[0]
        }
        per_step = self._recent_seconds / len(self._recent)
        self._recent, self._recent_seconds = [], 0.0
        speed, total = self.job.positions / per_step, self.job.total
        self.job.write(step, **self.losses, rate=rate, positions_per_second=round(measured(speed)))
        losses = ", ".join(f"{name} {loss:.4f}" for name, loss in self.losses.items())
        if self.job.main:
            left = datetime.timedelta(seconds=round((total - step) * per_step))
            say(f"step {step}/{total}: {losses}; {speed:,.0f} positions/s, {left} left")
        return f"{losses}, {speed:,.0f} positions/s"


# --- validation -----------------------------------------------------------------------------------


class HeldOut(NamedTuple):
    """Positions of games that are not trained on."""

    samples: Samples
    rows: np.ndarray  # (N,) of the samples


def held_out_of(settings: TrainingSettings, window: Window) -> HeldOut | None:
    """Return the positions to validate on; few games may have none that is held out."""
    data, patience = settings.data, settings.run.patience
    if not data.validation:
        return None
    samples, rows = window.validation_rows(data.validation_positions)
    if len(rows):
        return HeldOut(samples, rows)
    what = f"no game is held out to validate on (data.validation={data.validation:g})"
    then = "the last weights count" + (", and patience does not" if patience else "")
    say(f"warning: {what}: {then}; give a larger data.validation")
    return None


def warn_of_idle_head(card: NetworkCard, held_out: HeldOut, result_share: float) -> None:
    """Say why the head for the search's value, if there is one, can learn nothing of its own."""
    values = held_out.samples.values[held_out.rows]
    searched = values[~np.isnan(values)]
    if not card.heads.mcts_value:
        return
    if not len(searched):
        why = "nothing: no position has one"
    elif searched.min() == searched.max():
        why = f"a constant: all searches came to {searched[0]:+.2f}, as with a uniform network"
    elif result_share == 0:
        why = "what the value learns: data.result_share is 0; give more, or leave the head out"
    else:
        return
    say(f"warning: the head for the search's value learns {why}")


def _validate(state: TrainState, job: Job, *, average: bool = False) -> None:
    """Validate on held-out games, and keep the weights if no validation before was as good."""
    if job.held_out is None:
        return
    samples, rows = job.held_out
    learner, settings = state.learner, job.settings
    how = recipe_of(learner.card, settings.data)._replace(policy_share=1.0)
    batches = rows_in_batches(samples, rows, how, settings.run.batch, str(learner.device))
    figures = validate(learner, batches)
    prefix, whose = ("average_", ", average of weights") if average else ("", "")
    if not average:
        state.figures, state.validated = figures, state.step
        loss = validation_loss(figures, settings.loss)
        if state.best is None or loss < state.best.loss:
            weights = learner.network.state_dict().items()
            copies = {name: tensor.detach().cpu().clone() for name, tensor in weights}
            state.best = Best(state.step, loss, figures, copies)
            checkpoints.save_best(job.checkpoints, state.best)
    fields = {f"{prefix}validation_{name}": value for name, value in figures.items()}
    job.write(state.step, **fields, validation_positions=len(rows))
    shown = ", ".join(f"{name} {figures[name]:.4f}" for name in figures if name not in DETAILS)
    say(f"step {state.step}{whose}, {len(rows)} positions of held-out games: {shown}")


def _out_of_patience(state: TrainState, job: Job) -> bool:
    """Whether the last validations, as many as patience allows, were all worse than one before.

    It follows from the steps alone, so a training that goes on ends where it would have ended.
    """
    run, best = job.settings.run, state.best
    if not run.patience:
        return False
    since = state.step // run.validate - best.step // run.validate if best else 0
    over = any_process(since >= run.patience, job.share)
    if over and job.main and best:
        say(f"stopping at step {state.step}: no validation was better since {best.step}")
    return over


# --- what is written ------------------------------------------------------------------------------


def _best(job: Job, going_on: bool, damaged_allowed: bool) -> Best | None:
    """Return the best weights of a training that goes on; what an older one left is removed."""
    if going_on:
        return checkpoints.load_best(job.checkpoints, damaged_allowed)
    checkpoints.forget_best(job.checkpoints)
    return None


def _save(state: TrainState, job: Job) -> None:
    """Write a checkpoint and delete old ones."""
    if not job.main:
        return
    state.date = now()
    checkpoint = checkpoint_of(state, job.settings, job.window, job.command)
    checkpoints.save(checkpoints.path_of(job.checkpoints, state.step), checkpoint)
    checkpoints.prune(job.checkpoints, job.settings.run.keep)


def _finish(state: TrainState, job: Job) -> list[Path]:
    """Validate once more and write the networks."""
    if not job.main:
        return []
    if state.validated != state.step:
        _validate(state, job)
    run, learner, best = job.settings.run, state.learner, state.best
    step = state.step
    if run.best and best is not None and best.step != step:
        learner.network.load_state_dict(best.weights)
        state.figures, step = best.figures, best.step
        say(f"the network is that of step {step}, which was the best on held-out games")
    data, positions = described(job.window), step * job.positions
    training = Provenance(data, (job.command,), step, positions, state.date)
    name = run.name or run.output.resolve().name
    files = _write(state, job, name, training)
    if state.average is None or not state.average.updates:
        return files
    learner.network.load_state_dict(state.average.weights())
    if has_norms(learner.network) and job.settings.average.norm_batches:
        ahead = itertools.islice(state.loader, job.settings.average.norm_batches)
        estimate_norms(learner.network, ahead, learner.forward)
    _validate(state, job, average=True)
    return files + _write(state, job, f"{name}-average", training)


def _write(state: TrainState, job: Job, name: str, training: Provenance) -> list[Path]:
    """Write the network as it is now, and the form that plays."""
    network, run = state.learner.network, job.settings.run
    parameters = count_parameters(network)
    card = trained_card(state.learner.card, name, training, parameters, run.licence)
    return write_networks(run.output, file_weights(network.state_dict()), card, run.export)
