"""One clerk, made in four ways: it counts what it is told, asks before it pays, fails and hangs.

What it says depends on the whole conversation. As a program it goes on with conversations that
another process has begun: `python -m tests.support.clerk` reads `[[kind, state, input], ...]`.
"""

import asyncio
import json
import re
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from google.adk.agents.llm_agent import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.function_tool import FunctionTool
from google.genai.types import (
    Content,
    FunctionCall,
    GenerateContentResponseUsageMetadata,
    Part,
)
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from pydantic import JsonValue

from oda.adapter import (
    AdkAgent,
    Agent,
    AgentAction,
    AgentInput,
    AgentMessage,
    AgentOutput,
    LangGraphAgent,
    PlainAgent,
    RemoteAgent,
)

FAIL, HANG, BEGINNING = "fail", "hang", "one "
DOWN = "the line is down"

_PAY = re.compile(r"pay (\d+)")


def reply_to(texts: Sequence[str]) -> str:
    """What the clerk says to the last of all texts it was told."""
    counted = [text for text in texts if text not in (FAIL, HANG)]
    return f"{len(counted)}: {counted[-1]}"


def paid(agreed: bool) -> str:
    return "paid" if agreed else "not paid"


class PlainClerk:
    """The clerk as a class."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.asked = False

    async def step(self, input: AgentInput) -> AsyncGenerator[AgentMessage | AgentOutput, None]:
        if self.asked and input.answers:
            self.asked = False
            yield self.say(paid(input.confirmed))
            return
        self.texts.append(input.content)
        if input.content == FAIL:
            raise ConnectionError(DOWN)
        if input.content == HANG:
            yield AgentMessage(content=BEGINNING, partial=True)
            await asyncio.Event().wait()
        if found := _PAY.fullmatch(input.content):
            self.asked = True
            yield AgentOutput(action=AgentAction.REQUEST_CONFIRM, content=f"Pay {found[1]}?")
            return
        reply = reply_to(self.texts)
        for piece in re.findall(r"\S+\s*", reply):
            yield AgentMessage(content=piece, partial=True)
        yield AgentMessage(content=reply)
        yield self.say(reply)

    def say(self, reply: str) -> AgentOutput:
        return AgentOutput(action=AgentAction.WAIT_INPUT, content=reply)

    def export_state(self) -> dict[str, JsonValue]:
        return {"texts": [*self.texts], "asked": self.asked}

    def load_state(self, state: Mapping[str, Any]) -> None:
        self.texts, self.asked = list(state["texts"]), state["asked"]


class ClerkModel(BaseLlm):
    """The clerk as a model of an ADK agent."""

    model: str = "clerk"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        said = [part for content in llm_request.contents for part in content.parts or ()]
        users = [c for c in llm_request.contents if c.role == "user"]
        texts = [part.text for content in users for part in content.parts or () if part.text]
        if (result := said[-1].function_response) is not None:
            reply = paid("error" not in (result.response or {}))
        elif texts[-1] == FAIL:
            raise ConnectionError(DOWN)
        elif texts[-1] == HANG:
            yield _spoken(BEGINNING, partial=True)
            await asyncio.Event().wait()
        elif found := _PAY.fullmatch(texts[-1]):
            call = FunctionCall(name="pay", args={"amount": int(found[1])})
            yield LlmResponse(content=Content(role="model", parts=[Part(function_call=call)]))
            return
        else:
            reply = reply_to(texts)
        for piece in re.findall(r"\S+\s*", reply) if stream else ():
            yield _spoken(piece, partial=True)
        yield _spoken(reply, partial=False)


USED = GenerateContentResponseUsageMetadata(
    prompt_token_count=2, candidates_token_count=3, total_token_count=5
)
"""By each answer of the model."""


def _spoken(text: str, *, partial: bool) -> LlmResponse:
    content = Content(role="model", parts=[Part(text=text)])
    return LlmResponse(content=content, partial=partial, usage_metadata=None if partial else USED)


def pay(amount: int) -> str:
    """Pay an amount."""
    return f"{amount} paid"


def clerk_agent() -> LlmAgent:
    """The clerk as an ADK agent."""
    tools = [FunctionTool(pay, require_confirmation=True)]
    return LlmAgent(name="clerk", description="Pays.", model=ClerkModel(), tools=tools)


async def _work(state: MessagesState) -> dict[str, list[AIMessage]]:
    texts = [str(m.content) for m in state["messages"] if isinstance(m, HumanMessage)]
    if texts[-1] == FAIL:
        raise ConnectionError(DOWN)
    if texts[-1] == HANG:
        get_stream_writer()(BEGINNING)
        await asyncio.Event().wait()
    if found := _PAY.fullmatch(texts[-1]):
        return {"messages": [AIMessage(paid(interrupt(f"Pay {found[1]}?")))]}
    model = GenericFakeChatModel(messages=iter([AIMessage(reply_to(texts))]))
    return {"messages": [await model.ainvoke(state["messages"])]}


CLERK_GRAPH = StateGraph(MessagesState).add_node("work", _work).add_edge(START, "work").compile()


def make_clerk(kind: str) -> Agent:
    """A new clerk; the kind is `plain`, `adk`, `langgraph`, or the URL of a remote one."""
    match kind:
        case "plain":
            return PlainAgent(PlainClerk, method="step", name="clerk")
        case "adk":
            return AdkAgent(clerk_agent())
        case "langgraph":
            return LangGraphAgent(CLERK_GRAPH, name="clerk")
        case url:
            return RemoteAgent(url, name="clerk")


async def _go_on(begun: Sequence[tuple[str, dict[str, JsonValue], Any]]) -> list[Any]:
    replies = []
    for kind, state, told in begun:
        clerk = make_clerk(kind)
        clerk.load_state(state)
        replies.append((await clerk.invoke(AgentInput.model_validate(told), None)).content)
    return replies


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_go_on(json.load(sys.stdin)))))
