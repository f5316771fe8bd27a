"""The record of an MCP server -> what ADK connects with, secrets filled in."""

import sys
from collections.abc import Mapping
from typing import TypeAlias

from google.adk.tools.mcp_tool.mcp_session_manager import (
    SseConnectionParams,
    StdioConnectionParams,
    StreamableHTTPConnectionParams,
)
from mcp import StdioServerParameters

from oda.config import (
    AnyMcpServerRecord,
    RemoteMcpServerRecord,
    StdioMcpServerRecord,
    resolve_secrets,
)

ConnectionParams: TypeAlias = (
    StdioConnectionParams | SseConnectionParams | StreamableHTTPConnectionParams
)

_QUIET_S = 300.0
"""How long an HTTP stream may be silent; calls end earlier, by their own limit."""


def connection_params(
    server: str, record: AnyMcpServerRecord, environ: Mapping[str, str]
) -> ConnectionParams:
    """How to reach `server`. The result holds secrets: do not print or log it.

    Raises:
        ConfigurationError: when a variable that the record refers to is not set.
    """

    def resolved(key: str, text: str) -> str:
        return resolve_secrets(text, environ, where=f"servers.{server}.{key}").get_secret_value()

    if isinstance(record, StdioMcpServerRecord):
        return StdioConnectionParams(
            server_params=StdioServerParameters(
                command=sys.executable if record.command == "python" else record.command,
                args=[resolved("args", arg) for arg in record.args],
                env={name: resolved(f"env.{name}", text) for name, text in record.env.items()},
                cwd=record.cwd,
            ),
            timeout=record.connect_timeout_s,
        )
    return _remote_params(
        record,
        url=resolved("url", record.url),
        headers={name: resolved(f"headers.{name}", text) for name, text in record.headers.items()},
    )


def _remote_params(
    record: RemoteMcpServerRecord, *, url: str, headers: dict[str, str]
) -> SseConnectionParams | StreamableHTTPConnectionParams:
    params = SseConnectionParams if record.transport == "sse" else StreamableHTTPConnectionParams
    return params(
        url=url,
        headers=headers,
        timeout=record.connect_timeout_s,
        sse_read_timeout=max(_QUIET_S, 2 * record.call_timeout_s),
    )
