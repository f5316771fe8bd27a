"""The MCP server of an app for one request: its tools and resources."""

from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Any, TypeVar

from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    InputRequiredResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    TextContent,
)

from oda.clock import SystemClock
from oda.server.mcp.artifacts import listed, read, template_of
from oda.server.mcp.following import Wire, outcome
from oda.server.mcp.peer import can_elicit
from oda.server.mcp.questions import Question, form_of, question_of
from oda.server.mcp.tools import ANSWER, ASK, tools_of
from oda.server.mcp.visit import Visit
from oda.server.orchestrator.steps import call_step
from oda.server.problems import Refusal, problem_of
from oda.turn.record import Turn

Context = ServerRequestContext[Any, Any]
Elicit = Callable[[Turn, Question], Awaitable[bool]]

_ANY = TypeVar("_ANY")
_INSTRUCTIONS = (
    "Send messages with `ask`; give it the session_id of its result to go on with a conversation. "
    "A result that is waiting has questions: ask the user, then call `answer`."
)


def make_server(visit: Visit, elicit: Elicit | None = None) -> Server[Any]:
    """Create the server that answers one request.

    Args:
        elicit: Sends a question to the client's user while the request waits; without it, a
            client of a version that hands questions back gets them as a result.
    """
    app = visit.app

    async def list_tools(_: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=tools_of(visit.definition.description, visit.steps))

    async def call_tool(
        context: Context, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        if params.name in (ASK, ANSWER) and visit.begun is not None:
            wire = _OwnStream(context, elicit)
            return await told(visit, outcome(visit, visit.begun, wire))
        return await told(visit, _stepped(visit, params.name))

    async def list_resources(
        _: Context, params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        return await told(visit, listed(visit, params.cursor if params else None))

    async def list_templates(
        _: Context, params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=[template_of(app)])

    async def read_resource(_: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        return await told(visit, read(visit, str(params.uri)))

    return Server(
        app,
        version=version("oda"),
        title=app.replace("_", " ").capitalize(),
        description=visit.definition.description or None,
        instructions=_INSTRUCTIONS,
        get_tool_input_schema=lambda name: None,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


async def told(visit: Visit, work: Awaitable[_ANY]) -> _ANY:
    """Do some work; what goes wrong is an error of the protocol.

    Raises:
        MCPError: it went wrong; it never says more than a problem over HTTP would.
    """
    try:
        return await work
    except MCPError:
        raise
    except Exception as error:
        raise protocol_error(visit, error) from error


def protocol_error(visit: Visit, error: Exception) -> MCPError:
    """Return an error as the protocol tells it, with the problem as its data."""
    problem = problem_of(visit.request, error)
    data = problem.model_dump(exclude_none=True)
    return MCPError(code_of(problem.status), problem.detail, data)


def code_of(status: int) -> int:
    """Return the JSON-RPC code for an HTTP status."""
    if status in (400, 404, 422):
        return INVALID_PARAMS
    return INTERNAL_ERROR if status >= 500 else INVALID_REQUEST


async def _stepped(visit: Visit, name: str) -> CallToolResult:
    """Call a step of an orchestrator; its failure is for the model that has called it."""
    step = next((one for one in visit.steps if one.name == name), None)
    if step is None or visit.arguments is None:
        raise MCPError(INVALID_PARAMS, f"Unknown tool: {name}")
    rules = visit.definition.app.root_agent.leader.rules  # type: ignore[union-attr]
    try:
        answer = await call_step(step, visit.arguments, visit.conversations, rules, SystemClock())
    except Refusal as error:
        text = f"{error.told_code}: {error.message}"
        return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)
    return CallToolResult(
        content=[TextContent(type="text", text=answer.model_dump_json())],
        structured_content=answer.model_dump(mode="json"),
    )


class _OwnStream(Wire):
    """The stream of the request that is being answered."""

    def __init__(self, context: Context, elicit: Elicit | None) -> None:
        self._context = context
        self._elicit = elicit

    async def progress(self, at: float, message: str) -> None:
        await self._context.session.report_progress(at, message=message)

    async def elicit(self, turn: Turn, question: Question) -> bool:
        return self._elicit is not None and await self._elicit(turn, question)

    def handed_back(self, turn: Turn) -> InputRequiredResult | None:
        capabilities = self._context.session.client_capabilities
        if self._elicit is not None or capabilities is None:
            return None
        if not can_elicit(capabilities.model_dump(by_alias=True, exclude_none=True)):
            return None
        questions = map(question_of, turn.pending_input)
        return InputRequiredResult(
            input_requests={one.id: ElicitRequest(params=form_of(one)) for one in questions},
            request_state=turn.turn_id,
        )
