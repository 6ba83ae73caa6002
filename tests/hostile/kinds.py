"""All kinds of hostile input. A new one, a protocol or its frames, is a module and a line here."""

from __future__ import annotations

from tests.hostile.commands import COMMAND_LINES
from tests.hostile.folders import FOLDERS
from tests.hostile.frames import FRAMES
from tests.hostile.kind import Kind
from tests.hostile.networks import NETWORKS
from tests.hostile.shards import SHARDS
from tests.hostile.states import STATES
from tests.hostile.texts import TEXTS
from tests.hostile.tools import MCP

KINDS: tuple[Kind, ...] = (COMMAND_LINES, FOLDERS, FRAMES, MCP, NETWORKS, SHARDS, STATES, TEXTS)
