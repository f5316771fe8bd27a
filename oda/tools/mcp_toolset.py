"""The tools of an MCP server as ADK sees them: always there, even when the server is not.

ADK drops a toolset that cannot be listed without a word to the model. These return what the server
offered last, or one tool that says what is wrong; a call that fails answers with the reason.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.auth.auth_credential import AuthCredential
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.mcp_tool.mcp_tool import McpTool
from google.adk.tools.tool_context import ToolContext
from google.genai.types import FunctionDeclaration
from mcp.types import Tool

from oda.config import McpServerRecord
from oda.errors import ConfigurationError, OdaError, UnavailableError
from oda.message.redaction import redact
from oda.telemetry import get_logger
from oda.tools.mcp_connection import Connection, OutcomeUnknownError

log = get_logger(__name__)

SessionKey: TypeAlias = tuple[str, str, str]
"""ADK's name of a session: app, user, session."""


Connect: TypeAlias = Callable[[SessionKey | None], Connection | None]
"""Returns the connection for a session, or None for a disabled server; may raise
`ConfigurationError` and `UnavailableError`.
"""


class SupervisedTool(McpTool):
    """An MCP tool with a supervised connection, whose failures are returned as answers."""

    def __init__(self, tool: Tool, connection: Connection) -> None:
        record = connection.record
        super().__init__(
            mcp_tool=tool,
            mcp_session_manager=connection,
            require_confirmation=record.require_confirmation,
        )
        self._connection = connection
        if record.prefix:
            self.name = f"{record.prefix}_{tool.name}"
        if is_idempotent(tool, record):
            self.custom_metadata = {"idempotent": True}

    async def _run_async_impl(
        self, *, args: dict[str, Any], tool_context: ToolContext, credential: AuthCredential
    ) -> dict[str, Any]:
        call = super()._run_async_impl
        try:
            return await self._connection.request(
                lambda _: call(args=args, tool_context=tool_context, credential=credential),
                limit_s=self._connection.record.call_timeout_s,
            )
        except OutcomeUnknownError as error:
            repeatable = self.custom_metadata is not None
            return _failure(error, retryable=repeatable, advice="" if repeatable else _UNKNOWN)
        except UnavailableError as error:
            return _failure(error, retryable=True)


_UNKNOWN = "; it is not known whether the call had its effect, so do not just repeat it"


class UnavailableTool(BaseTool):
    """Placeholder for the tools of a server that could not be listed yet."""

    only_explains = True
    """No policy need allow it."""

    def __init__(self, server: str, error: OdaError) -> None:
        self._error = error
        super().__init__(
            name=f"{server}_unavailable",
            description=(
                f"The tools of the MCP server {server!r} are missing at the moment: "
                f"{redact(str(error))}. Tell the user if they are needed. "
                "Calling this function only returns this message."
            ),
        )

    def _get_declaration(self) -> FunctionDeclaration:
        return FunctionDeclaration(name=self.name, description=self.description)

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        return _failure(self._error, retryable=self._error.retryable)


class SupervisedToolset(BaseToolset):
    """The tools of one server, for any number of agents, sessions and runners."""

    def __init__(
        self, server: str, *, connect: Connect, session_key: SessionKey | None = None
    ) -> None:
        """`connect` is asked at each listing, as agents are made before there is an event loop."""
        super().__init__()
        self._use_invocation_cache = False  # a server that comes back must be seen in the same turn
        self._server = server
        self._connect = connect
        self._session_key = session_key

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """The tools that the record lets through; never raises for a server's trouble."""
        connection = None
        try:
            connection = self._connect(self._key(readonly_context))
            if connection is None:
                return []
            return await self._approved(await connection.tools(), connection)
        except (UnavailableError, ConfigurationError) as error:
            log.info("mcp_tools_unavailable", server=self._server, reason=str(error))
            if connection is not None and connection.known_tools is not None:
                return await self._approved(connection.known_tools, connection)
            name = connection.record.prefix if connection is not None else None
            return [UnavailableTool(name or self._server, error)]

    async def _approved(self, tools: Sequence[Tool], connection: Connection) -> list[BaseTool]:
        """Return the approved tools, and a placeholder that reports the others."""
        name = connection.record.prefix or self._server
        try:
            reviewed = await connection.reviewed(tools)
        except ConfigurationError as error:
            log.error("mcp_pins_unreadable", server=self._server, reason=str(error))
            return [UnavailableTool(name, error)]
        offered = supervised_tools(reviewed.offered, connection)
        fault = reviewed.fault(self._server)
        return [*offered, UnavailableTool(name, fault)] if fault else offered

    async def close(self) -> None:
        """Do nothing: ADK closes toolsets with each runner, and others may use the connection."""

    def _key(self, context: ReadonlyContext | None) -> SessionKey | None:
        if self._session_key is not None or context is None:
            return self._session_key
        session = context.session
        return session.app_name, session.user_id, session.id


def supervised_tools(tools: Sequence[Tool], connection: Connection) -> list[BaseTool]:
    """ADK tools for those that the record's filter selects, in a stable order."""
    wanted = connection.record.tool_filter
    selected: list[BaseTool] = []
    for tool in sorted(tools, key=lambda tool: tool.name):
        if wanted is not None and tool.name not in wanted:
            continue
        try:
            selected.append(SupervisedTool(tool, connection))
        except ValueError as error:  # the name of one of ADK's own tools
            log.warning("mcp_tool_refused", server=connection.server, reason=str(error))
    return selected


def is_idempotent(tool: Tool, record: McpServerRecord) -> bool:
    """Return whether a call may be repeated, according to the server or the record."""
    hints = tool.annotations
    declared = hints is not None and (hints.idempotent_hint or hints.read_only_hint)
    return bool(declared) or tool.name in record.idempotent


def _failure(error: OdaError, *, retryable: bool, advice: str = "") -> dict[str, Any]:
    return {
        "error": redact(str(error)) + advice,
        "error_type": type(error).__name__,
        "retryable": retryable,
    }
