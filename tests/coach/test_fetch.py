"""Games fetched by name from stand-ins of Lichess and chess.com that cut, limit and refuse."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kibitz.cli import main
from kibitz.coach.database import BLACK, WHITE, Database
from kibitz.coach.fetch import Fetching, account_of
from kibitz.coach.games import Added, Wanted
from kibitz.core.downloads import FetchError
from kibitz.core.errors import ConfigError, InputError
from kibitz.core.log import Bar, Stop
from tests.coach.stand_in import APART, CLOSED, FIRST, NAME, StandIn, game_of, month_game

DAY = 86_400


@pytest.fixture
def site() -> Iterator[StandIn]:
    server = StandIn()
    yield server
    server.close()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "games.db")
    yield opened
    opened.close()


class Run:
    """A run of fetching, with what it waited for and when it stops."""

    def __init__(
        self,
        site: StandIn,
        database: Database,
        stop_after: int | None = None,
        gives_up: bool = False,
    ) -> None:
        self.site, self.database = site, database
        self.added, self.waits, self.stop = Added(), list[float](), Stop()
        self._left, self._gives_up = stop_after, gives_up

    def _seen(self, count: float) -> None:
        if self._left is not None:
            self._left -= int(count)
            if self._left <= 0:
                self.stop.request()

    def _pause(self, failures: int, after: float) -> None:
        if failures:
            self.waits.append(after)
            if self._gives_up and after:
                raise KeyboardInterrupt

    def __call__(self, source: str = f"lichess:{NAME}", **wanted: Any) -> Added:
        account = account_of(source, self.site.url)
        assert account is not None
        bar = Bar(self._seen, lambda _: None)
        choice = Wanted(**wanted)
        Fetching(account, self.database, choice, self.stop, bar, self.added, self._pause).run()
        return self.added


def ids(database: Database) -> list[str]:
    return [name for (name,) in database.rows("SELECT site_id FROM games ORDER BY site_id")]


def test_two_thousand_games_in_a_run_that_is_interrupted_five_times(tmp_path: Path) -> None:
    site, path = StandIn(2000), tmp_path / "games.db"
    try:
        interrupted(site, path, ["cut 230", "cut 60", "429", "hangs up"], stop_after=400)
        with pytest.raises(FetchError, match=r"503.*goes on from here"):
            interrupted(site, path, ["503"] * 5)
        interrupted(site, path, ["", "cut 3"], stop_after=600)
        with pytest.raises(KeyboardInterrupt):
            interrupted(site, path, ["", "cut 400", "429"], gives_up=True)
        kill_in_the_middle(site, path)
        database = Database(path)
        assert 900 < database.count("games") < 2000
        added = Run(site, database)()
        assert ids(database) == [f"{number:08d}" for number in range(2000)]
        assert 0 < added["new"] < 2000
        assert Run(site, database)()["new"] == 0
        sides = {game.site_id: game.side for _, game in database.games()}
        assert sides == {f"{n:08d}": WHITE if n % 3 else BLACK for n in range(2000)}
        database.close()
    finally:
        site.close()


def interrupted(site: StandIn, path: Path, answers: list[str], **how: Any) -> None:
    """Fetch games until something ends it, and see that those there are are there once."""
    site.answers[:] = answers
    database = Database(path)
    before = database.count("games")
    try:
        Run(site, database, **how)()
    finally:
        assert before <= database.count("games") == len(set(ids(database))) < 2000
        database.close()


def kill_in_the_middle(site: StandIn, path: Path) -> None:
    """Have a process of its own fetch games, and kill it when it has some new ones."""
    database = Database(path)
    before = database.count("games")
    site.answers[:] = ["", "cut 900", *["429"] * 4]  # it gets no further than a pause
    words = ["coach", "add", f"lichess:{NAME}", "--server", site.url, "--database", str(path)]
    process = subprocess.Popen([sys.executable, "-m", "kibitz", *words], stderr=subprocess.DEVNULL)
    while database.count("games") == before and process.poll() is None:
        time.sleep(0.02)
    process.kill()
    process.wait()
    assert database.count("games") > before
    database.close()


def test_only_what_is_new_is_asked_for(site: StandIn, database: Database) -> None:
    site.games = [game_of(number) for number in range(60)]
    slow = game_of(10, id="slowgame", speed="correspondence")
    assert Run(site, database)()["new"] == 60
    slow["pgn"] = slow["pgn"].replace("00000010", "slowgame")
    site.games += [game_of(60), slow]  # the second began long ago, and has ended now
    site.games.sort(key=lambda game: game["createdAt"])
    site.asked.clear()
    assert Run(site, database)()["new"] == 2
    (_, first, _), (_, second, _) = site.asked
    assert first["perfType"] == "correspondence"
    assert int(second["since"]) == 1000 * (FIRST + 59 * APART - DAY)


def test_limits_are_kept(site: StandIn, database: Database) -> None:
    site.games = [game_of(0)]
    site.answers[:], site.headers = ["429", "429"], {}
    run = Run(site, database)
    assert run()["new"] == 1
    assert run.waits == [60.0, 60.0]  # as Lichess asks of those whom it gives no number
    site.answers[:], site.headers = ["429"], {"Retry-After": "7"}
    run = Run(site, database)
    run()
    assert run.waits == [7.0]


def test_what_is_not_wanted_and_what_is_of_variants(site: StandIn, database: Database) -> None:
    site.games = [game_of(number) for number in range(12)]
    site.games += [game_of(12, variant="atomic"), game_of(13, moves="")]
    added = Run(site, database)(speeds=("blitz",), rated=True, since=FIRST + 3 * APART)
    assert {game.pace for _, game in database.games()} == {"blitz"}
    assert ids(database) == ["00000006", "00000010"]
    added = Run(site, database)()
    assert (added["new"], added["there already"], added["of a variant"]) == (10, 2, 1)
    assert added["without moves"] == 1


@pytest.mark.parametrize("source", ["lichess", "chesscom"])
def test_names_that_do_not_exist_and_closed_accounts(
    source: str, site: StandIn, database: Database
) -> None:
    with pytest.raises(FetchError, match=r"no player of this name: 'Nobody'; is it spelt"):
        Run(site, database)(f"{source}:Nobody")
    with pytest.raises(FetchError, match=r"is closed: 'Gone'; export"):
        Run(site, database)(f"{source}:{CLOSED}")
    with pytest.raises(InputError, match="no name that"):
        account_of(f"{source}:../etc/passwd")


def test_months_of_chess_com(site: StandIn, database: Database) -> None:
    now = time.gmtime()
    this = f"{now.tm_year}/{now.tm_mon:02d}"
    site.months = {"2023/11": [month_game(number) for number in range(40)], this: []}
    site.months["2023/11"].append(month_game(40) | {"rules": "bughouse"})
    site.months["2023/11"].append({"url": 7})
    source = f"chesscom:{NAME}"
    site.answers[:] = ["", "429", "hangs up"]
    run = Run(site, database)
    added = run(source)
    assert (added["new"], added["of a variant"], added["not readable"]) == (40, 1, 1)
    assert run.waits == [60.0, 0.0]
    assert {game.site for _, game in database.games()} == {"chesscom"}
    assert all(f"live/{number}" in ids(database) for number in range(40))
    site.asked.clear()
    site.months[this] = [month_game(41)]
    assert Run(site, database)(source)["new"] == 1
    assert [path.rsplit("games/", 1)[1] for path, _, _ in site.asked] == ["archives", this]
    assert site.asked[-1][2]["If-None-Match"]
    site.asked.clear()
    assert Run(site, database)(source)["new"] == 0  # 304
    assert len(site.asked) == 2


def test_what_a_server_sends_instead_of_games(site: StandIn, database: Database) -> None:
    site.months = {"2023/11": []}
    site.months["2023/11"] = {"a": 1}  # type: ignore[assignment]
    with pytest.raises(FetchError, match="an answer that makes no sense"):
        Run(site, database)(f"chesscom:{NAME}")
    site.games = [game_of(0, pgn='[White "Anna"]\n\n1. e5 e4 1-0\n'), game_of(1)]
    added = Run(site, database)()
    assert (added["new"], added["not readable"]) == (1, 1)


def test_the_token_is_sent_and_never_shown(
    site: StandIn, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LICHESS_TOKEN", "lip_secretsecret")
    site.games = [game_of(0)]
    Run(site, database)()
    assert site.asked[0][2]["Authorization"] == "Bearer lip_secretsecret"
    site.answers[:] = ["401"]
    with pytest.raises(FetchError, match="refuses the token") as refused:
        Run(site, database)()
    assert "secret" not in str(refused.value)
    monkeypatch.setenv("LICHESS_TOKEN", "lip secret\nX: y")
    with pytest.raises(ConfigError, match="not a token: there are blanks in it") as wrong:
        Run(site, database)()
    assert "secret" not in str(wrong.value)


def test_the_command(site: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site.games = [game_of(number) for number in range(3)]
    path = tmp_path / "games.db"
    words = ["coach", "add", f"lichess:{NAME}", "--server", site.url, "--database", str(path)]
    assert main([*words, "--json"]) == 0
    assert '"new": 3' in capsys.readouterr().out
    pgn = tmp_path / "all.pgn"
    assert main(["coach", "export", str(pgn), "--database", str(path)]) == 0
    assert main(["coach", "add", str(pgn), "--database", str(path), "--json"]) == 0
    assert '"there_already": 3' in capsys.readouterr().out  # the same games, by their addresses


@pytest.mark.parametrize(
    "server", ["nonsense", "ftp://x", "file:///etc/passwd", "http://", "http://a b"]
)
def test_a_server_that_is_no_address(server: str) -> None:
    with pytest.raises(InputError, match="--server: no address of a site"):
        account_of(f"lichess:{NAME}", server)


def test_why_there_is_no_answer(database: Database) -> None:
    account = account_of(f"lichess:{NAME}", "http://127.0.0.1:1")  # nobody listens there
    assert account is not None
    with pytest.raises(FetchError, match=r"no answer after 5 tries \(Connection refused\)"):
        Fetching(
            account, database, Wanted(), Stop(), Bar(print, print), Added(), lambda *_: None
        ).run()
