"""For whom a step works, and how it reaches models. Tokens are counted where they are used."""

import json
import re
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import TypeVar
from uuid import uuid4

from google.adk.agents.llm_agent import LlmAgent
from google.adk.events import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai.types import Content, GenerateContentResponseUsageMetadata, Part
from pydantic import BaseModel

from oda.agent.adk_roots import prepare_runner
from oda.agent.failure import ModelReportedError
from oda.agent.model.configured import configured_model
from oda.agent.model.registry import DEFAULT, model_configured
from oda.agent.resume import text_of
from oda.errors import NoContentError, NotConfiguredError

T = TypeVar("T", bound=BaseModel)

_FENCED = re.compile(r"```(?:json)?\s*(.*?)\s*```", re.DOTALL)


@dataclass(frozen=True)
class StepContext:
    """Who asks, when, and what models have used for it."""

    user_id: str
    now: datetime
    """In the user's time zone."""
    call_id: str = field(default_factory=lambda: uuid4().hex)
    """The same when a turn makes this call again: what is saved under it is saved once."""
    session_id: str | None = None
    """None for a step that is called by itself."""
    model: str = DEFAULT
    """Name in the configuration."""
    usage: list[GenerateContentResponseUsageMetadata] = field(default_factory=list)

    @property
    def today(self) -> date:
        """The user's day."""
        return self.now.date()

    @property
    def has_model(self) -> bool:
        """Whether there is a model to ask."""
        return model_configured(self.model)

    async def ask(self, instruction: str, said: str | Sequence[Part], answer: type[T]) -> T:
        """Have a model answer in the shape of `answer`.

        Raises:
            NotConfiguredError: there is no model.
            ValidationError: it has answered nonsense; that passes for a failure worth a retry.
        """
        request = _request(instruction, said)
        request.set_output_schema(answer)
        text = await self._complete(request)
        fenced = _FENCED.search(text)
        return answer.model_validate(json.loads(fenced[1] if fenced else text))

    async def write(self, instruction: str, said: str | Sequence[Part]) -> str:
        """Have a model answer in words.

        Raises:
            NotConfiguredError: there is no model.
        """
        return await self._complete(_request(instruction, said))

    async def consult(
        self, agent: LlmAgent, said: str | Sequence[Part], before: Sequence[Content] = ()
    ) -> str:
        """Have an agent with tools answer, in a conversation of its own that is then forgotten.

        Args:
            before: What was said before, in turn by `user` and `model`.

        Raises:
            NotConfiguredError: there is no model.
        """
        self._need_model()
        sessions = InMemorySessionService()
        runner = Runner(app_name=agent.name, agent=agent, session_service=sessions)
        prepare_runner(runner)
        session = await sessions.create_session(app_name=agent.name, user_id=self.user_id)
        for content in before:
            author = "user" if content.role == "user" else agent.name
            await sessions.append_event(session, Event(author=author, content=content))
        message = Content(role="user", parts=_parts(said))
        answer = ""
        run = runner.run_async(user_id=self.user_id, session_id=session.id, new_message=message)
        async with aclosing(run) as events:
            async for event in events:
                if event.usage_metadata is not None:
                    self.usage.append(event.usage_metadata)
                if event.error_code:
                    raise ModelReportedError(event.error_code, event.error_message)
                answer = text_of(event) or answer
        if not answer.strip():
            raise NoContentError("The model ended without an answer.")
        return answer

    async def _complete(self, request: LlmRequest) -> str:
        self._need_model()
        text = ""
        async with aclosing(
            configured_model(self.model).generate_content_async(request)
        ) as responses:
            async for response in responses:
                if response.usage_metadata is not None:
                    self.usage.append(response.usage_metadata)
                if response.error_code:
                    raise ModelReportedError(str(response.error_code), response.error_message)
                parts = (response.content and response.content.parts) or ()
                text += "".join(part.text or "" for part in parts if not part.thought)
        if not text.strip():
            raise NoContentError("The model ended without an answer.")
        return text

    def _need_model(self) -> None:
        if not self.has_model:
            raise NotConfiguredError(
                "No model is configured.", remedy="set ODA_MODEL and the provider's key"
            )


def _request(instruction: str, said: str | Sequence[Part]) -> LlmRequest:
    request = LlmRequest(contents=[Content(role="user", parts=_parts(said))])
    request.append_instructions([instruction])
    return request


def _parts(said: str | Sequence[Part]) -> list[Part]:
    return [Part(text=said)] if isinstance(said, str) else [*said]
