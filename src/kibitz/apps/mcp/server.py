"""The server: tools and resources on the SDK's server, over standard input and output or HTTP.

    a client's call -> **server** -> `calls` -> `searches`, `lookups`

A call is carried out on a thread. Its progress is told a few times a second; a client that cancels
it, or goes away, ends its searches. What is wrong with a call is told in a sentence that names the
value and what helps; a mistake of the program itself is told on standard error only.
"""

from __future__ import annotations

import hmac
import re
import signal
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import mcp_types as types
import msgspec
import uvicorn
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from kibitz import __version__
from kibitz.apps.http import AT_ONCE, Address, PatientProtocol, listen
from kibitz.apps.mcp import lookups
from kibitz.apps.mcp.calls import Call, Engines, Picture, Shelf, Tool
from kibitz.apps.mcp.lookups import (
    DrawPosition,
    FindPuzzles,
    GetPuzzle,
    NameOpening,
    OpeningTree,
    Repertoire,
)
from kibitz.apps.mcp.searches import (
    AnalyseGame,
    AnalysePosition,
    AnnotateGame,
    CheckText,
    ExplainMove,
    HumanMoves,
)
from kibitz.apps.web.library import MISTAKE, names_only
from kibitz.comment.batch import Stopped
from kibitz.core.errors import InputError, KibitzError, did_you_mean
from kibitz.core.log import say

MOST_CALLS = 16  # that are carried out or wait, of all clients
MOST_SECONDS = 300.0  # of a call
PROGRESS_SECONDS = 0.25  # between two words about it
LARGEST_REQUEST = 1 << 20  # bytes of a request over HTTP
MOST_SESSIONS, IDLE_SECONDS = 64, 1800.0
PATH = "/mcp"
PLACE = re.compile(r"(https?://)?(\[[^\]]*\]|[^:]*)(:\d+)?")  # a machine, perhaps with a port
TOOLS: dict[str, type[Tool]] = {
    tool.title(): tool
    for tool in (
        *(AnalysePosition, ExplainMove, CheckText, HumanMoves, AnalyseGame, AnnotateGame),
        *(NameOpening, OpeningTree, Repertoire, DrawPosition, GetPuzzle, FindPuzzles),
    )
}
INSTRUCTIONS = """\
Kibitz is a chess engine that explains. It proves what it says; language models often err about
chess. So: take evaluations and moves from analyse_position, reasons from explain_move, and give
your own sentences about a position to check_text before the user sees them; leave out or correct
what is false. Scores are in pawns for White where nothing else is said."""
Made = TypeVar("Made")
Context = ServerRequestContext[Any, Any]

# --- tools and their arguments --------------------------------------------------------------------


def schema_of(tool: type[Tool]) -> dict[str, Any]:
    """What arguments a tool takes, as JSON Schema."""
    whole = msgspec.json.schema(tool)
    own: dict[str, Any] = whole["$defs"][tool.__name__]
    return {name: value for name, value in own.items() if name not in ("title", "description")}


def listed(name: str, tool: type[Tool]) -> types.Tool:
    """A tool as clients see it."""
    lines = (tool.__doc__ or "").strip().splitlines()
    return types.Tool(
        name=name,
        description=" ".join(" ".join(lines).split()),
        input_schema=schema_of(tool),
        annotations=types.ToolAnnotations(read_only_hint=True, open_world_hint=False),
    )


def read_arguments(tool: type[Tool], arguments: dict[str, Any]) -> Tool:
    """A call's arguments, checked; numbers may be written as texts."""
    try:
        return msgspec.convert(arguments, tool, strict=False)
    except msgspec.ValidationError as error:
        raise _refused(str(error), schema_of(tool)["properties"], arguments) from error


def _refused(reason: str, schemas: dict[str, Any], arguments: dict[str, Any]) -> InputError:
    """What is wrong with arguments: the name, the value and what is expected."""
    what, _, place = reason.partition(" - at `$.")
    named = re.search(r"field `(.*)`", what, re.DOTALL)
    if "unknown field" in what and named:
        return InputError("no such argument", value=named[1], fix=did_you_mean(named[1], schemas))
    if "required field" in what and named:
        description = schemas[named[1]].get("description", "") if named[1] in schemas else ""
        return InputError("an argument is missing", value=named[1], fix=description or "give it")
    name = re.split(r"[.\[`]", place, maxsplit=1)[0]
    return InputError(
        name or "arguments", value=arguments.get(name), fix=_expected(what, schemas.get(name, {}))
    )


