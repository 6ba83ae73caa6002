"""The stages of a generation, games and training, and their order."""

from __future__ import annotations

import itertools
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import msgspec

from kibitz.core.files import measured, write_bytes
from kibitz.core.journal import with_lock
from kibitz.core.log import Stop, say
from kibitz.core.settings import dump, load
from kibitz.data.shard import SUFFIX
from kibitz.data.store import Store
from kibitz.nets import files as network_files
from kibitz.train.config import TrainingSettings
from kibitz.train.loop import train
from kibitz.zero import rating
from kibitz.zero.config import LearnSettings
from kibitz.zero.folder import (
    Folder,
    Group,
    Trained,
    Work,
    positions_by,
    processor_seconds,
    quietly,
    window_begins,
)
from kibitz.zero.rating import gate
from kibitz.zero.selfplay.config import SelfPlay, next_sc_limit
from kibitz.zero.selfplay.play import play
from kibitz.zero.status import keep_log, line_of

# --- play -----------------------------------------------------------------------------------------


def has_enough_games(work: Work, generation: int, times: float = 1.0) -> bool:
    """Whether a generation has its games, or so many times as many."""
    learn, groups = work.settings.learn, work.folder.groups(generation).values()
    if learn.evaluations:
        return sum(group.playouts for group in groups) >= times * learn.evaluations
    return sum(group.games for group in groups) >= times * learn.games


def play_group(work: Work, generation: int) -> bool:
    """Play a group of games that no other process plays; False if asked to stop before its end.

    A group that a killed process had begun comes first, and keeps the games that are there. The
    numbers of groups, and so of games, go on from generation to generation: random numbers follow
    from them, and no two games of a run may have the same.
    """
    folder, done = work.folder, work.folder.finished_groups()
    for group in itertools.count():
        if group in done:
            continue
        with folder.claim(generation, group) as mine:
            if not mine or folder.group_file(generation, group).exists():
                continue
            return _play(work, generation, group)
    return False


def _play(work: Work, generation: int, group: int) -> bool:
    folder, learn = work.folder, work.settings.learn
    settings, began = _settings_of(work, generation), processor_seconds()
    first = group * learn.group  # also where a group has fewer: no number is ever used again
    report = play(
        folder.player(generation, work.settings),
        replace(settings, workers=work.cores),
        folder.games(generation),
        games=learn.group_games,
        first=first,
        seed=learn.seed,
        generation=generation,
        stop=work.stop,
        on_game=lambda _: work.advance(),
    )
    if report.stopped:
        return False
    results, plies = _in_shards(folder, generation, range(first, first + learn.group_games))
    # What a killed process had played before counts as much a move as what was played now.
    made_by = settings.playouts if settings.kind == "mcts" else settings.nodes
    playouts = report.playouts / report.plies if report.plies else float(made_by)
    made = Group(
        games=results.total(),
        positions=plies,
        playouts=round(playouts * plies),
        white=results[1],
        draws=results[0],
        black=results[-1],
        seconds=measured(report.seconds),
        processor=measured(processor_seconds() - began),
        playouts_set=made_by,
        sc_limit=settings.searching().sc_limit,
    )
    folder.write(folder.group_file(generation, group), made)
    return True


def _in_shards(folder: Folder, generation: int, numbers: range) -> tuple[Counter[int], int]:
    """Results of the games with these numbers, by White's view, and their positions."""
    results: Counter[int] = Counter()
    plies = 0
    for shard in Store(sorted(folder.games(generation).glob(f"*{SUFFIX}"))):
        if shard.header.provenance["first"] in numbers:
            results.update(shard.results.tolist())
            plies += shard.plies
    return results, plies


def _settings_of(work: Work, generation: int) -> SelfPlay:
    """The settings of a generation's games; a file keeps those that its first game had."""
    file = work.folder.group_file(generation, 0).with_name("selfplay.toml")
    if not file.is_file():
        settings = tuned(work.folder, work.settings, generation)
        write_bytes(file, dump(SelfPlayTable(settings)).encode())
    return load(SelfPlayTable, file).selfplay


@dataclass(frozen=True)
class SelfPlayTable:
    """The table of a file that keeps the settings of games."""

    selfplay: SelfPlay


# --- control: the paper's figure 6 ----------------------------------------------------------------


