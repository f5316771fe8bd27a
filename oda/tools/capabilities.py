"""Capabilities and tools by name: built in, registered by code, or configured in files."""

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from google.adk.agents.llm_agent import ToolUnion
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.workflow import BaseNode

from oda.config import CapabilityRecord, current_configuration
from oda.config.files import read_file
from oda.config.records import CapabilitiesFile
from oda.errors import ConfigurationError
from oda.tools.capability import Capability, Setup, tool_name
from oda.tools.mcp import mcp_toolset
from oda.tools.policy import ToolPolicy

_FILE = "capabilities.yaml"
_OWN_TOOLS = {
    name: f"oda.workspace.tools:{name}"
    for name in ("read_file", "write_file", "edit_file", "list_files", "run_python")
}
"""Tools that `oda` brings, imported when an agent gets them."""


class CapabilityRegistry:
    """Finds capabilities and the tools that they name.

    Of several capabilities of one name that of the application's `capabilities.yaml` holds, then
    the registered one, then that which `oda` brings. Files are read whenever an agent is made; an
    agent keeps what it was made with.
    """

    def __init__(self) -> None:
        self._capabilities: dict[str, Capability] = {}
        self._tools: dict[str, ToolUnion | str] = dict(_OWN_TOOLS)

    def register(self, capability: Capability) -> None:
        """Let agents name it; it takes the place of one of the same name."""
        self._capabilities[capability.name] = capability

    def register_tool(self, name: str, tool: ToolUnion | str) -> None:
        """Let capabilities name a tool, in place of another of that name.

        Args:
            name: What the tool itself is called; of a toolset, any.
            tool: The tool, or its import path `package.module:name`.
        """
        self._tools[name] = tool

    def get(self, name: str) -> Capability:
        """Return the capability of that name.

        Raises:
            ConfigurationError: it does not exist, or its file is invalid.
        """
        configured, shipped = current_configuration().capabilities, _shipped()
        if name in configured:
            return _capability(name, configured[name], f"{_FILE}: capabilities.{name}")
        if name in self._capabilities:
            return self._capabilities[name]
        if name in shipped:
            return _capability(name, shipped[name], f"the capability {name!r} of oda")
        known = sorted({*configured, *self._capabilities, *shipped})
        raise ConfigurationError(
            f"there is no capability {name!r}",
            remedy=f"{_suggestion(name, known)}; add others to {_FILE}",
        )

    def tools_of(
        self, capability: Capability, given: Mapping[str, ToolUnion]
    ) -> Iterator[ToolUnion]:
        """The tools of a capability, those that it names looked up.

        Args:
            capability: Whose tools.
            given: Tools by name that come before all registered ones.

        Raises:
            ConfigurationError: a name means nothing, naming file and key.
        """
        where = f"{capability.where or f'the capability {capability.name!r}'}: tools"
        for tool in capability.tools:
            yield self._find(tool, given, where) if isinstance(tool, str) else tool

    def _find(self, name: str, given: Mapping[str, ToolUnion], where: str) -> ToolUnion:
        found = given.get(name) or self._tools.get(name)
        if found is None and ":" not in name:
            if name in current_configuration().mcp_servers:
                return mcp_toolset(name)
            raise ConfigurationError(
                f"{where}: there is no tool {name!r}",
                remedy=f"give it to the agent, create_agent(…, tools=[{name}]), or register it, "
                f"registry.register_tool({name!r}, …); an import path package.module:name and "
                "a server of mcp.yaml will do as well",
            )
        tool = found or name
        if isinstance(tool, str):
            tool = _imported(tool, where)
            if not isinstance(tool, BaseTool | BaseToolset | BaseNode) and not callable(tool):
                raise ConfigurationError(f"{where}: {name!r} is no tool", remedy="name a function")
        if found is not None and tool_name(tool) not in (None, name):
            raise ConfigurationError(
                f"{where}: the tool {name!r} calls itself {tool_name(tool)!r}",
                remedy="register it under its own name, as models and policies know it by that",
            )
        return tool


registry = CapabilityRegistry()
"""The default registry from which agents are built."""


def _capability(name: str, record: CapabilityRecord, where: str) -> Capability:
    return Capability(
        name=name,
        instructions=record.instructions.strip(),
        tools=record.tools,
        tool_policy=ToolPolicy(**record.tool_policy.model_dump()),
        untrusted=record.untrusted,
        reaches=record.reaches,
        finds=record.finds,
        skills=record.skills,
        setup=_setup(record.setup, f"{where}.setup") if record.setup else None,
        where=where,
    )


def _setup(path: str, where: str) -> Setup:
    found = _imported(path, where)
    if not callable(found):
        raise ConfigurationError(f"{where}: {path!r} is no function", remedy="name a function")
    setup: Callable[..., Any] = found
    return setup


def _imported(path: str, where: str) -> Any:
    module, _, name = path.partition(":")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigurationError(
            f"{where}: {path!r} cannot be imported: {error}",
            remedy="correct the import path, or install what it needs",
        ) from error


@cache
def _shipped() -> Mapping[str, CapabilityRecord]:
    return read_file(Path(__file__).with_name(_FILE), CapabilitiesFile).capabilities


def _suggestion(name: str, known: list[str]) -> str:
    close = get_close_matches(name, known, n=1)
    return f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(known)}"