def _expected(what: str, schema: dict[str, Any]) -> str:
    """What an argument may be."""
    if "enum" in schema:
        return f"expected one of {', '.join(map(str, schema['enum']))}"
    limits = [schema[name] for name in ("minimum", "maximum") if name in schema]
    if len(limits) == 2:
        return f"expected a number from {limits[0]:,} to {limits[1]:,}"
    return what[:1].lower() + what[1:]


# --- calls ----------------------------------------------------------------------------------------


class Service:
    """What all clients share: the engines, what may be read, and the SDK's server."""

    def __init__(self, engines: Engines, shelf: Shelf) -> None:
        self.engines, self.shelf, self._open = engines, shelf, 0
        self._threads = anyio.CapacityLimiter(MOST_CALLS)
        self.server = Server(
            "kibitz",
            version=__version__,
            title="Kibitz",
            instructions=" ".join(INSTRUCTIONS.split()),
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
        )

    async def _list_tools(
        self, _: Context, __: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[listed(*entry) for entry in TOOLS.items()])

    async def _call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        if params.name not in TOOLS:
            error = InputError(
                "no such tool", value=params.name, fix=did_you_mean(params.name, TOOLS)
            )
            raise MCPError(types.INVALID_PARAMS, str(error))
        try:
            tool = read_arguments(TOOLS[params.name], params.arguments or {})
            answer = await self._carried_out(context, lambda call: tool.answer(call, self.shelf))
        except KibitzError as error:
            text = types.TextContent(text=names_only(error))
            return types.CallToolResult(content=[text], is_error=True)
        return _result(answer)

    async def _carried_out(self, context: Context, work: Callable[[Call], Made]) -> Made:
        """The result of work on a thread; it ends when the client cancels, or takes too long."""
        if self._open >= MOST_CALLS:
            raise InputError(f"{self._open} calls are under way", fix="wait for one to end")
        call, outcomes = Call(self.engines), list[Made | KibitzError]()
        self._open += 1
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(_tell_progress, context, call)
                with anyio.move_on_after(MOST_SECONDS):
                    outcomes.append(
                        await anyio.to_thread.run_sync(
                            _outcome, work, call, abandon_on_cancel=True, limiter=self._threads
                        )
                    )
                group.cancel_scope.cancel()
        finally:
            self._open -= 1
            call.cancel()
        if not outcomes:
            what = f"stopped after {MOST_SECONDS:.0f} seconds"
            raise InputError(what, fix="ask for fewer nodes, or give a shorter game")
        if isinstance(outcomes[0], KibitzError):
            raise outcomes[0]
        return outcomes[0]

    # --- resources ------------------------------------------------------------------------------

    async def _list_resources(
        self, _: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        cursor = (params and params.cursor) or "0"
        if not (cursor.isascii() and cursor.isdecimal() and len(cursor) < 10):
            error = InputError("no place in the list", value=cursor, fix="begin without a cursor")
            raise MCPError(types.INVALID_PARAMS, str(error))
        start = int(cursor)
        try:
            rows = await anyio.to_thread.run_sync(lookups.listed, self.shelf, start)
        except KibitzError as error:
            raise MCPError(types.INTERNAL_ERROR, names_only(error)) from error
        return types.ListResourcesResult(
            resources=[
                types.Resource(uri=uri, name=title, mime_type=lookups.KIND) for uri, title in rows
            ],
            next_cursor=str(start + lookups.PAGE) if len(rows) == lookups.PAGE else None,
        )

    async def _list_templates(
        self, _: Context, __: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            uri_template=lookups.TEMPLATE,
            name="annotated game",
            description="One of the user's own games that were analysed, annotated, as PGN.",
            mime_type=lookups.KIND,
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def _read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)

        def work(call: Call) -> str:
            return lookups.annotated_game(call, self.shelf, uri)

        try:
            text = await self._carried_out(context, work)
        except KibitzError as error:
            raise MCPError(types.INVALID_PARAMS, names_only(error)) from error
        contents = types.TextResourceContents(uri=uri, mime_type=lookups.KIND, text=text)
        return types.ReadResourceResult(contents=[contents])


def _outcome(work: Callable[[Call], Made], call: Call) -> Made | KibitzError:
    """The result of work, or what is wrong; an error of the program is shown only in the log."""
    try:
        return work(call)
    except KibitzError as error:
        return error
    except Stopped:
        return InputError("the call was cancelled")
    except Exception:  # noqa: BLE001 - whatever it is, clients see no traceback
        say(traceback.format_exc())
        return KibitzError(MISTAKE)


async def _tell_progress(context: Context, call: Call) -> None:
    """Report the progress of a call to a client that asked for it."""
    last = call.progress
    while True:
        await anyio.sleep(PROGRESS_SECONDS)
        now = call.progress
        if now != last:
            last = now
            await context.session.report_progress(now.done, now.total, now.message or None)


def _result(answer: dict[str, Any] | Picture) -> types.CallToolResult:
    if isinstance(answer, Picture):
        picture = types.TextResourceContents(
            uri="kibitz://picture", mime_type=answer.kind, text=answer.text
        )
        return types.CallToolResult(content=[types.EmbeddedResource(resource=picture)])
    text = msgspec.json.encode(answer).decode()
    return types.CallToolResult(
        content=[types.TextContent(text=text)], structured_content=msgspec.json.decode(text)
    )


# --- transports -----------------------------------------------------------------------------------


def serve_lines(service: Service) -> None:
    """Serve one client on standard input and output until it ends them."""

    async def run() -> None:
        async with stdio_server() as (reading, writing):
            server = service.server
            await server.run(reading, writing, server.create_initialization_options())

    # What waits for a line cannot be interrupted: Ctrl-C ends the process, which saves nothing.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _warm(service)
    try:
        anyio.run(run)
    except* (BrokenPipeError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        # The client no longer reads: an end as any other, also for answers on their way.
        raise BrokenPipeError from None
    finally:
        service.engines.close()


class Bearer:
    """Lets requests with the token through that name a place as places are; refuses all others."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._wanted = app, f"bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, then pass it on."""
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            scheme, _, token = headers.get("authorization", "").partition(" ")
            header = f"{scheme.lower()} {token.strip()}".encode()
            if not hmac.compare_digest(header, self._wanted):
                text = "This server needs its token: the header Authorization: Bearer TOKEN."
                refusal = PlainTextResponse(text, 401, {"WWW-Authenticate": "Bearer"})
                await refusal(scope, receive, send)
                return
            # The SDK lets anything follow the colon behind the name of a machine.
            for name in ("Host", "Origin"):
                if not PLACE.fullmatch(headers.get(name, "")):
                    await PlainTextResponse(f"Invalid {name} header", 421)(scope, receive, send)
                    return
        await self._app(scope, receive, send)


def application(service: Service, address: Address) -> ASGIApp:
    """The server as an ASGI application; Host and Origin must name this machine."""
    own = {"localhost", "127.0.0.1", "[::1]", *address.names}
    own.add(f"[{address.host}]" if ":" in address.host else address.host)
    hosts = sorted(own - {"", "0.0.0.0", "[::]"})
    allowed = [f"{host}{port}" for host in hosts for port in ("", ":*")]
    security = TransportSecuritySettings(
        allowed_hosts=allowed,
        allowed_origins=[f"{scheme}://{host}" for scheme in ("http", "https") for host in allowed],
    )
    app = service.server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=LARGEST_REQUEST,
        session_idle_timeout=IDLE_SECONDS,
        max_sessions=MOST_SESSIONS,
        transport_security=security,
    )
    return Bearer(app, address.token)


def serve_http(service: Service, address: Address, on_start: Callable[[str], None]) -> None:
    """Serve clients over HTTP until Ctrl-C; `on_start` gets the URL once it answers."""
    listening = listen(address)
    config = uvicorn.Config(
        application(service, address),
        log_level="warning",
        access_log=False,
        server_header=False,
        http=PatientProtocol,
        ws="none",
        backlog=AT_ONCE,
        timeout_graceful_shutdown=2,
    )
    _warm(service)
    on_start(address._replace(token="").url(listening.getsockname()[1]).rstrip("/") + PATH)
    try:
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])
    finally:
        service.engines.close()


def _warm(service: Service) -> None:
    """Load the network and the kernels on a thread, before the first call needs them."""

    def load() -> None:
        with suppress(KibitzError), Call(service.engines).engine() as engine:
            engine.ready()

    threading.Thread(target=load, name="warm", daemon=True).start()
