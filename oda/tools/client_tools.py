"""Tools of the client: a model calls them, the client runs them, and the turn waits meanwhile.

What a client offers stands in the turn, so it is the same after a crash and on every node.
"""

from collections.abc import Iterable
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai.types import FunctionDeclaration
from pydantic import BaseModel, ConfigDict

CLIENT_CALLS = "oda_client_calls"
"""Key in the `custom_metadata` of an event: the ids of its calls of tools of the client."""


class ClientTool(BaseModel):
    """A tool as the client describes it."""

    model_config = ConfigDict(frozen=True)

    name: str
    description: str = ""
    parameters: dict[str, Any] | None = None
    """JSON Schema of its arguments."""


class OfferedTool(BaseTool):
    """A tool of the client, for a model. ADK ends the run at a call, whose result comes later."""

    def __init__(self, tool: ClientTool) -> None:
        super().__init__(name=tool.name, description=tool.description, is_long_running=True)
        self._parameters = tool.parameters

    def _get_declaration(self) -> FunctionDeclaration:
        return FunctionDeclaration(
            name=self.name,
            description=self.description,
            parameters_json_schema=self._parameters or {"type": "object", "properties": {}},
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> None:
        """Return no result: it comes with an answer to the turn."""


def offer(tools: Iterable[ClientTool], request: LlmRequest) -> None:
    """Add tools of the client to a model call, but none that has the name of an agent's own."""
    offered = [OfferedTool(tool) for tool in tools if tool.name not in request.tools_dict]
    if offered:
        request.append_tools([*offered])


def offered_names(request: LlmRequest) -> frozenset[str]:
    """Return the names of the client's tools in a model call."""
    tools = request.tools_dict.items()
    return frozenset(name for name, tool in tools if isinstance(tool, OfferedTool))
