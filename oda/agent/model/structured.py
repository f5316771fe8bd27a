"""Answers in a form, from any model: by its provider's JSON schema, else by the prompt.

An answer that does not fit is asked for once more, with what was wrong. What a provider makes of
its schema parameter is remembered for a while: one that refuses it, or ignores it, gets the schema
in the prompt at once.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai.types import Content, GenerateContentResponseUsageMetadata, Part
from opentelemetry import trace
from pydantic import Field

from oda.agent.failure import classify
from oda.agent.model.answer_form import ANSWER_TOOL_OF_ADK, FORM_KEY, AnswerForm, UnfitText
from oda.agent.model.gate import calls_left
from oda.telemetry import get_logger

if TYPE_CHECKING:
    from google.adk.models._capabilities import LlmCapabilities

log = get_logger(__name__)

MISSHAPEN = "MISSHAPEN_ANSWER"
"""Error code of an answer that did not fit when it was asked for once more, either."""

REMEMBERED_S = 600.0
"""How long it is remembered what a provider makes of its schema parameter."""

Way = Literal["parameter", "both", "prompt"]
"""Where the schema stands. `both`: the parameter is accepted, and was ignored."""

_COUNTS = (
    "prompt_token_count",
    "candidates_token_count",
    "thoughts_token_count",
    "total_token_count",
    "cached_content_token_count",
)


@dataclass
class _Memory:
    """What is known of a provider's schema parameter. Times are seconds of the caller's clock."""

    _refused_until: float = 0.0
    _ignored_until: float = 0.0

    def way(self, now: float) -> Way:
        if now < self._refused_until:
            return "prompt"
        return "both" if now < self._ignored_until else "parameter"

    def refused(self, now: float) -> None:
        self._refused_until = now + REMEMBERED_S

    def ignored(self, now: float) -> None:
        self._ignored_until = now + REMEMBERED_S


@dataclass
class _Answering:
    """One answer on its way."""

    form: AnswerForm
    way: Way
    asked: LlmRequest
    """The request as it was sent last."""
    usage: list[GenerateContentResponseUsageMetadata] = field(default_factory=list)
    problem: str | None = None
    """What was wrong with the first answer."""
    calls: int = 0

    @property
    def may_go_on(self) -> bool:
        """Whether the limits of the turn allow a further call."""
        left = calls_left.get()
        return left is None or left > self.calls


class Structured(BaseLlm):
    """A model whose answers fit the schema of the request, or end with the error `MISSHAPEN`."""

    target: BaseLlm
    clock: Any
    memory: _Memory = Field(default_factory=_Memory, exclude=True)

    @property
    def capabilities(self) -> "LlmCapabilities":
        return self.target.capabilities

    def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        form = AnswerForm.wanted_by(llm_request)
        if form is None:
            return self.target.generate_content_async(llm_request, stream)
        return self._formed(llm_request, form, stream)

    async def _formed(
        self, request: LlmRequest, form: AnswerForm, stream: bool
    ) -> AsyncGenerator[LlmResponse, None]:
        way: Way = "parameter" if form.by_tool else self.memory.way(self.clock.now())
        answering = _Answering(form, way, _asking(request, form, way))
        whole = None
        async with aclosing(self._first_answer(request, answering, stream)) as responses:
            async for response in responses:
                if response.partial:
                    yield response
                else:
                    whole = response
        if whole is None:
            return
        answer, unfit = _fitted(whole, form)
        if unfit is not None:
            answering.problem = str(unfit)
            if answering.way == "parameter" and not unfit.has_json and _text(whole).strip():
                self.memory.ignored(self.clock.now())
            answer = await self._repaired(whole, answering)
        yield _on_record(answer, answering, self.model)

    async def _first_answer(
        self, request: LlmRequest, answering: _Answering, stream: bool
    ) -> AsyncGenerator[LlmResponse, None]:
        """Yield the responses; a parameter that is refused is left out."""
        refusal: Exception | None = None
        try:
            async with aclosing(self._call(answering, stream)) as responses:
                async for response in responses:
                    yield response
        except Exception as error:
            has_parameter = answering.way != "prompt" and not answering.form.by_tool
            if not (has_parameter and self._may_refuse(error) and answering.may_go_on):
                raise
            refusal = error
        if refusal is None:
            return
        answering.way = "prompt"
        answering.asked = _asking(request, answering.form, "prompt")
        async with aclosing(self._call(answering, stream)) as responses:
            async for response in responses:
                if not response.partial:
                    # Only now is it known that it was the parameter, not the rest of the request.
                    self.memory.refused(self.clock.now())
                    log.info("schema_refused", model=self.model, reason=str(refusal))
                yield response

    async def _repaired(self, unfit: LlmResponse, answering: _Answering) -> LlmResponse:
        """Return what the model answers when it is told what was wrong, or an error."""
        log.info("answer_misshapen", model=self.model, problem=answering.problem)
        if not answering.may_go_on:
            return _misshapen(unfit, answering.problem)
        contents = [*answering.asked.contents, *_objection(unfit, answering)]
        answering.asked = answering.asked.model_copy(update={"contents": contents})
        answer = LlmResponse()
        async with aclosing(self._call(answering, stream=False)) as responses:
            async for response in responses:
                answer = response
        answer, still = _fitted(answer, answering.form)
        if still is None:
            return answer
        log.warning("answer_misshapen_again", model=self.model, problem=str(still))
        return _misshapen(answer, str(still))

    async def _call(self, answering: _Answering, stream: bool) -> AsyncGenerator[LlmResponse, None]:
        answering.calls += 1
        asked = self.target.generate_content_async(answering.asked, stream)
        async with aclosing(asked) as responses:
            async for response in responses:
                if not response.partial and response.usage_metadata is not None:
                    answering.usage.append(response.usage_metadata)
                yield response

    def _may_refuse(self, error: Exception) -> bool:
        """Return whether an error may be the refusal of a schema, also by the client library."""
        code = classify(error, now=self.clock.now()).code
        return code in ("bad_request", "programming_error")


def _asking(request: LlmRequest, form: AnswerForm, way: Way) -> LlmRequest:
    """Return the request with the schema where it shall stand; the given one is not changed."""
    if way == "parameter":
        return request
    config = request.config.model_copy()
    if way == "prompt":
        config.response_schema = config.response_json_schema = config.response_mime_type = None
    asking = request.model_copy(update={"config": config})
    asking.append_instructions([form.instruction])
    return asking


def _fitted(answer: LlmResponse, form: AnswerForm) -> tuple[LlmResponse, UnfitText | None]:
    """Return an answer whose text is the JSON that fits, or why there is none.

    Answers that failed or call tools are left as they are.
    """
    parts = (answer.content and answer.content.parts) or []
    if answer.error_code or any(part.function_call for part in parts):
        return answer, None
    text = _text(answer)
    try:
        fitting = form.fitting(text)
    except UnfitText as error:
        return answer, error
    if fitting == text:
        return answer, None
    kept = [part for part in parts if part.thought]
    content = Content(role="model", parts=[*kept, Part(text=fitting)])
    return answer.model_copy(update={"content": content}), None


def _text(answer: LlmResponse) -> str:
    parts = (answer.content and answer.content.parts) or []
    return "".join(part.text or "" for part in parts if not part.thought)


def _objection(unfit: LlmResponse, answering: _Answering) -> list[Content]:
    """Return what follows on an answer that does not fit."""
    told = f"Your answer cannot be used: {answering.problem}. Answer once more. "
    if answering.form.by_tool:
        told += f"Call {ANSWER_TOOL_OF_ADK}, or: "
    told += answering.form.instruction
    objection = Content(role="user", parts=[Part(text=told)])
    said = _text(unfit)
    if not said.strip():
        return [objection]
    return [Content(role="model", parts=[Part(text=said)]), objection]


def _misshapen(answer: LlmResponse, problem: str | None) -> LlmResponse:
    return LlmResponse(
        error_code=MISSHAPEN,
        error_message=f"The model's answer does not have the form that was asked for: {problem}.",
        model_version=answer.model_version,
        usage_metadata=answer.usage_metadata,
    )


def _on_record(answer: LlmResponse, answering: _Answering, model: str) -> LlmResponse:
    """Return the answer with its whole usage and, if its form took an effort, a note of that."""
    if answering.way == "parameter" and answering.calls == 1:
        return answer
    note = {"schema_in": answering.way, "calls": answering.calls, "problem": answering.problem}
    trace.get_current_span().set_attribute(
        f"oda.answer_form.{model}", " ".join(f"{name}={value}" for name, value in note.items())
    )
    return answer.model_copy(
        update={
            "usage_metadata": _sum(answering.usage),
            "custom_metadata": {**(answer.custom_metadata or {}), FORM_KEY: note},
        }
    )


def _sum(
    usages: list[GenerateContentResponseUsageMetadata],
) -> GenerateContentResponseUsageMetadata | None:
    if len(usages) < 2:
        return usages[0] if usages else None
    counts = {name: sum(getattr(one, name) or 0 for one in usages) for name in _COUNTS}
    return GenerateContentResponseUsageMetadata(**counts)
