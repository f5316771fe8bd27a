"""The connection to one MCP server, supervised: opened when used, and opened again when dead.

ADK's `MCPSessionManager` is kept for what it knows about transports. Its life cycle is replaced: it
opens a connection inside the caller's task, so that a turn which is cancelled while a server starts
leaves the process behind for ever, and has one time-out for connecting and for calls.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, TextIO, TypeVar

from google.adk.tools.mcp_tool.mcp_session_manager import MCPSessionManager
from mcp import ClientSession, MCPError
from mcp.types import CONNECTION_CLOSED, INVALID_REQUEST, PaginatedRequestParams, Tool

from oda.config import AnyMcpServerRecord
from oda.errors import UnavailableError
from oda.tools.mcp_link import Link
from oda.tools.mcp_parameters import connection_params
from oda.tools.mcp_pins import McpPins, Reviewed

T = TypeVar("T")

LIST_AGE_S: Final = 300.0
"""A server that changes its tools should say so; if it does not, they are read again after this."""


class OutcomeUnknownError(UnavailableError):
    """Raised when a request was sent and no answer came: it may have had its effect."""


def restart_delay_s(failures: int) -> float:
    """The wait before the next attempt, after so many failed ones in a row."""
    return min(30.0, 2.0 ** (failures - 1))


class Connection(MCPSessionManager):
    """A connection that its users need not care for; belongs to one event loop."""

    def __init__(
        self,
        server: str,
        record: AnyMcpServerRecord,
        *,
        environ: Mapping[str, str],
        clock: Callable[[], float],
        admit: Callable[[], None],
        pins: McpPins | None = None,
    ) -> None:
        """`admit` is called before the connection is opened, and raises to prevent it. Without
        `pins`, tools are offered without review of their descriptions.

        Raises:
            ConfigurationError: when a variable that the record refers to is not set.
        """
        super().__init__(connection_params(server, record, environ), errlog=_stderr())
        self.server = server
        self.record = record
        self.last_used = clock()
        self.known_tools: Sequence[Tool] | None = None
        """As the server listed them last, perhaps in an earlier life."""
        self._clock = clock
        self._admit = admit
        self._pins = pins if record.pinned else None
        self._link: Link | None = None
        self._requests = 0
        self._retired: str | None = None

    @property
    def live(self) -> bool:
        """Whether a process, or a session on a server, exists."""
        return self._link is not None and not self._link.ended

    @property
    def idle(self) -> bool:
        """Whether no request is running."""
        return self._requests == 0

    async def create_session(self, headers: dict[str, str] | None = None) -> ClientSession:
        """The open session; this is what ADK's tool asks its session manager for.

        Raises:
            UnavailableError: when it cannot be opened.
        """
        _, session = await self._open()
        return session

    async def tools(self, *, fresh: bool = False) -> Sequence[Tool]:
        """The server's tools; `fresh` asks the server even if it has been asked before.

        Raises:
            UnavailableError: when they cannot be listed.
        """
        link, _ = await self._open()
        if link.tools is None or fresh or self._clock() - link.listed_at > LIST_AGE_S:
            try:
                tools = await self.request(_all_tools, limit_s=self.record.connect_timeout_s)
            except (MCPError, ValueError, RuntimeError) as error:  # refused, or not understood
                reason = str(error).splitlines()[0]
                raise self._unavailable(f"it does not list its tools: {reason}") from error
            link.tools, link.listed_at = tools, self._clock()
            self.known_tools = tools
        return link.tools

    async def reviewed(self, tools: Sequence[Tool]) -> Reviewed:
        """Separate the tools of the server from those with unapproved changes.

        Raises:
            ConfigurationError: the approved descriptions cannot be read.
        """
        return Reviewed(tools) if not self._pins else await self._pins.review(self.server, tools)

    async def request(self, send: Callable[[ClientSession], Awaitable[T]], *, limit_s: float) -> T:
        """Await `send`, which makes requests on the session, for at most `limit_s`.

        Raises:
            OutcomeUnknownError: when no answer came.
            UnavailableError: when the server could not be asked.
            MCPError: when the answer is an error.
        """
        link, session = await self._open()
        try:
            return await self._request(link, session, send, limit_s)
        except MCPError as error:
            if error.code != INVALID_REQUEST:
                raise
            link.doubt()
            if await link.settled() is not None:
                raise
        # A restarted HTTP server refuses what belongs to a session that it does not know.
        link, session = await self._open()
        return await self._request(link, session, send, limit_s)

    async def _request(
        self,
        link: Link,
        session: ClientSession,
        send: Callable[[ClientSession], Awaitable[T]],
        limit_s: float,
    ) -> T:
        self._requests += 1
        try:
            async with asyncio.timeout(limit_s) as limit:
                return await send(session)
        except TimeoutError:
            if not limit.expired():
                raise
            link.doubt()
            raise OutcomeUnknownError(
                f"MCP server {self.server!r} did not answer within {limit_s:g} s"
            ) from None
        except MCPError as error:
            if error.code != CONNECTION_CLOSED:
                raise
            link.doubt()
            raise OutcomeUnknownError(
                f"the connection to MCP server {self.server!r} was lost during the call"
            ) from error
        finally:
            self._requests -= 1
            self.last_used = self._clock()
            if self._retired and self.idle:
                self.rest()

    def rest(self) -> None:
        """Begin to close; the next use opens again."""
        if self._link is not None:
            self._link.end()

    def retire(self, reason: str) -> None:
        """Close as soon as no request is running, and do not open again."""
        self._retired = reason
        if self.idle:
            self.rest()

    async def close(self) -> None:
        """Close now, do not open again, and return when nothing is left of the connection."""
        self._retired = "it has been closed"
        self.rest()
        if self._link is not None:
            await self._link.closed()

    async def _open(self) -> tuple[Link, ClientSession]:
        link = self._current_link()
        session = await link.settled()
        if session is None and link.failure is None:
            link = self._current_link()
            session = await link.settled()
        if session is None:
            raise self._unavailable(link.failure or "the connection was lost at once")
        return link, session

    def _current_link(self) -> Link:
        """Return the link that is open or being opened; create one if there is none."""
        if self._retired:
            raise self._unavailable(self._retired)
        link = self._link
        if link is not None and not link.ended and not self._lost(link):
            return link
        if link is not None and link.failure is not None:
            wait_s = link.failed_at + restart_delay_s(link.failures) - self._clock()
            if wait_s > 0:
                raise self._unavailable(f"{link.failure}; next attempt in {wait_s:.0f} s")
        self._admit()
        if link is not None:
            link.end()
        self._link = Link(
            self.server,
            lambda: self._create_client(self._merge_headers()),  # private to ADK
            connect_timeout_s=self.record.connect_timeout_s,
            clock=self._clock,
            failures_before=link.failures if link is not None else 0,
            earlier=link,
        )
        return self._link

    def _lost(self, link: Link) -> bool:
        """Return whether the transport has ended; uses a private method of ADK."""
        return link.session is not None and self._is_session_disconnected(link.session)

    def _unavailable(self, reason: str) -> UnavailableError:
        return UnavailableError(f"MCP server {self.server!r} is not available: {reason}")


async def _all_tools(session: ClientSession) -> Sequence[Tool]:
    page = await session.list_tools()
    tools = [*page.tools]
    while page.next_cursor:
        page = await session.list_tools(params=PaginatedRequestParams(cursor=page.next_cursor))
        tools += page.tools
    return tools


def _stderr() -> TextIO:
    """Return the stream for messages of child processes, which must have a file descriptor."""
    try:
        sys.stderr.fileno()
    except (AttributeError, OSError, ValueError):
        return sys.__stderr__ or sys.stdout
    return sys.stderr
