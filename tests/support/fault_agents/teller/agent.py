"""An agent that does what it is told, in so many words: `pay 7 and book 3 then pay 8, please`.

Its model is a function of the request. Its tools leave effects in the file that `ODA_TEST_EFFECTS`
names. It dies wherever `oda.cli.chaos.crash_points` is armed.
"""

import asyncio
import json
import os
import re
from collections import Counter
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.tool_context import ToolContext
from google.genai.types import (
    Content,
    FunctionCall,
    FunctionResponse,
    GenerateContentResponseUsageMetadata,
    Part,
)

from oda import idempotency_key, idempotent
from oda.cli.chaos.crash_points import reach

_PAUSE_S = 0.004
"""Between the pieces of an answer and around effects, so that a kill may come there."""

_CALL = re.compile(r"\b(pay|book) (\d+)\b")


class Teller(BaseLlm):
    """Makes the calls that the message names, step by step, and then repeats the message."""

    model: str = "teller"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        reach("model_called")
        await asyncio.sleep(_PAUSE_S)
        message, since = _said_last(llm_request.contents)
        if "stumble" in message and _first_time("stumbled"):
            if stream:
                part = Part(text="You sa")
                yield LlmResponse(content=Content(role="model", parts=[part]), partial=True)
            raise ConnectionError("The model has stumbled.")
        step = _next_step(message, since)
        if step:
            parts = [
                Part(function_call=FunctionCall(name=name, args={"amount": amount}))
                for name, amount in step
            ]
            yield _complete(parts)
            return
        answer = f"You said: {message}"
        if stream:
            size = max(16, len(answer) // 20)
            for begin in range(0, len(answer), size):
                part = Part(text=answer[begin : begin + size])
                yield LlmResponse(content=Content(role="model", parts=[part]), partial=True)
                await asyncio.sleep(_PAUSE_S)
                if begin:
                    reach("model_streaming")
        else:
            reach("model_streaming")
        yield _complete([Part(text=answer)])


def _first_time(name: str) -> bool:
    """Whether nobody has done it yet, in this life or before."""
    try:
        os.close(os.open(f"{os.environ['ODA_TEST_EFFECTS']}.{name}", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def _complete(parts: list[Part]) -> LlmResponse:
    usage = GenerateContentResponseUsageMetadata(prompt_token_count=3, candidates_token_count=2)
    return LlmResponse(content=Content(role="model", parts=parts), usage_metadata=usage)


def _said_last(contents: list[Content]) -> tuple[str, list[FunctionResponse]]:
    """The newest message of the user, and the results that have come since."""
    message, since = "", []
    for content in contents:
        for part in content.parts or ():
            if part.function_response:
                since.append(part.function_response)
            elif part.text and content.role == "user":
                message, since = part.text, []
    return message, since


def _next_step(message: str, results: list[FunctionResponse]) -> list[tuple[str, int]]:
    """The calls of the first step that is not done; results do not tell amounts, so they count."""
    done = Counter(
        result.name for result in results if (result.response or {}).get("status") != "repeated"
    )
    for step in message.split(" then "):
        left = []
        for name, amount in _CALL.findall(step):
            if done[name]:
                done[name] -= 1
            else:
                left.append((name, int(amount)))
        if left:
            return left
    return []


async def pay(amount: int, tool_context: ToolContext) -> dict[str, int]:
    """Pay an amount; twice if called twice."""
    reach("in_tool")
    await asyncio.sleep(_PAUSE_S)
    _leave_effect("pay", amount, tool_context)
    reach("after_effect")
    await asyncio.sleep(_PAUSE_S)
    return {"paid": amount}


@idempotent
def book(amount: int, tool_context: ToolContext) -> dict[str, int]:
    """Book seats; once for each idempotency key."""
    reach("in_tool")
    _leave_effect("book", amount, tool_context)
    reach("after_effect")
    return {"booked": amount}


def _leave_effect(tool: str, amount: int, context: ToolContext) -> None:
    effect: dict[str, Any] = {
        "tool": tool,
        "amount": amount,
        "key": idempotency_key(context),
        "session_id": context.session.id,
    }
    file = os.open(os.environ["ODA_TEST_EFFECTS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, json.dumps(effect).encode() + b"\n")
        os.fsync(file)
    finally:
        os.close(file)


app = App(
    name="teller",
    root_agent=LlmAgent(
        name="teller",
        model=Teller(),
        description="Pays and books.",
        tools=[pay, book],
    ),
)
