"""The options of an engine beside those of its search: network, backend, strength.

**EngineOptions** + search/params.Settings -> Engine
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kibitz.engine.backend import MOST_CACHED, parse_backend_options
from kibitz.search.parameter import checked, choice, parameters_of, switch, text, whole
from kibitz.search.params import Settings
from kibitz.search.strength import FULL_SKILL, STRONGEST, WEAKEST, elo_of_skill

AUTODISCOVER = "<autodiscover>"


@dataclass(frozen=True)
class EngineOptions:
    """What an engine is told beside the settings of its search."""

    weights: str = text(
        "WeightsFile",
        AUTODISCOVER,
        "network file or name, uniform or material; by default the newest that is found",
        visibility="always",
        names_files=True,
    )
    backend: Literal["auto", "inline", "onnx", "torch"] = choice(
        "Backend", ("auto", "inline", "onnx", "torch"), "what computes the network"
    )
    backend_options: str = text(
        "BackendOptions", "", "for onnx and torch: threads=2,device=cuda:0; see below"
    )
    cache_size: int = whole(
        "NNCacheSize",
        200_000,
        0,
        MOST_CACHED,
        0,
        "positions remembered for onnx and torch; 0: none",
    )
    merge_cached: bool = switch(
        "NNCacheMerge",
        False,
        "ChessCoach's keys: answers serve other histories, and clocks below 80 plies",
    )
    swap_colours: bool = switch(
        "SwapColors", False, "the network sees White and Black exchanged, if it sees colours"
    )
    limit_strength: bool = switch(
        "UCI_LimitStrength", False, "play as UCI_Elo says", visibility="always"
    )
    elo: int = whole(
        "UCI_Elo", 1500, WEAKEST, STRONGEST, 0, "strength, not calibrated", visibility="always"
    )
    skill: int = whole("Skill Level", FULL_SKILL, 0, FULL_SKILL, 0, "20 is full strength")

    def __post_init__(self) -> None:
        for parameter in parameters_of(type(self)):
            checked(parameter, getattr(self, parameter.name))
        parse_backend_options(self.backend_options)

    @property
    def limited_elo(self) -> int | None:
        """The Elo figure to play at; None for full strength."""
        return self.elo if self.limit_strength else elo_of_skill(self.skill)


def option_names() -> list[str]:
    """UCI names of all options of an engine."""
    rows = parameters_of(EngineOptions) + parameters_of(Settings)
    return [parameter.uci for parameter in rows]
