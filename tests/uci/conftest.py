"""What the tests of the protocol share: a GUI that speaks with a session."""

from collections.abc import Iterator

import pytest

from tests.uci.scripted import Gui


@pytest.fixture
def gui() -> Iterator[Gui]:
    with Gui() as speaking:
        speaking.say("setoption name Hash value 16")
        yield speaking
