"""What all tests share: how hypothesis looks for examples, files without today's date, messages."""

import gc
import os
import signal
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

from kibitz.core import log
from kibitz.core.workers import collect_seldom
from tests.comment.looks import SHORT_LOOKS

# 2000-01-01: the same work gives the same bytes whenever it is done, in processes of tests, too.
os.environ["SOURCE_DATE_EPOCH"] = "946684800"

# The width of whoever runs the tests, which readline hands on, is no width that a user names.
os.environ.pop("COLUMNS", None)

# Programs that tests start read the bytecode of their modules, also on a machine that keeps none:
# there each of hundreds of starts would translate all sources anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A job in the background of a shell ignores Ctrl-C, and so would every program that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline: the first example may compile a kernel, and speed is never asserted in a test.
# Derandomised: a failure on one machine is a failure on every machine.
settings.register_profile("kibitz", deadline=None, derandomize=True, max_examples=100)
settings.load_profile("kibitz")
collect_seldom()  # as programs do


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that have a tab of a browser are those of `-m browser`."""
    for item in items:
        if "tab" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)


def pytest_collection_finish() -> None:
    """Thousands of tests are no garbage, and need not be looked through each time."""
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def usual_messages() -> Iterator[None]:
    """A command with --quiet in one file of tests does not silence the next file."""
    before = log.level()
    yield
    log.set_level(before)


@pytest.fixture(scope="module")
def short_looks() -> Iterator[None]:
    """Looks that confirm words take a twentieth of their nodes, where words are not judged."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SHORT_LOOKS.items():
            patch.setattr(name, value)
        yield
