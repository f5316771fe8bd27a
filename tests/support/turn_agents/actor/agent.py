"""An agent without a real model, which does what it is told.

`hold NAME` answers when the test says so, `late NAME` asks its model only then, `pay 1 2` asks a
person about each payment, `stream a b` says it word by word, `dictate NAME a b` as well but waits
before the last word, `alone NAME` shows how many do it at once; what else it is told it repeats.
"""

import asyncio
from collections.abc import AsyncGenerator

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.function_tool import FunctionTool
from google.genai.types import Content, FunctionCall, Part

from tests.support.cues import cues


def pay(amount: int) -> dict[str, int]:
    """Pay an amount, if a person approves."""
    cues.paid.append(amount)
    return {"paid": amount}


class Actor(BaseLlm):
    """Reads what to do in the user's last text."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        parts = llm_request.contents[-1].parts or []
        if any(part.function_response for part in parts):
            answers = [part.function_response.response for part in parts if part.function_response]
            yield _said(f"result {answers}")
            return
        text = parts[-1].text or ""
        verb, *words = text.split()
        cues.asked.append(text)
        if verb == "hold":
            cues.begun[words[0]].set()
            await cues.go[words[0]].wait()
        if verb == "alone":
            with cues.inside(words[0]):
                await asyncio.sleep(0.01)
        if verb == "pay":
            yield LlmResponse(content=Content(role="model", parts=[_pay(word) for word in words]))
            return
        if verb == "stream" and stream:
            for word in words:
                yield _said(f"{word} ", partial=True)
        if verb == "dictate" and stream:
            name, *words = words
            for word in words:
                if word == words[-1]:
                    cues.begun[name].set()
                    await cues.go[name].wait()
                yield _said(f"{word} ", partial=True)
        yield _said(text)


def _pay(amount: str) -> Part:
    return Part(function_call=FunctionCall(name="pay", args={"amount": int(amount)}))


def _said(text: str, *, partial: bool | None = None) -> LlmResponse:
    return LlmResponse(content=Content(role="model", parts=[Part(text=text)]), partial=partial)


async def _come_late(callback_context: CallbackContext) -> None:
    parts = (callback_context.user_content and callback_context.user_content.parts) or ()
    verb, _, name = (parts[0].text or "" if parts else "").partition(" ")
    if verb == "late":
        cues.begun[name].set()
        await cues.go[name].wait()


root_agent = LlmAgent(
    name="actor",
    before_agent_callback=_come_late,
    model=Actor(model="actor"),
    tools=[FunctionTool(pay, require_confirmation=True)],
)
