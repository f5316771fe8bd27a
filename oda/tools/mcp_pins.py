"""Pins the tool descriptions of MCP servers: changed ones are offered only after approval.

A description goes into every prompt, so a server that changes it later can instruct the model. The
description of a tool when first seen is kept in a file; if it changes, the tool is withheld until
an operator has approved the change.
"""

import asyncio
import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from mcp.types import Tool

from oda.errors import ConfigurationError, NotConfiguredError
from oda.telemetry import get_logger

log = get_logger(__name__)

Description: TypeAlias = Mapping[str, Any]
"""Everything a model is given about a tool, and its annotations that we rely on, as JSON."""
_Servers: TypeAlias = dict[str, dict[str, Description]]

_PINNED = {"name", "title", "description", "input_schema", "output_schema", "annotations"}


class ToolsChangedError(NotConfiguredError):
    """Raised when tools are withheld because their descriptions have changed."""

    code = "tools_changed"


@dataclass(frozen=True)
class ToolChange:
    """A tool whose description differs from the approved one."""

    name: str
    before: Description
    after: Description


@dataclass(frozen=True)
class Reviewed:
    """The tools of a server, divided by approval."""

    offered: Sequence[Tool]
    changed: Sequence[ToolChange] = ()

    def fault(self, server: str) -> ToolsChangedError | None:
        """Return the error if tools are withheld.

        Of the server's texts it quotes only tool names.
        """
        if not self.changed:
            return None
        names = ", ".join(change.name for change in self.changed)
        return ToolsChangedError(
            f"MCP server {server!r} describes these tools otherwise than before: {names}. They are "
            "withheld.",
            remedy=f"read what has changed and approve it with `oda mcp approve {server}`",
        )


class McpPins:
    """Approved or first-seen descriptions of tools, in a file that processes share."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = asyncio.Lock()
        self._reported: set[tuple[str, str]] = set()

    async def review(self, server: str, tools: Sequence[Tool]) -> Reviewed:
        """Compare tools with their pinned descriptions; pin those of new tools.

        Raises:
            ConfigurationError: the file cannot be read.
        """
        described = {tool.name: _description(tool) for tool in tools}
        async with self._lock:
            pinned = (await asyncio.to_thread(self._read)).get(server, {})
            new = {name: one for name, one in described.items() if name not in pinned}
            if new:
                await self._pin(server, new)
        changed = tuple(
            ToolChange(name, pinned[name], one)
            for name, one in described.items()
            if name in pinned and pinned[name] != one
        )
        self._report(server, changed)
        withheld = {change.name for change in changed}
        return Reviewed([tool for tool in tools if tool.name not in withheld], changed)

    async def approve(self, server: str, changes: Iterable[ToolChange]) -> None:
        """Pin changed descriptions.

        Raises:
            ConfigurationError: the file cannot be read or written.
        """
        async with self._lock:
            after = {change.name: change.after for change in changes}
            await asyncio.to_thread(self._write, server, after)

    async def _pin(self, server: str, tools: Mapping[str, Description]) -> None:
        try:
            await asyncio.to_thread(self._write, server, tools)
        except ConfigurationError as error:
            log.error("mcp_tools_not_pinned", server=server, reason=str(error))

    def _report(self, server: str, changed: Sequence[ToolChange]) -> None:
        """Log each change once."""
        for change in changed:
            key = (server, json.dumps(change.after, sort_keys=True))
            if key not in self._reported:
                self._reported.add(key)
                log.warning("mcp_tool_changed", server=server, tool=change.name)

    def _read(self) -> _Servers:
        try:
            servers: _Servers = json.loads(self._path.read_text("utf-8"))["servers"]
            return {server: dict(tools) for server, tools in servers.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise ConfigurationError(
                f"what was approved of MCP tools, {str(self._path)!r}, cannot be read: {error}",
                remedy="restore the file; without it all tools count as seen for the first time",
            ) from error

    def _write(self, server: str, tools: Mapping[str, Description]) -> None:
        """Add descriptions to the file, replacing it atomically."""
        servers = self._read()
        servers.setdefault(server, {}).update(tools)
        text = json.dumps({"servers": servers}, ensure_ascii=False, indent=1, sort_keys=True)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=f"{self._path.name}.")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    file.write(text)
                    file.flush()
                    os.fsync(handle)
                Path(name).replace(self._path)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
        except OSError as error:
            raise ConfigurationError(
                f"the descriptions of MCP tools cannot be pinned in {str(self._path)!r}: {error}",
                remedy="see that ODA_MCP_PINS, or the data directory, may be written",
            ) from error


def _description(tool: Tool) -> Description:
    return tool.model_dump(mode="json", by_alias=True, exclude_none=True, include=_PINNED)
