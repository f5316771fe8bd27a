"""One life of a connection to an MCP server, from its first byte to the end of its process.

The MCP library's contexts must be entered and left in the same task, and a caller's cancellation
must not tear them: so one task owns each link, and callers only wait for what it announces.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, Final

from mcp import ClientSession, MCPError
from mcp.types import CONNECTION_CLOSED, METHOD_NOT_FOUND, Tool, ToolListChangedNotification

from oda.telemetry import get_logger

log = get_logger(__name__)

WIND_DOWN_S: Final = 8.0
"""For closing; more than the MCP library needs to kill a process that does not go (6.5 s)."""
PONG_S: Final = 3.0
"""For the answer to a ping, when a server is suspected to be stuck."""


class Link:
    """Opening when made; then open; then ended, for good."""

    def __init__(
        self,
        server: str,
        make_client: Callable[[], AbstractAsyncContextManager[Any]],
        *,
        connect_timeout_s: float,
        clock: Callable[[], float],
        failures_before: int,
        earlier: "Link | None",
    ) -> None:
        """Open it as soon as `earlier` has ended; `failures_before` counts links that did not."""
        self.session: ClientSession | None = None
        """Set while requests can be made."""
        self.failure: str | None = None
        """Why it could not be opened."""
        self.failures = failures_before
        self.failed_at = 0.0
        self.tools: Sequence[Tool] | None = None
        """The tools of the server; None before they are listed, and after they have changed."""
        self.listed_at = 0.0
        self._server = server
        self._make_client = make_client
        self._connect_timeout_s = connect_timeout_s
        self._clock = clock
        self._settled = asyncio.Event()
        self._attention = asyncio.Event()
        self._connecting = True
        self._ending = False
        self._owner = asyncio.create_task(self._live(earlier), name=f"mcp:{server}")

    @property
    def ended(self) -> bool:
        """Whether the link is closed or closing."""
        return self._ending or self.failure is not None or self._owner.done()

    async def settled(self) -> ClientSession | None:
        """The session; None when the link could not be opened or has ended.

        Waits while the link is being opened, and while a doubt is being cleared up.
        """
        await self._settled.wait()
        return self.session

    def doubt(self) -> None:
        """Request a sign of life from the server; end the link if there is none."""
        if not self.ended:
            self._settled.clear()
            self._attention.set()

    def end(self) -> None:
        """Begin to close."""
        if not self._ending:
            self._ending = True
            self._attention.set()
            if self._connecting:
                self._owner.cancel()

    async def closed(self) -> None:
        """Wait until a closing link has ended; abort it if that takes too long."""
        for _ in range(2):
            await asyncio.wait({self._owner}, timeout=WIND_DOWN_S)
            if not self._owner.done():
                self._owner.cancel()

    async def _live(self, earlier: "Link | None") -> None:
        """The owner task: everything is entered and left in here."""
        try:
            if earlier is not None:
                await earlier.closed()
            async with AsyncExitStack() as stack:
                session = await self._connect(stack)
                self.failures = 0
                self.session = session
                self._settled.set()
                await self._watch(session)
        except Exception as error:
            if self.session is None:
                self._fail(_reason(error))
            else:
                log.warning("mcp_connection_lost", server=self._server, reason=_reason(error))
        finally:
            self.session = None
            self._settled.set()
            if earlier is not None:
                await earlier.closed()

    async def _connect(self, stack: AsyncExitStack) -> ClientSession:
        try:
            async with asyncio.timeout(self._connect_timeout_s):
                read, write, *_ = await stack.enter_async_context(self._make_client())
                session = await stack.enter_async_context(
                    ClientSession(read, write, message_handler=self._hear)
                )
                await session.initialize()
                return session
        except TimeoutError:
            self._fail(f"no connection within {self._connect_timeout_s:g} s")
            raise
        finally:
            self._connecting = False

    def _fail(self, reason: str) -> None:
        """Say that there will be no session, before what is left of it is cleared away."""
        if self.failure is None:
            self.failure = reason
            self.failures += 1
            self.failed_at = self._clock()
            self._settled.set()
            log.error("mcp_server_unreachable", server=self._server, reason=reason)

    async def _watch(self, session: ClientSession) -> None:
        """Return when the link must be closed."""
        while await self._attention.wait() and not self._ending:
            self._attention.clear()
            if not await _answers_ping(session):
                log.warning("mcp_server_does_not_respond", server=self._server)
                self._ending = True
                return
            self._settled.set()

    async def _hear(self, message: object) -> None:
        """Handle an unsolicited message of the server."""
        if isinstance(message, ToolListChangedNotification):
            self.tools = None


async def _answers_ping(session: ClientSession) -> bool:
    """Return whether the server answers and, over HTTP, still knows the session."""
    try:
        async with asyncio.timeout(PONG_S):
            await session.send_ping()
    except TimeoutError:
        return False
    except MCPError as error:
        return error.code == METHOD_NOT_FOUND
    return True


def _reason(error: BaseException) -> str:
    """The innermost first cause, which task groups wrap."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
        return "it ended while starting; what it wrote to stderr may tell why"
    return str(error) or type(error).__name__
