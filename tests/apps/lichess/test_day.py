"""A short day of the bot against a stand-in of Lichess on which everything goes wrong that can."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.apps.lichess.day import WEATHER, play_day


@pytest.mark.slow
def test_a_short_day(tmp_path: Path) -> None:
    """The command is killed, interrupted and left without a token: no game hangs or is flagged."""
    day = play_day(tmp_path, games=6, seed=1, nodes=12, short=True)
    assert (day.hung, day.server.flagged, day.server.illegal, day.bot.failures) == ([], [], [], [])
    assert len(day.server.games) >= 6
    assert {kind for kind in WEATHER if day.server.count[f"day: {kind}"]} == {*WEATHER}
    assert day.bot.starts >= 3
