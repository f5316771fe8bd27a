"""The context of a step, including its access to models. Tokens are counted where they are used."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

from google.adk.agents._streaming_mode import StreamingMode
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.events import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai.types import Blob, Content, GenerateContentResponseUsageMetadata, Part
from pydantic import BaseModel

from oda.agent.adk_roots import prepare_runner
from oda.agent.failure import ModelReportedError
from oda.agent.model.answer_form import FORM_KEY, calls_of
from oda.agent.model.configured import configured_model
from oda.agent.model.registry import DEFAULT, model_configured
from oda.agent.resume import text_of
from oda.agent.running_turn import RunningTurn
from oda.errors import NoContentError, NotConfiguredError

T = TypeVar("T", bound=BaseModel)


class Used(NamedTuple):
    """The usage of one answer of a model."""

    tokens: GenerateContentResponseUsageMetadata
    model: str | None
    """As the provider calls it."""
    form: Mapping[str, Any] | None = None
    """What its form took, if more than the provider's parameter for it."""


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
    app: str = ""
    """"" for a step that is called by itself."""
    keeps: Callable[[str, Part], Awaitable[int]] | None = field(default=None, repr=False)
    """Keeps a file of the session; None outside of turns."""
    tells: Callable[[dict[str, Any]], None] | None = field(default=None, repr=False)
    """Receives what is passed to `tell`; None outside of turns."""
    says: Callable[[str], None] | None = field(default=None, repr=False)
    """Receives what is passed to `say`; None outside of turns."""
    used: list[Used] = field(default_factory=list)
    """The usage of each answer so far."""

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

    def say(self, piece: str) -> None:
        """Show the person a piece of the reply while it is being written; nothing is stored.

        The reply of the turn takes the place of all pieces, also where it differs from them.
        """
        if self.says is not None:
            self.says(piece)

    async def keep(self, name: str, content: bytes, media_type: str) -> int:
        """Keep a file as the newest version of an artifact of the session; return its version.

        Raises:
            NotConfiguredError: the step is called by itself, without a session.
        """
        if self.keeps is None:
            raise NotConfiguredError(
                "There is no session to keep a file in.", remedy="say it in a session"
            )
        blob = Blob(data=content, mime_type=media_type, display_name=name)
        return await self.keeps(name, Part(inline_data=blob))

    async def ask(
        self,
        instruction: str,
        said: str | Sequence[Part],
        answer: type[T],
        hears: Callable[[str], None] | None = None,
    ) -> T:
        """Have a model answer in the shape of `answer`.

        Args:
            hears: Receives the text of the answer piece by piece, while it is being written; it is
                not known yet whether it fits.

        Raises:
            NotConfiguredError: there is no model.
            ModelReportedError: it has answered nonsense twice, with the code `MISSHAPEN_ANSWER`;
                or its answer was cut off or filtered.
        """
        request = _request(instruction, said)
        request.set_output_schema(answer)
        return answer.model_validate_json(await self._complete(request, hears))

    async def write(self, instruction: str, said: str | Sequence[Part]) -> str:
        """Have a model answer in words.

        Raises:
            NotConfiguredError: there is no model.
        """
        return await self._complete(_request(instruction, said))

    async def consult(
        self,
        agent: LlmAgent,
        said: str | Sequence[Part],
        before: Sequence[Content] = (),
        *,
        hears: Callable[[str], None] | None = None,
        until: Callable[[], bool] = lambda: False,
    ) -> str:
        """Have an agent with tools answer, in a conversation of its own that is then forgotten.

        Args:
            before: What was said before, in turn by `user` and `model`.
            hears: Receives the text of the answer piece by piece, while it is being written.
            until: Becomes true by a tool after which no more words are wanted; the answer is then
                what was said so far.

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
            run_config=self._run_config(streams=hears is not None),
        )
        async with aclosing(run) as events:
            async for event in events:
                if self._count(event):
                    self._called(calls_of(event.custom_metadata))
                if event.partial:
                    if hears is not None and (piece := text_of(event)):
                        hears(piece)
                    continue
                if event.error_code:  # ADK reports an error as an event before it raises it
                    reported = ModelReportedError(event.error_code, event.error_message)
                elif text_of(event):
                    answer, reported = text_of(event), None
                if until():
                    return answer
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

    async def _complete(
        self, request: LlmRequest, hears: Callable[[str], None] | None = None
    ) -> str:
        self._may_ask()
        self._called()
        text = ""
        streams = hears is not None
        async with aclosing(
            configured_model(self.model).generate_content_async(request, stream=streams)
        ) as responses:
            async for response in responses:
                if self._count(response):
                    self._called(calls_of(response.custom_metadata) - 1)
                if response.error_code:
                    raise ModelReportedError(str(response.error_code), response.error_message)
                parts = (response.content and response.content.parts) or ()
                piece = "".join(part.text or "" for part in parts if not part.thought)
                if not response.partial:
                    text += piece
                elif hears is not None and piece:
                    hears(piece)
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

    def _run_config(self, *, streams: bool) -> RunConfig:
        left = self.calls_left()
        config = RunConfig(streaming_mode=StreamingMode.SSE) if streams else RunConfig()
        return config if left is None else config.model_copy(update={"max_llm_calls": left})

    def _called(self, calls: int = 1) -> None:
        if self.turn is not None:
            self.turn.usage.model_calls += calls

    def _count(self, response: LlmResponse) -> bool:
        """Count the usage of a complete answer; return whether the answer is complete."""
        if response.usage_metadata is None or response.partial:
            return False
        form = (response.custom_metadata or {}).get(FORM_KEY)
        self.used.append(Used(response.usage_metadata, response.model_version, form))
        return True


def _request(instruction: str, said: str | Sequence[Part]) -> LlmRequest:
    request = LlmRequest(contents=[Content(role="user", parts=_parts(said))])
    request.append_instructions([instruction])
    return request


def _parts(said: str | Sequence[Part]) -> list[Part]:
    return [Part(text=said)] if isinstance(said, str) else [*said]
