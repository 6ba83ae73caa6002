"""Every rule by a table: challenges accepted and made, clocks, resigning, draws."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import chess
import pytest

from kibitz.apps.lichess.config import Clock, Lichess, lichess_settings
from kibitz.apps.lichess.decisions import (
    Lag,
    gives_up,
    kept_back,
    limits_of,
    offers_draw,
    takes_draw,
)
from kibitz.apps.lichess.messages import ChallengeMade, OnlineBot, Perf, State, event_of
from kibitz.apps.lichess.rules import (
    LATER_SECONDS,
    LESSONS,
    RULES,
    Memory,
    Offer,
    Workload,
    choose,
    speed_of,
    why_declined,
)
from kibitz.core.errors import ConfigError
from kibitz.data.openings import ODDS_FILES, odds_in, odds_start, odds_starts
from kibitz.position.board import Board

USUAL: dict[str, Any] = {
    "id": "c1",
    "challenger": {"id": "ann", "name": "Ann", "rating": 1600, "title": None, "online": True},
    "variant": {"key": "standard", "name": "Standard", "short": "Std"},
    "rated": True,
    "speed": "blitz",
    "timeControl": {"type": "clock", "limit": 180, "increment": 2, "show": "3+2"},
    "color": "random",
}


def verdict(changes: dict[str, Any], settings: dict[str, Any], now: Workload = Workload()) -> str:  # noqa: B008
    """The reason for which a challenge is declined; empty if it is accepted."""
    changes = dict(changes)
    player = {**USUAL["challenger"], **changes.pop("challenger", {})}
    clock = {**USUAL["timeControl"], **changes.pop("timeControl", {})}
    challenge = {**USUAL, **changes, "challenger": player, "timeControl": clock}
    event = event_of({"type": "challenge", "challenge": challenge, "compat": {"bot": True}})
    assert isinstance(event, ChallengeMade)
    refusal = why_declined(event.challenge, Lichess(**settings), now)
    return "" if refusal is None else refusal.reason


def odds(piece: str, bot: Any = "white", **changes: Any) -> dict[str, Any]:
    """A challenge to a game where the bot lacks a piece."""
    other = "black" if bot == "white" else "white"
    return {
        "variant": {"key": "fromPosition"},
        "initialFen": odds_start(piece, bot),
        "color": other,
        "rated": False,
        **changes,
    }


def rating(value: int | None) -> dict[str, Any]:
    return {"challenger": {"rating": value}}


def clock(limit: int, increment: int) -> dict[str, Any]:
    return {"timeControl": {"limit": limit, "increment": increment}}


NO_CLOCK = {"timeControl": {"type": "correspondence", "daysPerTurn": 3}, "speed": "correspondence"}
BOT = {"challenger": {"title": "BOT"}}
TWO_PAWNS = "rnbqkbnr/pppppppp/8/8/8/8/PPPP2PP/RNBQKBNR w KQkq - 0 1"
ENDING, OVER = "k7/8/2QK4/8/8/8/8/8 b - - 0 1", "k7/1Q6/1K6/8/8/8/8/8 b - - 0 1"
MINE_COMPLETE = "rnb1kbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
FROM_POSITION = {"variant": {"key": "fromPosition"}, "rated": False, "color": "black"}


@pytest.mark.parametrize(
    ("changes", "settings", "reason"),
    [
        ({}, {}, ""),
        ({}, {"blocked": ("ANN",)}, "generic"),
        (BOT, {}, ""),
        (BOT, {"opponents": "people"}, "noBot"),
        ({}, {"opponents": "people"}, ""),
        ({}, {"opponents": "bots"}, "onlyBot"),
        (BOT, {"opponents": "bots"}, ""),
        ({"variant": {"key": "chess960"}}, {}, ""),
        ({"variant": {"key": "chess960"}}, {"variants": ("standard",)}, "variant"),
        ({"variant": {"key": "atomic"}}, {}, "variant"),
        ({"variant": {"key": "somethingNew"}}, {}, "variant"),
        ({**FROM_POSITION, "initialFen": "8/8/8/8/8/8/8/8 w - - 0 1"}, {}, "variant"),
        ({**FROM_POSITION, "initialFen": ENDING}, {"positions": "any"}, ""),
        ({**FROM_POSITION, "initialFen": OVER}, {"positions": "any"}, "variant"),
        ({**FROM_POSITION, "initialFen": ENDING}, {}, "variant"),
        ({**FROM_POSITION, "initialFen": MINE_COMPLETE}, {}, "variant"),  # the opponent's queen
        (odds("queen", color="random"), {}, "variant"),
        (odds("queen", color="random", finalColor="black", **rating(1499)), {}, ""),
        (odds("queen", **rating(1499)), {}, ""),
        (odds("queen", "black", **rating(1499)), {}, ""),
        (odds("queen", **rating(1500)), {}, "variant"),
        (odds("rook", **rating(1999)), {}, ""),
        (odds("rook", **rating(2000)), {}, "variant"),
        (odds("rook", **rating(2000)), {"odds_rook": 2100}, ""),
        (odds("knight", **rating(2499)), {}, ""),
        (odds("bishop", **rating(2500)), {}, "variant"),
        (odds("pawn", **rating(2999)), {}, ""),
        (odds("pawn", **rating(3000)), {}, "variant"),
        (odds("pawn", **rating(None)), {}, "variant"),
        (odds("pawn", initialFen=TWO_PAWNS, **rating(2849)), {}, ""),
        (odds("pawn", initialFen=TWO_PAWNS, **rating(2850)), {}, "variant"),
        (odds("knight"), {"modes": "rated"}, ""),  # such games are never rated
        ({"rated": False}, {"modes": "rated"}, "rated"),
        ({"rated": False}, {"modes": "casual"}, ""),
        ({}, {"modes": "casual"}, "casual"),
        (NO_CLOCK, {}, "timeControl"),
        ({"timeControl": {"type": "unlimited"}}, {}, "timeControl"),
        (clock(60, 0), {}, ""),
        (clock(59, 0), {}, "tooFast"),
        (clock(0, 1), {}, ""),
        (clock(30, 1), {"min_base": 60}, "tooFast"),
        (clock(180, 2), {"min_increment": 3}, "tooFast"),
        (clock(900, 10), {}, ""),
        (clock(901, 0), {}, "tooSlow"),
        (clock(300, 11), {}, "tooSlow"),
        ({"speed": "ultraBullet"}, {}, "timeControl"),
        ({}, {"speeds": ("rapid",)}, "timeControl"),
        (rating(1400), {"min_rating": 1500}, "generic"),
        (rating(2400), {"max_rating": 2300}, "generic"),
        (rating(None), {}, ""),
        (rating(None), {"min_rating": 1}, "generic"),
        ({}, {"allowed": ("Ben",)}, "generic"),
        ({}, {"allowed": ("Ben", "ANN")}, ""),
    ],
)  # fmt: skip
def test_challenges(changes: dict[str, Any], settings: dict[str, Any], reason: str) -> None:
    assert verdict(changes, settings) == reason


def test_a_busy_bot_and_one_that_stops_say_later() -> None:
    assert verdict({}, {}, Workload(games=1)) == "later"
    assert verdict({}, {"games": 2}, Workload(games=1)) == ""
    assert verdict({}, {"games": 2}, Workload(stopping=True)) == "later"


def test_slots_are_kept_for_people() -> None:
    bot, settings = {"challenger": {"title": "BOT"}}, {"games": 3, "people_slots": 2}
    assert verdict(bot, settings) == ""
    assert verdict(bot, settings, Workload(games=1)) == "later"
    assert verdict({}, settings, Workload(games=2)) == ""
    with pytest.raises(ConfigError, match="people_slots"):
        Lichess(challenge=True, games=2, people_slots=2)


def test_a_player_gets_so_many_games() -> None:
    now = Workload(games=1, opponents=("ann",), played=("ann", "ben", "ann"))
    for settings, reason in (
        ({"games": 9, "games_per_opponent": 1}, "later"),
        ({"games": 9, "games_per_opponent": 2}, ""),
        ({"games": 9, "games_a_day": 2}, "later"),
        ({"games": 9, "games_a_day": 3}, ""),
        ({"games": 9}, ""),
    ):
        assert verdict({}, settings, now) == reason, settings
        assert verdict({"challenger": {"id": "Cleo"}}, settings, now) == ""


def test_correspondence_is_beside_the_games_with_clocks() -> None:
    settings = {"correspondence": 2, "max_days": 5, "speeds": ("bullet",), "min_base": 60}
    assert verdict(NO_CLOCK, settings, Workload(games=9, correspondence=1)) == ""
    assert verdict(NO_CLOCK, settings, Workload(correspondence=2)) == "later"
    assert verdict(NO_CLOCK, {**settings, "max_days": 2}) == "timeControl"
    assert verdict(NO_CLOCK, {**settings, "min_days": 4}) == "timeControl"
    assert verdict({}, {"correspondence": 2}, Workload(correspondence=2)) == ""
    bot = {**NO_CLOCK, "challenger": {"title": "BOT"}}
    assert verdict(bot, {**settings, "people_slots": 1}, Workload(games=1)) == ""


def test_the_page_has_every_rule_and_setting() -> None:
    page = (Path(__file__).parents[3] / "docs" / "lichess.md").read_text(encoding="utf-8")
    assert [rule.name for rule in RULES if f"| {rule.name} | `{rule.reason}` |" not in page] == []
    names = Lichess.__dataclass_fields__
    assert [name for name in names if f"`{name}`" not in page] == []


# --- odds -----------------------------------------------------------------------------------------


def test_odds_positions_are_those_of_python_chess() -> None:
    for piece, files in ODDS_FILES.items():
        starts = odds_starts(piece)
        assert len(set(starts)) == 2 * len(files)
        for number, fen in enumerate(starts):
            board = chess.Board(fen)
            assert board.is_valid()
            assert odds_in(fen, ("white", "black")[number % 2]) == piece
            assert odds_in(fen, ("black", "white")[number % 2]) == ""
    assert odds_in(chess.STARTING_FEN, "white") == "none"
    assert odds_in(chess.STARTING_FEN.replace(" w ", " b "), "white") == ""


# --- time -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "kept"),
    [(100, 50), (400, 200), (1000, 250), (25_000, 250), (60_000, 600), (900_000, 1500)],
)
def test_buffers_for_the_network(left: float, kept: float) -> None:
    assert kept_back(left, Lichess()) == kept


def test_what_moves_cost_besides_is_kept_back() -> None:
    assert [kept_back(10_000, Lichess(), lag) for lag in (0, 50, 1000)] == [250, 1250, 4250]
    lag = Lag()
    lag.begin(60_000)
    lag.send()
    lag.charge(60_000 + 2000 - 1000, 2000)
    assert 400 < lag.average <= 500
    lag.charge(60_000 - 100_000, 2000)
    assert 1000 < lag.average <= 1250


def test_limits_of_a_move() -> None:
    state = State("", 60_000, 30_000, "started", winc=2000, binc=2000)
    limits = limits_of(state, 10, "white", Lichess(), spent=100)
    assert (limits.wtime, limits.btime) == (59_900 - 599, 30_000)
    assert (limits.winc, limits.binc) == (1900, 1900)
    first = limits_of(state, 1, "black", Lichess())
    assert (first.movetime, first.btime) == ((30_000 - 300) // 20, None)
    assert limits_of(State("", 900_000, 0, "started"), 0, "white", Lichess()).movetime == 10_000
    assert limits_of(state, 10, "white", Lichess(), timed=False).movetime == 60_000
    late = limits_of(State("", 50, 1, "started"), 40, "white", Lichess(nodes=800), spent=500)
    assert (late.wtime, late.nodes) == (1, 800)


# --- resigning and draws --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "at_odds", "expected"),
    [
        ([-1000] * 4, False, True),
        ([-1000] * 4, True, False),
        ([-1000] * 3, False, False),
        ([-1000, -1000, -999, -1000], False, False),
        ([50, -30_000, -30_000, -30_000, -30_000], False, True),
    ],
)
def test_resigning(scores: list[int], at_odds: bool, expected: bool) -> None:
    assert gives_up(scores, Lichess(), at_odds) is expected
    assert not gives_up(scores, Lichess(resign=False), at_odds)


EARLY, LATE = Board(), Board("4k3/8/8/8/8/8/8/4K2R w - - 0 35")


@pytest.mark.parametrize(
    ("scores", "board", "offers", "takes"),
    [
        ([0] * 8, LATE, True, True),
        ([0] * 8, EARLY, False, False),
        ([0] * 7, LATE, False, True),
        ([0, 0, 11, 0, 0, 0, 0, 0], LATE, False, True),
        ([-500] * 8, LATE, False, True),
        ([0] * 7 + [11], LATE, False, False),
        ([0, 0], LATE, False, False),
    ],
)
def test_draw_offers(scores: list[int], board: Board, offers: bool, takes: bool) -> None:
    assert offers_draw(scores, board, Lichess()) is offers
    assert takes_draw(scores, board, Lichess()) is takes
    assert not offers_draw(scores, board, Lichess(draws=False))
    assert not takes_draw(scores, board, Lichess(draws=False))


# --- challenges of its own ------------------------------------------------------------------------

RATINGS = {"bullet": 1900, "blitz": 1900, "rapid": 1900}


@pytest.mark.parametrize(
    ("reason", "same", "other_clock", "other_mode", "much_later"),
    [
        ("generic", False, False, False, True),
        ("later", False, False, False, True),
        ("tooFast", False, True, False, False),
        ("tooSlow", False, True, False, False),
        ("timeControl", False, True, False, False),
        ("rated", False, False, True, False),
        ("casual", False, False, True, False),
        ("standard", False, False, False, False),
        ("variant", False, False, False, False),
        ("noBot", False, False, False, False),
        ("onlyBot", False, False, False, False),
        ("somethingNew", False, False, False, True),
    ],
)
def test_what_is_learned_from_a_no(
    reason: str, same: bool, other_clock: bool, other_mode: bool, much_later: bool
) -> None:
    memory, offer = Memory(), Offer("Bo", Clock(60, 0), True)
    assert memory.allows(offer, 0.0)
    memory.learn(offer, reason, 0.0)
    assert memory.allows(offer, 1.0) is same
    assert memory.allows(offer._replace(clock=Clock(300, 0)), 1.0) is other_clock
    assert memory.allows(offer._replace(rated=False), 1.0) is other_mode
    assert memory.allows(offer, LATER_SECONDS + 1.0) is much_later
    assert memory.allows(offer._replace(name="Cy"), 1.0)
    assert len(LESSONS) == 11


def test_whom_it_challenges() -> None:
    bots = [
        OnlineBot("weak", dict.fromkeys(RATINGS, Perf(1799))),
        OnlineBot("KibitzBot", dict.fromkeys(RATINGS, Perf(3000))),
        OnlineBot("blocked", dict.fromkeys(RATINGS, Perf(3000))),
        OnlineBot("half", dict.fromkeys(RATINGS, Perf(1800))),
        OnlineBot("strong", dict.fromkeys(RATINGS, Perf(3600))),
    ]
    settings, generator = Lichess(challenge=True, blocked=("Blocked",)), random.Random(1)
    offers = [choose(bots, "kibitzbot", settings, Memory(), 0.0, generator) for _ in range(2000)]
    names = [offer.name for offer in offers if offer is not None]
    assert {*names} == {"half", "strong"}
    assert 0.15 < names.count("half") / len(names) < 0.25  # (1/2)^2 against 1
    assert {offer.clock for offer in offers if offer is not None} == {*settings.clocks}
    assert choose(bots[:2], "kibitzbot", settings, Memory(), 0.0, generator) is None


def test_it_challenges_bots_of_its_own_strength() -> None:
    ratings = {"Me": 2000, "Near": 2090, "Far": 2200, "Weak": 1895, "Foe": 2010}
    bots = [OnlineBot(name, {"blitz": Perf(rating)}) for name, rating in ratings.items()]
    settings = Lichess(
        challenge_clocks=("180+0",), challenge_within=100, challenge_blocked=("foe",)
    )

    def chosen(those: list[OnlineBot]) -> set[str]:
        dice, names = random.Random(1), set[str]()
        for _ in range(50):
            offer = choose(those, "me", settings, Memory(), 0.0, dice)
            assert offer is not None
            names.add(offer.name)
        return names

    assert chosen(bots) == {"Near"}
    assert chosen(bots[1:]) == {"Near", "Far", "Weak"}  # its own rating is not known


def test_speeds_are_lichess() -> None:
    """Its limits on seconds and forty increments: 180, 480, 1500."""
    known = {(60, 0): "bullet", (120, 1): "bullet", (180, 0): "blitz", (300, 3): "blitz"}
    known |= {(480, 0): "rapid", (900, 10): "rapid", (1500, 0): "classical"}
    assert {one: speed_of(Clock(*one)) for one in known} == known


# --- settings -------------------------------------------------------------------------------------


def test_settings_of_the_command_line() -> None:
    settings = lichess_settings(["games=2", 'variants=["chess960"]', "greeting=Hello"])
    assert (settings.games, settings.variants, settings.greeting) == (2, ("chess960",), "Hello")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("game=2", "did you mean 'games'"),
        ("games=0", "at least 1"),
        ('variants=["atomic"]', "expected one of 'standard'"),
        ("min_base=1000", "lichess: min_base: 1000; give max_base at least as much"),
        ("buffer_most=10", "lichess: buffer_least: 250; give buffer_most at least as much"),
        ("challenge_max_rating=5", "lichess: challenge_min_rating: 1800; give challenge_max"),
        ('challenge_clocks=["3 minutes"]', "seconds+increment, such as 180+2"),
        ('odds_options=["ScLimt=28"]', "did you mean 'ScLimit'"),
        ('odds_options=["ScLimit"]', "NAME=VALUE"),
        ('mistakes="always"\nstrength="opponent"', 'give strength = "full"'),
    ],
)
def test_wrong_settings(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=r"lichess|command line") as caught:
        lichess_settings(text.splitlines())
    assert message in str(caught.value)
