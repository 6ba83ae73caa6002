"""What is tuned and how, and the method SPSA."""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from shlex import quote
from typing import Literal, NamedTuple, TypeAlias

from kibitz.arena.match.elo import Sprt
from kibitz.arena.match.game import Control, parse_times
from kibitz.arena.match.spec import parse_player
from kibitz.core.errors import ConfigError, InputError, did_you_mean
from kibitz.core.options import Option, checked, find, options_of, setting, written
from kibitz.engine.options import ALL_OPTIONS
from kibitz.search.alphabeta.constants import OF_CLOCKS, Constants
from kibitz.search.options import HEEDED
from kibitz.train.config import TrainingSettings, from_file

Number: TypeAlias = int | float
Values: TypeAlias = dict[str, Number]
Metric: TypeAlias = Literal["match", "points", "required", "loss"]
Method: TypeAlias = Literal["tpe", "gp", "spsa"]

ALL = "constants"  # stands for all numbers of alpha-beta among the parameters
STEPS = 8  # of the option, up and down from its default, where no range is given
LOWER_IS_BETTER = ("required", "loss")
MAY_CHANGE = ("trials", "confirm", "confirm_tc", "sprt", "concurrency")  # while a tuning goes on


@dataclass(frozen=True)
class Tuning:
    """Settings of a tuning."""

    parameters: tuple[str, ...] = setting((), "what is tuned: NAME, NAME=LOW:HIGH[:log], constants")
    metric: Metric = setting(
        "match",
        "games against the defaults; points or nodes required of suites; loss of a training",
    )
    method: Method = setting("tpe", "tpe or gp (Optuna), spsa (matches only)")
    trials: int = setting(64, "measurements in all; of spsa iterations", low=1)
    initial: int = setting(16, "of them spread evenly, the defaults first", low=1)
    repeats: int = setting(1, "times each trial is measured, by other openings or seeds", low=1)
    seed: int = setting(0, "of all that is random", low=0)
    player: str = setting("kibitz", "whose options are tuned, as in kibitz match; the defaults")
    nodes: int = setting(1000, "for each move, or position of a suite", low=1)
    tc: str = setting("", "clock of matches instead of nodes: 10+0.1")
    games: int = setting(40, "of a trial, in pairs with colours exchanged", low=2)
    openings: str = setting("", "PGN, EPD or lines of moves; none: random ones")
    concurrency: int = setting(1, "games or positions at the same time", low=1)
    suites: tuple[str, ...] = setting((), "EPD files, for points and required")
    failure_nodes: int = setting(0, "required of a position not solved; 0: ten times nodes", low=0)
    training: tuple[str, ...] = setting((), "table.key=value of the training, for loss")
    gain: float = setting(
        5.0, "spsa: steps a parameter moves in all if its better side scores 52.5 %", low=0.01
    )
    sprt: tuple[float, ...] = setting((0.0, 5.0), "elo0 and elo1 of the match that confirms")
    confirm: int = setting(4000, "most games of that match; 0: none", low=0)
    confirm_tc: str = setting("", "its clock, if it is not that of the trials")

    def __post_init__(self) -> None:
        if not self.parameters:
            raise InputError("no parameter to tune", fix="give --parameter NAME, like CPuct")
        for name in ("games", "confirm"):
            if getattr(self, name) % 2:
                fix = "give an even number; games come in pairs"
                raise ConfigError(name, value=getattr(self, name), fix=fix)
        if self.method == "spsa" and self.metric != "match":
            raise ConfigError("spsa plays matches", value=self.metric, fix="take tpe or gp")
        if self.repeats > 1 and self.metric in ("points", "required"):
            fix = "a suite at fixed nodes repeats itself; take more positions"
            raise ConfigError("repeats", value=self.repeats, fix=fix)
        if self.metric in ("points", "required") and not self.suites:
            raise ConfigError(f"{self.metric} without a suite", fix="give --suite FILE")
        self.test()
        self.control()
        self.control(confirming=True)

    @property
    def lower(self) -> bool:
        """Whether less is better."""
        return self.metric in LOWER_IS_BETTER

    def control(self, *, confirming: bool = False) -> Control:
        """The limits of a move, in trials or in the match that confirms."""
        tc = (confirming and self.confirm_tc) or self.tc
        return parse_times(tc) if tc else Control(nodes=self.nodes)

    def test(self) -> Sprt:
        """The test of the match that confirms."""
        return Sprt.between(self.sprt, "sprt")


