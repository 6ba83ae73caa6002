"""The learning rate of every step: settings, step -> **rate** -> the optimiser."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from typing import Literal

from kibitz.errors import ConfigError
from kibitz.options import setting


@dataclass(frozen=True)
class Schedule:
    """A learning rate over the steps of a training; all counts are optimiser steps."""

    shape: Literal["constant", "steps", "exponential", "cosine", "cyclic"] = setting(
        "constant", about="constant, steps, exponential, cosine or cyclic"
    )
    rate: float = setting(1e-3, low=0, about="the highest rate (steps has its own)")
    lowest: float = setting(0.0, low=0, about="of exponential, cosine and cyclic")
    warmup: int = setting(0, low=0, about="steps of linear growth from 0 at the beginning")
    boundaries: tuple[int, ...] = setting((), low=0, about="steps: where each rate begins, from 0")
    rates: tuple[float, ...] = setting((), low=0, about="steps: a rate for each boundary")
    factor: float = setting(0.96, low=0, high=1, about="exponential: each period multiplies by it")
    period: int = setting(1000, low=1, about="exponential: steps; cyclic: half a cycle")
    whole_periods: bool = setting(False, about="exponential: change at the end of periods only")
    length: int = setting(100_000, low=1, about="cosine: the step that reaches the lowest rate")

    def __post_init__(self) -> None:
        if self.shape == "steps":
            self._check_steps()
        if self.lowest > self.rate and self.shape in ("exponential", "cosine", "cyclic"):
            raise ConfigError("the lowest rate is above the rate", value=self.lowest)
        if self.shape == "cosine" and self.length <= self.warmup:
            raise ConfigError("length ends before the warm-up does", value=self.length)

    def _check_steps(self) -> None:
        if not self.boundaries or len(self.rates) != len(self.boundaries):
            fix = f"give {max(1, len(self.boundaries))} rates, one for each boundary"
            raise ConfigError("rates and boundaries differ in number", value=self.rates, fix=fix)
        increasing = all(
            before < after
            for before, after in zip(self.boundaries, self.boundaries[1:], strict=False)
        )
        if self.boundaries[0] != 0 or not increasing:
            fix = "start with 0 and go up"
            raise ConfigError("boundaries out of order", value=self.boundaries, fix=fix)


# 5.6 million steps of 512 positions.
CHESSCOACH = Schedule(
    shape="steps",
    boundaries=(0, 800_000, 2_400_000, 4_000_000),
    rates=(2e-2, 2.5e-3, 2.5e-4, 2.5e-5),
    warmup=8000,
)
CHESSCOACH_COMMENTARY = Schedule(shape="cyclic", rate=1e-3, lowest=1e-5, period=20_000)


def rate_at(schedule: Schedule, step: int, devices: int = 1) -> float:
    """Return the learning rate of a step, counted from 0.

    On several devices each step sees so many times the positions: rates are multiplied by their
    number, and all counts of steps divided by it (rounded down).
    """
    rate = devices * _shaped(schedule, step, devices)
    warmup = schedule.warmup // devices
    return rate * step / warmup if step < warmup else rate


def _shaped(schedule: Schedule, step: int, devices: int) -> float:
    """Return the rate without warm-up, for one device."""
    if schedule.shape == "constant":
        return schedule.rate
    if schedule.shape == "steps":
        begins = [boundary // devices for boundary in schedule.boundaries]
        return schedule.rates[bisect_right(begins, step) - 1]
    return {"exponential": _exponential, "cosine": _cosine, "cyclic": _cyclic}[schedule.shape](
        schedule, step, devices
    )


def _exponential(schedule: Schedule, step: int, devices: int) -> float:
    periods = step / max(1, schedule.period // devices)
    power = math.floor(periods) if schedule.whole_periods else periods
    return max(schedule.lowest, schedule.rate * schedule.factor**power)


def _cosine(schedule: Schedule, step: int, devices: int) -> float:
    """Half a cosine from the end of the warm-up to `length`, then the lowest rate."""
    warmup = schedule.warmup // devices
    done = (step - warmup) / max(1, schedule.length // devices - warmup)
    height = (1 + math.cos(math.pi * min(1.0, max(0.0, done)))) / 2
    return schedule.lowest + height * (schedule.rate - schedule.lowest)


def _cyclic(schedule: Schedule, step: int, devices: int) -> float:
    """Up and down in straight lines: lowest at 0, highest at `period`, lowest at twice that."""
    half = max(1, schedule.period // devices)
    away = abs(step % (2 * half) - half) / half
    return schedule.rate - away * (schedule.rate - schedule.lowest)
