"""The context of a step, including its access to models. Tokens are counted where they are used."""

import json
import re
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.events import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai.types import Content, GenerateContentResponseUsageMetadata, Part
from pydantic import BaseModel

from oda.agent.adk_roots import prepare_runner
from oda.agent.failure import ModelReportedError
from oda.agent.model.configured import configured_model
from oda.agent.model.registry import DEFAULT, model_configured
from oda.agent.resume import text_of
from oda.agent.running_turn import RunningTurn
from oda.errors import NoContentError, NotConfiguredError

T = TypeVar("T", bound=BaseModel)

_FENCED = re.compile(r"```(?:json)?\s*(.*?)\s*```", re.DOTALL)


class Used(NamedTuple):
    """The usage of one model call."""

    tokens: GenerateContentResponseUsageMetadata
    model: str | None
    """As the provider calls it."""


@dataclass(frozen=True)
class StepContext:
    """The user, the time, and the model usage of a step's call."""

    user_id: str
    now: datetime
    """In the user's time zone."""
    call_id: str = field(default_factory=lambda: uuid4().hex)
    """Stable over repetitions of this call by a turn: saves under this id are idempotent."""
    session_id: str | None = None
    """None for a step that is called by itself."""
    model: str = DEFAULT
    """Name in the configuration."""
    turn: RunningTurn | None = field(default=None, repr=False)
    """The turn whose limits apply; None outside of turns."""
    tells: Callable[[dict[str, Any]], None] | None = field(default=None, repr=False)
    """Receives what is passed to `tell`; None outside of turns."""
    used: list[Used] = field(default_factory=list)
    """The usage of each model call so far."""

    @property
    def today(self) -> date:
        """The user's day."""
        return self.now.date()

    @property
    def has_model(self) -> bool:
        """Whether the model is configured."""
        return model_configured(self.model)

    def tell(self, said: dict[str, Any]) -> None:
        """Report progress to the reader of the turn; nothing is stored."""
        if self.tells is not None:
            self.tells(said)

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
        self._may_ask()
        sessions = InMemorySessionService()
        runner = Runner(app_name=agent.name, agent=agent, session_service=sessions)
        prepare_runner(runner)
        session = await sessions.create_session(app_name=agent.name, user_id=self.user_id)
        for content in before:
            author = "user" if content.role == "user" else agent.name
            await sessions.append_event(session, Event(author=author, content=content))
        message = Content(role="user", parts=_parts(said))
        answer, reported = "", None
        run = runner.run_async(
            user_id=self.user_id,
            session_id=session.id,
            new_message=message,
            run_config=self._calls_left(),
        )
        async with aclosing(run) as events:
            async for event in events:
                if self._count(event):
                    self._called()
                if event.error_code:  # ADK reports an error as an event before it raises it
                    reported = ModelReportedError(event.error_code, event.error_message)
                elif text_of(event):
                    answer, reported = text_of(event), None
        if reported is not None:
            raise reported
        if not answer.strip():
            raise NoContentError("The model ended without an answer.")
        return answer

    def calls_left(self) -> int | None:
        """Return the number of model calls left for the turn; None if it is not limited.

        Raises:
            LimitExceededError: none are left, and no cheaper model takes over.
        """
        if self.turn is None:
            return None
        self.turn.check_limits(replaceable=True)
        limit = self.turn.limits.model_calls
        return None if limit is None else limit - self.turn.usage.model_calls

    def count(self, tokens: GenerateContentResponseUsageMetadata, model: str | None) -> None:
        """Count the usage of an answer that was received elsewhere."""
        self._called()
        self.used.append(Used(tokens, model))

    async def _complete(self, request: LlmRequest) -> str:
        self._may_ask()
        self._called()
        text = ""
        async with aclosing(
            configured_model(self.model).generate_content_async(request)
        ) as responses:
            async for response in responses:
                self._count(response)
                if response.error_code:
                    raise ModelReportedError(str(response.error_code), response.error_message)
                parts = (response.content and response.content.parts) or ()
                text += "".join(part.text or "" for part in parts if not part.thought)
        if not text.strip():
            raise NoContentError("The model ended without an answer.")
        return text

    def _may_ask(self) -> None:
        if not self.has_model:
            raise NotConfiguredError(
                "No model is configured.", remedy="set ODA_MODEL and the provider's key"
            )
        if self.turn is not None:
            self.turn.check_limits(replaceable=True)

    def _calls_left(self) -> RunConfig:
        left = self.calls_left()
        return RunConfig() if left is None else RunConfig(max_llm_calls=left)

    def _called(self) -> None:
        if self.turn is not None:
            self.turn.usage.model_calls += 1

    def _count(self, response: LlmResponse) -> bool:
        """Count the usage of a complete answer; return whether the answer is complete."""
        if response.usage_metadata is None or response.partial:
            return False
        self.used.append(Used(response.usage_metadata, response.model_version))
        return True


def _request(instruction: str, said: str | Sequence[Part]) -> LlmRequest:
    request = LlmRequest(contents=[Content(role="user", parts=_parts(said))])
    request.append_instructions([instruction])
    return request


def _parts(said: str | Sequence[Part]) -> list[Part]:
    return [Part(text=said)] if isinstance(said, str) else [*said]