def tuned(folder: Folder, settings: LearnSettings, generation: int) -> SelfPlay:
    """The settings of a generation's games, which follow from the games of those before."""
    learn, changed = settings.learn, settings.selfplay
    before = [[*folder.groups(number).values()] for number in range(generation)]
    games = sum(group.games for groups in before for group in groups)
    if learn.doubling:
        name = "playouts" if changed.kind == "mcts" else "nodes"
        now = getattr(changed, name)
        doubled = min(now << min(games // learn.doubling, 30), learn.most_playouts)
        changed = replace(changed, **{name: max(now, doubled)})
    if learn.ratio and before and before[-1]:
        last = before[-1]
        decided = sum(group.white + group.black for group in last)
        drawn = sum(group.draws for group in last)
        limit = last[-1].sc_limit
        wanted = next_sc_limit(limit, decided, drawn, learn.ratio, learn.ratio_power)
        changed = replace(changed, sc_limit=wanted)
    return changed


# --- train ----------------------------------------------------------------------------------------


def train_network(work: Work, generation: int) -> bool:
    """Train the network with which a generation begins; False if asked to stop before its end."""
    folder, place = work.folder, work.folder.training(generation)
    first, _ = window_begins(folder, generation)
    folder.put_damaged_aside(first - 1)
    began, plan = (processor_seconds(), time.monotonic()), place / "training.toml"
    if not plan.is_file():
        write_bytes(plan, dump(_planned(work, generation)).encode())
    settings = _placed(load(TrainingSettings, plan), folder.root)
    work.begin("train", generation, settings.run.steps)
    command = f"kibitz learn: generation {generation}"
    with quietly():
        outcome = train(settings, command, work.stop, resume=True, on_step=work.reach)
    if outcome.stopped:
        return False
    for source, playing in zip(outcome.files, (False, True), strict=False):
        _keep_network(work, generation, source, playing=playing)
    decided = gate(work, generation)
    if decided is None:
        return False
    made = Trained(
        generation=generation,
        size=work.settings.learn.size_of(generation),
        plays=decided.plays,
        window=settings.data.newest,
        steps=outcome.step,
        rate=settings.schedule.rate,
        losses=outcome.losses,
        validation=outcome.validation,
        processor=measured(processor_seconds() - began[0]),
        seconds=measured(time.monotonic() - began[1]),
        gate=decided.score,
        gate_games=decided.games,
    )
    folder.write(folder.root / "trained" / f"{generation:04}.json", made)
    for file in outcome.files:
        file.unlink()
    shutil.rmtree(place / "checkpoints")
    return True


def _keep_network(work: Work, generation: int, source: Path, *, playing: bool) -> None:
    """Copy a trained network among those of the run; its card describes the whole run.

    That of a run which began with a network says first what its card says.
    """
    folder, learn = work.folder, work.settings.learn
    card, weights = network_files.load(source)
    positions = sum(positions_by(folder, generation))
    data = [f"{folder.all_games:,} games against itself, {positions:,} positions"]
    commands = [f"kibitz learn: generations 1 to {generation}"]
    if learn.is_taught:
        began = network_files.read_card(folder.network(0, playing=False)).provenance
        data, commands = [began.data or learn.start, *data], [*began.commands, *commands]
    provenance = msgspec.structs.replace(
        card.provenance, data="; then ".join(data), commands=tuple(commands)
    )
    name = f"{folder.root.resolve().name}-{generation:04}"
    card = msgspec.structs.replace(card, name=name, provenance=provenance)
    network_files.save(folder.network(generation, playing=playing), weights, card)


def _placed(settings: TrainingSettings, root: Path) -> TrainingSettings:
    """The settings of a training, whose file names places from the run's folder on."""
    run, data, teacher = settings.run, settings.data, settings.distill.teacher
    goes_on = run.network.endswith(".safetensors")
    network = str(root / run.network) if goes_on else run.network
    return replace(
        settings,
        run=replace(run, output=root / run.output, network=network),
        data=replace(data, folders=tuple(str(root / name) for name in data.folders)),
        distill=replace(settings.distill, teacher=str(root / teacher) if teacher else ""),
    )


def _planned(work: Work, generation: int) -> TrainingSettings:
    """The settings of a training, its places from the run's folder on.

    A file keeps them, so that it goes on as it began.
    """
    folder, whole, root = work.folder, work.settings, work.folder.root
    _, size = window_begins(folder, generation)
    last = last_size = ""
    if generation > 1 or whole.learn.is_taught:
        before = folder.network(generation - 1, playing=False)
        last, last_size = str(before.relative_to(root)), network_files.read_card(before).size
    fresh = positions_by(folder, generation)[-1]
    planned = whole.learn.training(generation, size, fresh, work.cores, last, last_size)
    output = folder.training(generation).relative_to(root)
    run = replace(planned.run, output=output, name=f"{generation:04}")
    data = replace(
        planned.data,
        folders=(str(folder.games().relative_to(root)),),
        played=whole.selfplay.kind == "alphabeta",  # whose moves are the policy
    )
    return replace(planned, run=run, data=data, optimiser=whole.optimiser, loss=whole.loss)


# --- their order ----------------------------------------------------------------------------------
#
# The order of the stages: one process does all of them, or several share them by roles.
#
# What comes next follows from the folder alone, so a run goes on wherever it was interrupted.


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
            self.folder.remove_dead_processes()
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
        elif self.role in ("all", "train") and has_enough_games(work, newest):
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
            if self.role == "all" and has_enough_games(work, generation):
                self._finished(generation)
                return
            newest = self.folder.newest
            if self._spent(newest) or newest > generation or not self._may_play(generation):
                return

    def _may_play(self, generation: int) -> bool:
        return not has_enough_games(self.work, generation, self.work.settings.learn.ahead)

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