@dataclass(frozen=True)
class TuneFile:
    """The table of the file."""

    tune: Tuning = field(default_factory=Tuning)


# --- parameters -----------------------------------------------------------------------------------


class Parameter(NamedTuple):
    """A number that is tuned, within its range."""

    name: str  # an option of players, or table.key of a training
    table: str  # where the settings file has it
    key: str
    low: float
    high: float
    step: float
    default: float  # what the player, or the training, has without tuning
    whole: bool = False
    log: bool = False

    def value(self, number: float) -> Number:
        """The nearest value that the option takes."""
        clipped = min(self.high, max(self.low, number))
        return round(clipped) if self.whole else float(f"{clipped:.6g}")

    def part(self, number: float) -> float:
        """Where a value lies in the range, from 0 to 1."""
        low, high, at = (
            math.log(value) if self.log else value for value in (self.low, self.high, number)
        )
        return (at - low) / (high - low)

    def at(self, part: float) -> Number:
        """The value at such a part of the range."""
        if self.log:
            return self.value(self.low * (self.high / self.low) ** part)
        return self.value(self.low + part * (self.high - self.low))


def parameters_of(tuning: Tuning) -> list[Parameter]:
    """The parameters of a tuning; the error names the one at fault."""
    read = _of_training if tuning.metric == "loss" else _of_search
    parameters = [read(tuning, *text.partition("=")[::2]) for text in _listed(tuning)]
    names = [parameter.name for parameter in parameters]
    for name in names:
        if names.count(name) > 1:
            raise InputError("a parameter given twice", value=name, fix="give it once")
    return parameters


def _listed(tuning: Tuning) -> list[str]:
    """The parameters by their names; `constants` stands for all numbers of alpha-beta."""
    without = () if tuning.tc else OF_CLOCKS
    every = [option.uci for option in options_of(Constants) if option.name not in without]
    return [name for text in tuning.parameters for name in (every if text == ALL else [text])]


def _of_search(tuning: Tuning, name: str, span: str) -> Parameter:
    names = [option.uci for option in ALL_OPTIONS if option.step]
    option = find(ALL_OPTIONS, name)
    if option is None:
        raise InputError("no such option to tune", value=name, fix=did_you_mean(name, names))
    if not option.step:
        fix = f"numbers that have one: {', '.join(sorted(names))}"
        raise InputError(f"{option.uci} has no tuning step", value=name, fix=fix)
    spec = parse_player(tuning.player)
    if spec.kind != "engine":
        raise InputError("only our own engine is tuned", value=tuning.player, fix="name a network")
    settings = spec.engine().settings
    # The kind that `auto` takes depends on what is changed: two kinds would be compared.
    if str(settings.search) == "auto" and option.name not in HEEDED["alphabeta"]:
        fix = f"give --player {tuning.player},Search=mcts"
        raise InputError(f"{option.uci} belongs to the tree search", value=tuning.player, fix=fix)
    default = float(getattr(settings, option.name))
    return _ranged(option, option.uci, "search", default, span)


def _of_training(tuning: Tuning, name: str, span: str) -> Parameter:
    base = from_file(None, tuning.training)
    numbers = {
        f"{table.name}.{option.name}": (table.name, option)
        for table in options_of(TrainingSettings)
        for option in options_of(table.kind)
        if option.kind in (int, float) and not option.many
    }
    if name not in numbers:
        fix = did_you_mean(name, numbers)
        raise InputError("no such number of a training", value=name, fix=fix)
    table, option = numbers[name]
    if not span:
        raise InputError("no range", value=name, fix=f"give {name}=LOW:HIGH or {name}=LOW:HIGH:log")
    return _ranged(option, name, table, getattr(getattr(base, table), option.name), span)


def _ranged(option: Option, name: str, table: str, default: float, span: str) -> Parameter:
    low = max(-math.inf if option.low is None else option.low, default - STEPS * option.step)
    high = min(math.inf if option.high is None else option.high, default + STEPS * option.step)
    ends, log = span.removesuffix(":log"), span.endswith(":log")
    if span:
        try:
            low, high = (float(end) for end in ends.split(":"))
        except ValueError as error:
            fix = f"give {name}=LOW:HIGH"
            raise InputError(f"{name}: no range", value=span, fix=fix) from error
        for end in (low, high):
            checked(option, int(end) if option.kind is int and end == int(end) else end, name)
    if not low < high or (log and low <= 0):
        fix = "the lower end comes first, and with log above 0"
        raise InputError(f"{name}: no range", value=span, fix=fix)
    whole = option.kind is int
    return Parameter(name, table, option.name, low, high, option.step, default, whole, log)


