"""Work on a thread of its own that `stop` ends: a search, a count, a bench.

Session.start -> **Job** -> lines on the channel
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from kibitz.search.limits import Signals


class Job:
    """The work, its thread, and what others have to say to it."""

    def __init__(
        self, work: Callable[[Job], None], signals: Signals, endless: Callable[[], bool]
    ) -> None:
        self.signals, self.endless = signals, endless
        self.answered = False  # what remains to be done is no search any more
        self.thread = threading.Thread(target=work, args=(self,), name="uci job")
        self.thread.start()

    @property
    def busy(self) -> bool:
        """Whether it goes on, and nobody has told it to stop."""
        return self.thread.is_alive() and not self.answered and not self.signals.stop.is_set()
