"""An agent's tools under its policy: what is barred is not shown, and a call of it is refused.

A tool that a model is not shown does not exist for ADK; a call of it reaches the callbacks under
the name that the model gave. There it is answered and written down, as is a call of a tool that
nobody has. The tools that ADK adds by itself, such as `transfer_to_agent`, are none of ours.
"""

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import asdict, dataclass
from typing import Any

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
from oda.tools.capability import tool_name
from oda.tools.idempotency import call_key
from oda.tools.policy import Decision, EntryMode, ToolPolicy

log = get_logger(__name__)

_LONGEST_NAME = 128


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


RefusalSink = Callable[[ToolRefusal], object]

default_refusal_sink: LoopDefault[RefusalSink] = LoopDefault()
"""Where refusals go besides the log; set by the composition root."""


@dataclass(frozen=True)
class PolicedTools:
    """A policy in one entry mode, applied to tools."""

    policy: ToolPolicy
    mode: EntryMode

    def of(self, tools: Iterable[ToolUnion]) -> Iterator[ToolUnion]:
        """What of the tools an agent gets; toolsets are looked through whenever they are listed.

        Raises:
            ConfigurationError: a person is to approve what ADK does not let be approved.
        """
        for tool in tools:
            if isinstance(tool, BaseToolset):
                yield PolicedToolset(tool, self)
            elif (permitted := self._permitted(tool)) is not None:
                yield permitted

    def of_toolset(self, tools: Iterable[BaseTool]) -> list[BaseTool]:
        """What of a toolset's tools an agent gets, and what only says that the others are away."""
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
                return _confirmed(tool)
            case "allowed":
                return tool

    def _decide(self, name: str) -> Decision:
        return self.policy.decide(name, self.mode)

    async def refuse(
        self, tool: BaseTool, args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """The answer to a call of a tool that the agent does not have; a `before_tool_callback`."""
        if type(tool) is not BaseTool:  # ADK's stand-in for a tool that does not exist
            return None
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
        message = (
            f"You may not call the tool {refusal.tool!r} in this run. Do not try again: go on "
            "with the tools that you have, or say what you could not do."
        )
        return {"error": {"code": ToolRefusedError.code, "message": message}, "status": "refused"}


class PolicedToolset(BaseToolset):
    """A toolset of which an agent sees what its policy lets through."""

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


def _confirmed(tool: BaseTool) -> BaseTool:
    """A copy of the tool, before each call of which ADK asks a person."""
    tool = copy(tool)
    tool.check_require_confirmation = _always  # type: ignore[method-assign]
    return tool


async def _always(args: dict[str, Any], tool_context: ToolContext) -> bool:
    return True