def player_with(tuning: Tuning, values: Mapping[str, Number]) -> str:
    """The player with some options changed, as `kibitz match` reads it."""
    return ",".join(
        [tuning.player, *(f"{name}={written(number)}" for name, number in values.items())]
    )


def command_of(tuning: Tuning, values: Mapping[str, Number], defaults: Values) -> str:
    """The command that tests some values against the defaults; of a loss, that trains with them."""
    changed = {name: value for name, value in values.items() if value != defaults[name]}
    if tuning.metric == "loss":
        usual = (text for text in tuning.training if text.partition("=")[0] not in changed)
        own = (f"{name}={written(value)}" for name, value in changed.items())
        words = " ".join(f"--set {quote(text)}" for text in (*usual, *own))
        return f"kibitz train {words}"
    limits = f"--tc {tuning.tc}" if tuning.tc else f"--nodes {tuning.nodes}"
    book = f" --openings {quote(tuning.openings)}" if tuning.openings else ""
    players = f"{quote(player_with(tuning, changed))} {quote(tuning.player)}"
    return f"kibitz match {players} --sprt {tuning.sprt[0]:g} {tuning.sprt[1]:g} {limits}{book}"


def as_toml(parameters: list[Parameter], values: Mapping[str, Number]) -> str:
    """The values as lines for the settings file."""
    lines = []
    for table in dict.fromkeys(parameter.table for parameter in parameters):
        own = [parameter for parameter in parameters if parameter.table == table]
        lines += [
            f"[{table}]",
            *(f"{parameter.key} = {written(values[parameter.name])}" for parameter in own),
        ]
    return "\n".join(lines)


# --- SPSA -----------------------------------------------------------------------------------------
#
# SPSA: all parameters are moved at once, by games between two players on either side of them.
#
# Simultaneous perturbation stochastic approximation (Spall, 1998): iteration k plays centre + c_k d
# against centre - c_k d, where d has +1 or -1 tuning steps for each parameter, and moves the centre
# by a_k / (2 c_k) times the lead along d; a_k = a / (A + k + 1)^0.602, c_k falls as (k + 1)^-0.101
# to one step at the end, A is a tenth of the iterations. `a` follows from `gain`.


ALPHA, GAMMA = 0.602, 0.101
STABILITY = 0.1  # A as a share of the iterations
LEAD = 0.05  # of a side that scores 52.5 %: twice the score less one


def width(tuning: Tuning, number: int) -> float:
    """How many steps the two sides of an iteration lie from its centre."""
    return float((tuning.trials / (number + 1)) ** GAMMA)


@functools.cache
def paces(tuning: Tuning) -> list[float]:
    """How many steps a lead of 1 moves the centre in each iteration: a_k / (2 c_k)."""
    late = STABILITY * tuning.trials + 1
    shapes = [float((late + k) ** -ALPHA) / width(tuning, k) for k in range(tuning.trials)]
    return [tuning.gain / (LEAD * sum(shapes)) * shape for shape in shapes]


def direction(tuning: Tuning, number: int, count: int) -> list[int]:
    """The signs of an iteration's perturbation."""
    generator = random.Random(f"spsa {tuning.seed} {number}")
    return [generator.choice((-1, 1)) for _ in range(count)]


def sides(
    tuning: Tuning, parameters: Sequence[Parameter], centre: Mapping[str, float], number: int
) -> tuple[Values, Values]:
    """The two players of an iteration."""
    signs = direction(tuning, number, len(parameters))
    first, second = (
        {
            parameter.name: parameter.value(
                centre[parameter.name] + side * sign * width(tuning, number) * parameter.step
            )
            for parameter, sign in zip(parameters, signs, strict=True)
        }
        for side in (1, -1)
    )
    return first, second


def centre(
    tuning: Tuning, parameters: Sequence[Parameter], scores: Mapping[int, float]
) -> dict[str, float]:
    """Where finished iterations, by their numbers, have moved the parameters."""
    at = {
        parameter.name: min(parameter.high, max(parameter.low, parameter.default))
        for parameter in parameters
    }
    for number in sorted(scores):
        moved = paces(tuning)[number] * (2 * scores[number] - 1)
        for parameter, sign in zip(
            parameters, direction(tuning, number, len(parameters)), strict=True
        ):
            place = at[parameter.name] + moved * sign * parameter.step
            at[parameter.name] = min(parameter.high, max(parameter.low, place))
    return at
