"""The parameter table: ranges, text in and out, UCI options, rules and presets made of it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kibitz.core.errors import ConfigError
from kibitz.core.files import write_bytes
from kibitz.core.options import Option, read, written
from kibitz.core.settings import dump, load
from kibitz.search.mcts.rules.parameters import (
    ACCUMULATE_FROM,
    FPU_ABSOLUTE,
    FPU_LOSS,
    FPU_WIN,
    OFF,
    Behaviour,
    Contempt,
    FirstPlay,
    Gumbel,
    Puct,
    Sble,
    to_behaviour,
    to_rule,
)
from kibitz.search.method import PRESETS, changes_of, preset
from kibitz.search.options import OPTIONS, Settings, option_of


def test_defaults_are_those_of_the_rules() -> None:
    plain = Settings(policy_temperature=1.0, variance_scaling=0.0)  # defaults that were tuned
    assert to_rule(plain) == Puct()
    assert to_behaviour(plain) == Behaviour(by_prior=1, accumulate_from=ACCUMULATE_FROM)
    assert to_behaviour(Settings()).root_policy_temperature == Settings().policy_temperature


def test_rules_that_count_visits_exactly_have_nothing_noted() -> None:
    for exact in (Settings(search_rule="gumbel"), Settings(sc_limit=28)):
        assert to_behaviour(exact).accumulate_from == Behaviour().accumulate_from
    for rule in ("puct", "azero", "sble"):
        assert (
            to_behaviour(Settings(**changes_of("default", rule))).accumulate_from == ACCUMULATE_FROM
        )


def test_names_are_unique_and_rows_make_sense() -> None:
    assert len({row.name for row in OPTIONS}) == len(OPTIONS)
    assert len({row.uci.casefold() for row in OPTIONS}) == len(OPTIONS)
    for row in OPTIONS:
        assert row.help
        assert (row.low is None) == (row.kind in (bool, str))
        if row.low is not None and row.high is not None:
            assert row.low <= float(row.default) <= row.high
            assert row.step < row.high - row.low


@pytest.mark.parametrize("row", OPTIONS, ids=lambda row: row.name)
def test_values_survive_being_written(row: Option) -> None:
    assert read(row, written(row.default)) == row.default
    for bound in (row.low, row.high):
        if bound is not None:
            value = row.kind(bound)
            settings = Settings().parse({row.uci: written(value)})
            assert getattr(settings, row.name) == pytest.approx(value)


@pytest.mark.parametrize("row", OPTIONS, ids=lambda row: row.name)
def test_values_out_of_range_are_named(row: Option) -> None:
    if row.low is None or row.high is None:
        return
    for value in (row.low - 1, row.high + row.kind(1) + row.high):
        with pytest.raises(ConfigError, match="must be from") as caught:
            Settings().parse({row.uci: written(row.kind(value))})
        assert row.uci in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"CPuct": "nan"}, "CPuct: must be from 0 to 100, found: nan"),
        ({"CPuct": "much"}, "CPuct: expected a number, found: 'much'"),
        ({"Threads": "1.5"}, "Threads: expected a whole number, found: '1.5'"),
        ({"MateProving": "yes"}, "MateProving: expected true or false, found: 'yes'"),
        ({"FpuStrategy": "loose"}, "FpuStrategy: expected one of reduction, absolute, loss, win"),
        ({"CPucct": "1"}, "did you mean 'CPuct'"),
    ],
)
def test_wrong_texts_are_explained(options: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Settings().parse(options)
    assert message in str(caught.value)


def test_settings_are_changed_by_copying() -> None:
    settings = Settings()
    changed = settings.with_(cpuct=3, prove=False)
    assert (changed.cpuct, changed.prove) == (3.0, False)
    assert isinstance(changed.cpuct, float)
    assert (settings.cpuct, settings.prove) == (1.745, True)
    with pytest.raises(AttributeError):
        settings.cpuct = 1.0  # type: ignore[misc]
    with pytest.raises(ConfigError, match="did you mean 'cpuct_base'"):
        settings.with_(cpuct_bas=1)
    with pytest.raises(ConfigError, match="expected a whole number"):
        settings.with_(threads=True)


def test_texts_as_guis_send_them() -> None:
    options = {"sclimit": "1e9", "SYZYGYPATH": "<empty>", "searchrule": "SBLE", "MultiPV": " 3 "}
    settings = Settings(syzygy_path="somewhere").parse(options)
    assert settings.sc_limit == OFF
    assert (settings.syzygy_path, settings.search_rule, settings.multipv) == ("", "sble", 3)
    assert option_of("cpuct").uci == "CPuct"


@given(st.integers(0, 2**63 - 1))
def test_large_seeds_stay_exact(seed: int) -> None:
    assert Settings().parse({"Seed": str(seed)}).seed == seed


def test_uci_lines() -> None:
    lines = [option.line for option in OPTIONS]
    assert len(lines) == len(OPTIONS)
    assert "option name ScLimit type spin default 1000000000 min 1 max 1000000000" in lines
    assert "option name CPuct type string default 1.745" in lines
    assert f"option name Seed type spin default 0 min 0 max {2**63 - 1}" in lines
    assert "option name MateProving type check default true" in lines
    assert "option name SyzygyPath type string default <empty>" in lines
    combo = "option name MoveChoice type combo default visits var visits var lcb"
    assert option_of("MoveChoice").line == combo


def test_settings_are_a_toml_table(tmp_path: object) -> None:
    path = f"{tmp_path}/search.toml"
    write_bytes(path, dump(preset("chesscoach")).encode())
    assert load(Settings, path) == preset("chesscoach")
    with pytest.raises(ConfigError, match="cpuct"):
        load(Settings, overrides=["cpuct=-1"])


# --- rules ----------------------------------------------------------------------------------------


def test_each_rule_gets_its_numbers() -> None:
    settings = Settings(cpuct=2.0, fpu="absolute", fpu_value=-0.5, root_fpu="win")
    rule = to_rule(settings)
    assert isinstance(rule, Puct)
    assert rule.exploration.init == 2.0
    assert rule.first_play == FirstPlay(FPU_ABSOLUTE, -0.5)
    assert rule.root_first_play == FirstPlay(FPU_WIN, 1.0)
    assert to_rule(settings.with_(search_rule="gumbel")) == Gumbel()


def test_the_root_may_have_its_own_exploration() -> None:
    settings = Settings(root_cpuct=3.0)
    assert to_rule(settings) == to_rule(Settings())
    own = to_rule(settings.with_(root_cpuct_own=True))
    assert isinstance(own, Puct)
    assert (own.exploration.init, own.root_exploration.init) == (1.745, 3.0)


def test_alphazeros_constants_are_converted_once() -> None:
    rule = to_rule(Settings(**changes_of("default", "azero")))
    assert isinstance(rule, Puct)
    assert tuple(rule.exploration) == (2.5, 19_652.0, 2.0, 1.0)  # for scores in [-1, 1]
    assert rule.count_parent == 1
    assert rule.first_play.kind == FPU_LOSS


def test_switches_of_sble() -> None:
    assert to_rule(preset("chesscoach")) == Sble()
    off = preset("chesscoach").with_(linear=False, elimination=False, selective_backup=False)
    rule = to_rule(off)
    assert isinstance(rule, Sble)
    assert (rule.linear_delay, rule.elimination_exponent) == (math.inf, 0.0)
    assert rule.backup_threshold == math.inf


def test_contempt_is_worn_by_any_rule_but_gumbel() -> None:
    contempt = to_rule(Settings(sc_limit=28, sc_negative=True, sc_admit=True))
    ours = Puct(variance=Settings().variance_scaling)
    assert contempt == Contempt(inner=ours, limit=28, parity=0, admit=1)
    sble = to_rule(preset("chesscoach").with_(sc_limit=28))
    assert sble == Contempt(inner=Sble(), limit=28)
    with pytest.raises(ConfigError, match="ScLimit"):
        to_rule(Settings(search_rule="gumbel", sc_limit=28))


def test_behaviour_of_chesscoach() -> None:
    behaviour = to_behaviour(preset("chesscoach"))
    assert (behaviour.build, behaviour.cap) == (0.8, 25e6)
    assert (behaviour.clear_losses, behaviour.draw_sibling) == (1, 1)
    assert behaviour.rule50_scaling == 1.0


def test_the_roots_policy_temperature_follows_unless_set() -> None:
    assert to_behaviour(Settings(policy_temperature=1.359)).root_policy_temperature == 1.359
    own = to_behaviour(Settings(policy_temperature=1.359, root_policy_temperature=1.1))
    assert (own.policy_temperature, own.root_policy_temperature) == (1.359, 1.1)


@pytest.mark.parametrize("name", PRESETS)
def test_presets_make_rules(name: str) -> None:
    to_rule(preset(name))
    to_behaviour(preset(name))


# Constants as the authors publish them, by our names; values that our table has as defaults, too.
PUBLISHED: dict[str, dict[str, object]] = {
    "chesscoach": {
        "search_rule": "sble",
        "cpuct": 2.35,
        "cpuct_base": 185_000.0,
        "cpuct_factor": 1.0,
        "linear_rate": 3_590.0,
        "linear_delay": 1_050_000.0,
        "elimination_exponent": 10,
        "backup_threshold": 0.02,
        "virtual_loss": 0.1,
        "value_average": "moving",
        "average_build": 0.8,
        "average_cap": 25e6,
        "faster_mate": 1.0,
        "search_proven": True,
        "clear_losses": True,
        "draw_sibling": True,
        "rule50_scaling": 1.0,
        "slow_start_nodes": 1_024,
        "slow_start_parallelism": 32,
        "minibatch_size": 256,
        "diversity_delta": 0.0089,
        "diversity_temperature": 2.52,
        "diversity_plies": 4,
        "minimax": True,
        "minimax_material": 6_080,
        "minimax_visits": 3_258,
        "minimax_ignore": 0.14,
        "policy_temperature": 1.0,
        "time_manager": "chesscoach",
        "score_type": "centipawn_2019",
    },
    "dlchess": {
        "search_rule": "puct",
        "cpuct": 1.745,
        "cpuct_base": 38_739.0,
        "cpuct_factor": 3.894,
        "fpu": "reduction",
        "fpu_value": 0.33,
        "count_parent": True,
        "policy_temperature": 1.359,
        "variance_scaling": 0.0,
        "prove": False,
        "minibatch_size": 1,
        "noise_alpha": 0.03,
        "noise_scaled": True,
        "time_manager": "dlchess",
        "score_type": "centipawn_2019",
    },
    "batchfirst": {"search": "bestfirst", "bestfirst_batch": 5_000, "bestfirst_quiet": 0},
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_presets_have_the_constants_that_were_published(name: str) -> None:
    settings = preset(name)
    assert {key: getattr(settings, key) for key in PUBLISHED[name]} == PUBLISHED[name]
    assert settings.changed().keys() <= {*PUBLISHED[name], "expand_at", *OUR_SIDE}


# Set beside: what they have no switch for (the same visits, sooner), or say elsewhere.
OUR_SIDE = ("fpu", "root_fpu", "variance_scaling", "syzygy_fastest", "score_type")


def test_unknown_presets_are_refused() -> None:
    with pytest.raises(ConfigError, match="did you mean 'chesscoach'"):
        preset("chess-coach")
