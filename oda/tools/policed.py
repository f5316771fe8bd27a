"""Applies an agent's policy to its tools: barred tools are hidden, and calls of them refused.

For ADK a hidden tool does not exist: a call of it reaches the callbacks with the name that the
model gave. There it is answered and recorded, like calls of nonexistent tools. Tools that ADK adds
itself, such as `transfer_to_agent`, are exempt.
"""

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from google.adk.agents.llm_agent import ToolUnion
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.auth.auth_tool import AuthConfig
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext

from oda.errors import ConfigurationError, ToolRefusedError
from oda.loop import LoopDefault
from oda.telemetry import get_logger
from oda.tools.addresses import Addresses, is_nested
from oda.tools.capability import tool_name
from oda.tools.idempotency import call_key
from oda.tools.policy import Decision, EntryMode, ToolPolicy

log = get_logger(__name__)

_LONGEST_NAME = 128
_LONGEST_ADDRESS = 300


@dataclass(frozen=True)
class ToolRefusal:
    """A call that was refused, as it is written down."""

    tool: str
    """The name that the model gave."""
    agent: str
    app: str
    user: str
    session: str
    turn: str
    call_id: str
    mode: EntryMode


class Check(Protocol):
    """Decides whether a call must be confirmed."""

    async def __call__(self, args: dict[str, Any], tool_context: ToolContext) -> bool: ...


RefusalSink = Callable[[ToolRefusal], object]

default_refusal_sink: LoopDefault[RefusalSink] = LoopDefault()
"""Receives refusals in addition to the log; set by the composition root."""


@dataclass(frozen=True)
class PolicedTools:
    """A policy in one entry mode, applied to tools."""

    policy: ToolPolicy
    mode: EntryMode
    addresses: Addresses = field(default_factory=Addresses)

    def of(self, tools: Iterable[ToolUnion]) -> Iterator[ToolUnion]:
        """Yield the tools that an agent gets; toolsets are filtered whenever they are listed.

        Raises:
            ConfigurationError: the policy requires approval of a tool for which ADK does not
                support it.
        """
        for tool in tools:
            if isinstance(tool, BaseToolset):
                yield PolicedToolset(tool, self)
            elif (permitted := self._permitted(tool)) is not None:
                yield permitted

    def of_toolset(self, tools: Iterable[BaseTool]) -> list[BaseTool]:
        """Return the tools of a toolset for an agent, and the placeholder of unavailable ones."""
        permitted = (
            tool if getattr(tool, "only_explains", False) else self._under(tool) for tool in tools
        )
        return [tool for tool in permitted if tool is not None]

    def _permitted(self, tool: ToolUnion) -> ToolUnion | None:
        if isinstance(tool, BaseTool):
            return self._under(tool)
        if callable(tool):
            return self._under(FunctionTool(tool))
        decision = self._decide(tool_name(tool) or "")
        if decision == "confirm":
            raise ConfigurationError(
                f"{tool_name(tool)!r} is a graph, of which no call can be confirmed",
                remedy="put it into a function that is a tool",
            )
        return tool if decision == "allowed" else None

    def _under(self, tool: BaseTool) -> BaseTool | None:
        match self._decide(tool.name):
            case "barred":
                return None
            case "confirm":
                self.addresses.learn(tool)
                return _confirmed(tool, _always)
            case "allowed":
                if not self.addresses.learn(tool) or self.mode == "automated":
                    return tool
                return _confirmed(tool, _UnlessKnown(self.addresses, tool))

    def _decide(self, name: str) -> Decision:
        return self.policy.decide(name, self.mode)

    async def refuse(
        self, tool: BaseTool, args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Return the answer to a refused call; a `before_tool_callback`.

        A call is refused if the agent does not have the tool, or if it reaches an address that
        needs approval while nobody can be asked.
        """
        message = (
            f"You may not call the tool {tool.name[:_LONGEST_NAME]!r} in this run. Do not try "
            "again: go on with the tools that you have, or say what you could not do."
        )
        if type(tool) is not BaseTool:  # ADK's stand-in for a tool that does not exist
            if self.mode == "interactive" and not is_nested(tool_context):
                return None
            address = self.addresses.unknown(tool.name, args, tool_context)
            if address is None:
                return None
            message = (
                f"{address[:_LONGEST_ADDRESS]!r} is not reached: strangers' text has been read, "
                "and neither the user nor a search has given exactly this address. Use one that a "
                "search has found, or say what you could not do."
            )
        session = tool_context.session
        refusal = ToolRefusal(
            tool=tool.name[:_LONGEST_NAME],
            agent=tool_context.agent_name,
            app=session.app_name,
            user=session.user_id,
            session=session.id,
            turn=call_key(tool_context).turn,
            call_id=tool_context.function_call_id or "",
            mode=self.mode,
        )
        log.warning("tool_call_refused", **asdict(refusal))
        if (sink := default_refusal_sink.get()) is not None:
            sink(refusal)
        return {"error": {"code": ToolRefusedError.code, "message": message}, "status": "refused"}


class PolicedToolset(BaseToolset):
    """A toolset that lists only the tools allowed by the policy."""

    def __init__(self, toolset: BaseToolset, policed: PolicedTools) -> None:
        super().__init__()
        self._use_invocation_cache = False  # whether to ask again is for the toolset to say
        self._toolset = toolset
        self._policed = policed

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """The permitted tools, under the names that models see."""
        return self._policed.of_toolset(await self._toolset.get_tools_with_prefix(readonly_context))

    async def process_llm_request(
        self, *, tool_context: ToolContext, llm_request: LlmRequest
    ) -> None:
        await self._toolset.process_llm_request(tool_context=tool_context, llm_request=llm_request)

    def get_auth_config(self) -> AuthConfig | None:
        return self._toolset.get_auth_config()

    async def close(self) -> None:
        await self._toolset.close()


def _confirmed(tool: BaseTool, check: Check) -> BaseTool:
    """Return a copy of the tool that requires confirmation if the check says so."""
    tool = copy(tool)
    tool.check_require_confirmation = check  # type: ignore[method-assign]
    return tool


@dataclass(frozen=True)
class _UnlessKnown:
    """Requires confirmation if the tool does, or for an address of unknown origin."""

    addresses: Addresses
    tool: BaseTool

    async def __call__(self, args: dict[str, Any], tool_context: ToolContext) -> bool:
        if await self.tool.check_require_confirmation(args, tool_context) is True:
            return True
        if is_nested(tool_context):  # no confirmation is possible there: `refuse` has answered
            return False
        return self.addresses.unknown(self.tool.name, args, tool_context) is not None


async def _always(args: dict[str, Any], tool_context: ToolContext) -> bool:
    return True
