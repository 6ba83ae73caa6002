"""The work on one generation: a group of games, and the training of the next network.

Each stage leaves its record last, and finds after a kill what it had done before.
"""

from __future__ import annotations

import itertools
import shutil
import time
from collections import Counter
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

import msgspec

from kibitz.core.files import measured, write_bytes
from kibitz.core.settings import dump, load
from kibitz.data.shard import SUFFIX
from kibitz.data.store import Store
from kibitz.nets import card as cards
from kibitz.train.config import TrainingSettings
from kibitz.train.loop import train
from kibitz.zero.config import LearnSettings
from kibitz.zero.folder import Folder, Group, Trained
from kibitz.zero.rating import gate
from kibitz.zero.selfplay.config import SelfPlay, next_sc_limit
from kibitz.zero.selfplay.play import play
from kibitz.zero.work import Work, processor_seconds, quietly

# --- play -----------------------------------------------------------------------------------------


def positions_by(folder: Folder, generations: int) -> list[int]:
    """Positions in the games of each of so many generations."""
    return [
        sum(group.positions for group in folder.groups(one).values()) for one in range(generations)
    ]


def enough(work: Work, generation: int, times: float = 1.0) -> bool:
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
    first = group * learn.group
    report = play(
        folder.player(generation, work.settings),
        replace(settings, workers=work.cores),
        folder.games(generation),
        games=learn.group,
        first=first,
        seed=learn.seed,
        generation=generation,
        stop=work.stop,
        on_game=lambda _: work.advance(),
    )
    if report.stopped:
        return False
    results, plies = _in_shards(folder, generation, range(first, first + learn.group))
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
    before = [[*folder.groups(one).values()] for one in range(generation)]
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


def window_begins(folder: Folder, generation: int) -> tuple[int, int]:
    """The first generation that the training of a network learns from, and how many positions."""
    positions = positions_by(folder, generation)
    size = folder.settings().learn.window_of(sum(positions))
    back = [*accumulate(reversed(positions))]
    reach = next((n for n, total in enumerate(back, 1) if total >= size), len(back))
    return generation - reach, size


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
        _keep_network(folder, generation, source, playing=playing)
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


def _keep_network(folder: Folder, generation: int, source: Path, *, playing: bool) -> None:
    """Copy a trained network among those of the run; its card tells of the run as a whole."""
    card, weights = cards.load(source)
    positions = sum(positions_by(folder, generation))
    provenance = msgspec.structs.replace(
        card.provenance,
        data=f"{folder.all_games:,} games against itself, {positions:,} positions",
        commands=(f"kibitz learn: generations 1 to {generation}",),
    )
    name = f"{folder.root.resolve().name}-{generation:04}"
    card = msgspec.structs.replace(card, name=name, provenance=provenance)
    cards.save(folder.network(generation, playing=playing), weights, card)


def _placed(settings: TrainingSettings, root: Path) -> TrainingSettings:
    """The settings of a training, whose file names places from the run's folder on."""
    run, data, teacher = settings.run, settings.data, settings.distill.teacher
    goes_on = run.network.endswith(".safetensors")
    network = str(root / run.network) if goes_on else run.network
    return replace(
        settings,
        run=replace(run, output=root / run.output, network=network),
        data=replace(data, folders=tuple(str(root / one) for one in data.folders)),
        distill=replace(settings.distill, teacher=str(root / teacher) if teacher else ""),
    )


def _planned(work: Work, generation: int) -> TrainingSettings:
    """The settings of a training, its places from the run's folder on.

    A file keeps them, so that it goes on as it began.
    """
    folder, whole, root = work.folder, work.settings, work.folder.root
    _, size = window_begins(folder, generation)
    last = ""
    if generation > 1:
        last = str(folder.network(generation - 1, playing=False).relative_to(root))
    fresh = positions_by(folder, generation)[-1]
    last_size = folder.trained()[generation - 1].size if last else ""
    planned = whole.learn.training(generation, size, fresh, work.cores, last, last_size)
    output = folder.training(generation).relative_to(root)
    run = replace(planned.run, output=output, name=f"{generation:04}")
    data = replace(
        planned.data,
        folders=(str(folder.games().relative_to(root)),),
        played=whole.selfplay.kind == "alphabeta",  # whose moves are the policy
    )
    return replace(planned, run=run, data=data, optimiser=whole.optimiser, loss=whole.loss)
