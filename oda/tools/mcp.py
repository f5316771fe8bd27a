"""MCP servers for agents: one owner of all connections, and `mcp_toolset` for an `agent.py`.

The MCP library takes 0.6 s to import, so that is done when the first agent has an MCP server.
"""

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self
from uuid import uuid4

from google.adk.tools.base_toolset import BaseToolset

from oda.config import AnyMcpServerRecord, ConfigurationFiles, default_directory
from oda.errors import ConfigurationError, UnavailableError
from oda.loop import LoopDefault
from oda.settings import Settings

if TYPE_CHECKING:
    from oda.tools.mcp_connection import Connection
    from oda.tools.mcp_pins import McpPins, ToolChange
    from oda.tools.mcp_toolset import Connect, SessionKey


@dataclass(frozen=True)
class McpStatus:
    """The state of one server, as found by a check."""

    server: str
    state: Literal["ready", "changed", "unavailable", "disabled"]
    """`changed`: tools are withheld because their descriptions have changed."""
    tools: tuple[str, ...] = ()
    """Names as agents see them."""
    detail: str | None = None
    """Why it is unavailable, or what is odd about it."""


class McpConnections:
    """Opens connections when they are used, and closes all of them.

    Belongs to one event loop. Connections of servers with the scope `session` are closed by
    `release`, or when room is needed and they are idle.
    """

    def __init__(
        self,
        records: Mapping[str, AnyMcpServerRecord],
        *,
        environ: Mapping[str, str],
        pins: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
        max_live: int = 64,
    ) -> None:
        """Create the connections without opening them.

        Args:
            records: The servers by name.
            environ: Values of the variables that records refer to.
            pins: File with the approved tool descriptions; without it, tools are offered unchecked.
            clock: Monotonic time in seconds.
            max_live: Maximum number of processes and remote sessions at a time.
        """
        self._records = records
        self._environ = environ
        self._pins_path = pins
        self._clock = clock
        self._max_live = max_live
        self._connections: dict[tuple[str, SessionKey | None], Connection] = {}
        self._retired: set[Connection] = set()
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    def toolset(self, server: str, *, session_key: "SessionKey | None" = None) -> BaseToolset:
        """The tools of a server, to be put into an agent.

        Without `session_key`, a server with the scope `session` gets the connection of the session
        that ADK is running.
        """
        return _toolset(server, lambda key: self.connection(server, key), session_key)

    def connection(self, server: str, session_key: "SessionKey | None") -> "Connection | None":
        """The connection for a session, not yet opened; None when the server is switched off.

        Raises:
            ConfigurationError: when there is no such server, or a variable is not set.
            UnavailableError: after `aclose`.
        """
        if self._closed:
            raise UnavailableError("the MCP connections have been closed")
        record = self._record(server)
        if not record.enabled:
            return None
        key = (server, session_key if record.scope == "session" else None)
        if key not in self._connections:
            self._connections[key] = self._new_connection(server, record)
        return self._connections[key]

    def reconfigure(self, records: Mapping[str, AnyMcpServerRecord]) -> None:
        """From now on go by `records`; connections whose record has changed end when idle."""
        self._records = records
        self._retired = {connection for connection in self._retired if connection.live}
        for key, connection in list(self._connections.items()):
            if records.get(connection.server) != connection.record:
                connection.retire("its configuration has changed")
                self._retired.add(self._connections.pop(key))

    async def release(self, session_key: "SessionKey") -> None:
        """Close what belongs to a session."""
        keys = [key for key in self._connections if key[1] == session_key]
        await _close_all([self._connections.pop(key) for key in keys])

    async def check(self, server: str) -> McpStatus:
        """Ask a server for its tools now.

        Raises:
            ConfigurationError: when there is no such server.
        """
        record = self._record(server)
        own_key = ("", "", f"check-{uuid4().hex}")
        try:
            connection = self.connection(server, own_key)
            if connection is None:
                return McpStatus(server, "disabled")
            reviewed = await connection.reviewed(await connection.tools(fresh=True))
        except (UnavailableError, ConfigurationError) as error:
            return McpStatus(server, "unavailable", detail=str(error))
        finally:
            await self.release(own_key)
        from oda.tools.mcp_toolset import supervised_tools

        if fault := reviewed.fault(server):
            return McpStatus(server, "changed", detail=str(fault))
        tools = reviewed.offered
        missing = sorted(set(record.tool_filter or ()) - {tool.name for tool in tools})
        return McpStatus(
            server,
            "ready",
            tools=tuple(tool.name for tool in supervised_tools(tools, connection)),
            detail=f"tool_filter: it has no {', '.join(missing)}" if missing else None,
        )

    async def changes(self, server: str) -> "Sequence[ToolChange]":
        """Query a server's current tool descriptions; return the changes that need approval.

        Raises:
            ConfigurationError: there is no such server.
            UnavailableError: the server does not answer.
        """
        own_key = ("", "", f"check-{uuid4().hex}")
        try:
            connection = self.connection(server, own_key)
            if connection is None:
                return ()
            return (await connection.reviewed(await connection.tools(fresh=True))).changed
        finally:
            await self.release(own_key)

    async def approve(self, server: str, changes: "Iterable[ToolChange]") -> None:
        """Approve changed tool descriptions: tools described in this way are offered from now on.

        Raises:
            ConfigurationError: the approval cannot be stored.
        """
        if self._pins is not None:
            await self._pins.approve(server, changes)

    @cached_property
    def _pins(self) -> "McpPins | None":
        from oda.tools.mcp_pins import McpPins

        return McpPins(self._pins_path) if self._pins_path else None

    async def aclose(self) -> None:
        """Close every connection, and return when no process is left; final."""
        self._closed = True
        connections = [*self._connections.values(), *self._retired]
        self._connections.clear()
        self._retired.clear()
        await _close_all(connections)

    def _record(self, server: str) -> AnyMcpServerRecord:
        record = self._records.get(server)
        if record is None:
            raise ConfigurationError(
                f"there is no MCP server {server!r}",
                remedy=f"config/mcp.yaml has: {', '.join(sorted(self._records)) or 'none'}",
            )
        return record

    def _new_connection(self, server: str, record: AnyMcpServerRecord) -> "Connection":
        from oda.tools.mcp_connection import Connection

        return Connection(
            server,
            record,
            environ=self._environ,
            clock=self._clock,
            admit=self._make_room,
            pins=self._pins,
        )

    def _make_room(self) -> None:
        """Let the connection rest that has been idle longest, if there are too many.

        Raises:
            UnavailableError: when all are busy.
        """
        live = [one for one in (*self._connections.values(), *self._retired) if one.live]
        if len(live) < self._max_live:
            return
        idle = [connection for connection in live if connection.idle]
        if not idle:
            raise UnavailableError(f"all {self._max_live} MCP connections are busy")
        min(idle, key=lambda connection: connection.last_used).rest()


