"""Code shared by the model APIs: declared tools, calls in chunks, and whole answers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from google.adk.models.llm_response import LlmResponse
from google.genai.types import (
    Content,
    FinishReason,
    FunctionCall,
    GenerateContentConfig,
    GenerateContentResponseUsageMetadata,
    Part,
)
from pydantic_core import to_json

from oda.agent.model.chat_schemas import call_arguments

RESULT_MISSING = "The outcome of this call is not known."
"""Sent for a result missing from the history, as servers reject a call without one."""


def json_text(value: object) -> str:
    """Return a value as JSON, also if it contains objects that are not serializable."""
    return to_json(value, inf_nan_mode="constants", serialize_unknown=True).decode()


def declarations(config: GenerateContentConfig) -> Iterator[Any]:
    """Yield the declarations of the functions that a model may call."""
    for tool in config.tools or ():
        yield from getattr(tool, "function_declarations", None) or ()


@dataclass
class CallPieces:
    """A function call whose arguments arrive in chunks."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def part(self, index: int) -> Part | None:
        """Return the call, or None if it has no name or its arguments are not an object.

        Args:
            index: Used as the id of a call without one.
        """
        try:
            args = call_arguments("".join(self.arguments))
        except ValueError:
            return None
        if not isinstance(args, dict) or not self.name:
            return None
        return Part(function_call=FunctionCall(id=self.id or str(index), name=self.name, args=args))


def said_parts(reasoning: Sequence[str], text: Sequence[str]) -> list[Part]:
    """Return at most one part of reasoning and one of text, each joined from its chunks."""
    parts = []
    if reasoning:
        parts.append(Part(text="".join(reasoning), thought=True))
    if text:
        parts.append(Part(text="".join(text)))
    return parts


def whole_answer(
    parts: Sequence[Part | None],
    reason: FinishReason | None,
    *,
    model: str | None,
    usage: GenerateContentResponseUsageMetadata | None,
) -> LlmResponse:
    """Return an answer, with an error code if it was cut off, filtered or malformed.

    Args:
        parts: The parts of the answer; None stands for an unreadable call. If there is one, all
            calls are dropped, as they may depend on each other.
        reason: The finish reason.
        model: The model's version.
        usage: Token counts.
    """
    broken = None in parts
    if broken and reason in (FinishReason.STOP, FinishReason.FINISH_REASON_UNSPECIFIED, None):
        reason = FinishReason.MALFORMED_FUNCTION_CALL
    kept = [part for part in parts if part and not (broken and part.function_call)]
    response = LlmResponse(
        content=Content(role="model", parts=kept),
        partial=False,
        finish_reason=reason,
        model_version=model,
        usage_metadata=usage,
    )
    if reason not in (FinishReason.STOP, None):
        response.error_code = reason
        response.error_message = f"The model's answer ended with {reason.value}."
        if not kept:
            response.content = None
    return response
