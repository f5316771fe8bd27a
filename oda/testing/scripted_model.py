"""An ADK model that plays a script inside the process, without network and without LiteLLM."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Annotated, Any, Literal

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import ConfigDict, Field, PrivateAttr

from .outcome import Outcome, ScriptedHttpError, outcome_of
from .playback import Playback
from .script import BaseStep, Cue, Echo, Step

__all__ = ["Raise", "Respond", "ScriptedHttpError", "ScriptedModel"]


class Raise(BaseStep):
    """The model call raises `exception`; when streaming, after it has sent `after_chunks`."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    type: Literal["raise"] = "raise"
    exception: Exception
    after_chunks: tuple[str, ...] = ()


class Respond(BaseStep):
    """The model call yields these ADK responses as they are, streaming or not."""

    type: Literal["respond"] = "respond"
    responses: tuple[LlmResponse, ...]


InProcessStep = Step | Raise | Respond


class ScriptedModel(BaseLlm):
    """A model for agents under test::

    model = ScriptedModel(steps=[Raise(exception=TimeoutError()), Text(text="Hello")])
    agent = LlmAgent(name="greeter", model=model)
    ...
    assert len(model.requests) == 2
    """

    model: str = "scripted"
    steps: tuple[Annotated[InProcessStep, Field(discriminator="type")], ...] = ()
    default: Annotated[InProcessStep, Field(discriminator="type")] = Echo()
    """Answers every call that no step is left for."""
    sleep: Callable[[float], Awaitable[object]] = Field(default=asyncio.sleep, exclude=True)
    """Waits for the given number of seconds; `FakeClock.sleep` does not."""

    _playback: Playback[InProcessStep] = PrivateAttr()
    _requests: list[LlmRequest] = PrivateAttr(default_factory=list)

    def model_post_init(self, context: Any, /) -> None:
        self._playback = Playback(self.steps, default=self.default)

    @property
    def requests(self) -> tuple[LlmRequest, ...]:
        """The requests seen so far, as they were when they came."""
        return tuple(self._requests)

    @property
    def remaining(self) -> tuple[InProcessStep, ...]:
        """Steps that no call has taken yet; without those that answer for ever."""
        return self._playback.remaining

    def add(self, *steps: InProcessStep) -> None:
        """Append steps to the script."""
        self._playback.add(*steps)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self._requests.append(
            llm_request.model_copy(update={"contents": list(llm_request.contents)})
        )
        cue = _cue_of(llm_request, self.model)
        step = self._playback.take(cue)
        outcome = _outcome(step, cue, llm_request)
        pauses_s = outcome.interval_s * max(0, len(outcome.chunks) - 1)
        await self._wait(step.delay_s if stream else step.delay_s + pauses_s)
        if stream:
            for index, chunk in enumerate(outcome.chunks):
                await self._wait(outcome.interval_s if index else 0.0)
                part = types.Part(text=chunk)
                yield LlmResponse(content=types.Content(role="model", parts=[part]), partial=True)
        if outcome.stalls:
            await asyncio.Event().wait()
        if outcome.failure is not None:
            raise outcome.failure
        for response in outcome.responses:
            yield response.model_copy(deep=True)

    async def _wait(self, seconds: float) -> None:
        if seconds > 0:
            await self.sleep(seconds)


def _outcome(step: InProcessStep, cue: Cue, request: LlmRequest) -> Outcome:
    match step:
        case Raise():
            return Outcome(chunks=step.after_chunks, failure=step.exception)
        case Respond():
            return Outcome(responses=step.responses)
        case _:
            characters = sum(len(_text(content)) for content in request.contents)
            return outcome_of(step, cue=cue, prompt_characters=characters)


def _cue_of(request: LlmRequest, model: str) -> Cue:
    texts = (_text(content) for content in reversed(request.contents) if content.role == "user")
    newest = request.contents[-1].parts if request.contents else None
    system = request.config.system_instruction
    return Cue(
        model=request.model or model,
        system=system if isinstance(system, str) else str(system or ""),
        last_user=next(filter(None, texts), ""),
        after_tool=any(part.function_response for part in newest or ()),
        has_schema=request.config.response_mime_type == "application/json",
    )


def _text(content: types.Content) -> str:
    return "\n".join(part.text for part in content.parts or () if part.text)