async def _close_all(connections: "Iterable[Connection]") -> None:
    await asyncio.gather(*(connection.close() for connection in connections))


class _FromFiles:
    """Connections for agents that run without `oda`'s server, which nobody opens or closes.

    They end with the event loop, which cancels their owner tasks when it is shut down.
    """

    def __init__(self, directory: Path) -> None:
        self._files = ConfigurationFiles(directory)
        self._configuration = self._files.current()
        self._connections = McpConnections(
            self._configuration.mcp_servers, environ=os.environ, pins=Settings.load().mcp_pins_path
        )

    def current(self) -> McpConnections:
        """The connections, after taking up changes in the files."""
        configuration = self._files.current()
        if configuration is not self._configuration:
            self._configuration = configuration
            self._connections.reconfigure(configuration.mcp_servers)
        return self._connections


default_connections: LoopDefault[McpConnections] = LoopDefault()
"""The connections used by `mcp_toolset` in an event loop; set by the composition root."""

_from_files: dict[tuple[asyncio.AbstractEventLoop, Path], _FromFiles] = {}


def mcp_toolset(server: str, *, config_dir: Path | None = None) -> BaseToolset:
    """The tools of a server in `mcp.yaml`, to be put into the `tools` of an agent.

    Nothing is read or started before the tools are listed. Works under `oda` and under `adk web`;
    there, `config_dir` says where `mcp.yaml` is (default: `ODA_CONFIG_DIR`, or `config`).
    """
    return _toolset(
        server, lambda key: _current(config_dir or default_directory()).connection(server, key)
    )


def _toolset(
    server: str, connect: "Connect", session_key: "SessionKey | None" = None
) -> BaseToolset:
    from oda.tools.mcp_toolset import SupervisedToolset

    return SupervisedToolset(server, connect=connect, session_key=session_key)


def _current(directory: Path) -> McpConnections:
    if (connections := default_connections.get()) is not None:
        return connections
    loop = asyncio.get_running_loop()
    for key in list(_from_files):
        if key[0].is_closed():
            _from_files.pop(key, None)
    if (loop, directory) not in _from_files:
        _from_files[loop, directory] = _FromFiles(directory)
    return _from_files[loop, directory].current()
