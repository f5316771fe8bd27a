"""The user's input: text, pictures and recordings of one message, converted to words.

A part that cannot be converted is reported as a problem of its own; the rest of the message is
processed, and all of it is stored.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from google.genai.types import Content, Part
from pydantic import Base64Bytes, BaseModel, Field

from oda.agent.failure import classify
from oda.agent.model.registry import current_models
from oda.errors import NotConfiguredError, OdaError
from oda.orchestration.model_access import StepContext
from oda.orchestration.response import Problem
from oda.orchestration.step import RunStep, step

_READ_PICTURE = (
    "Write down what stands in the picture, line by line and exactly as it stands there, mistakes "
    "included; do not answer it. If there is nothing to read, describe the picture in one sentence."
)


class Medium(BaseModel):
    """A recording or a picture: its data, or where it is."""

    mime_type: Annotated[str, Field(max_length=255)]
    data: Base64Bytes | None = None
    url: Annotated[str, Field(max_length=2048)] | None = None


class Understood(BaseModel):
    """The text of a picture or recording, or the reason why there is none."""

    text: str = ""
    problem: Problem | None = None


@dataclass(frozen=True)
class UserInput:
    """One message."""

    text: str
    """All of it as words."""
    spoken: bool
    images: Sequence[Part]
    problems: Sequence[Problem]


def _not_understood(request: Medium, context: StepContext, error: Exception) -> Understood:
    if isinstance(error, OdaError):
        problem = Problem(code=error.code, message=error.message, remedy=error.remedy)
    else:
        failure = classify(error, now=context.now.timestamp())
        problem = Problem(code=failure.code, message=failure.message, remedy="send it again")
    return Understood(problem=problem)


@step("transcribe-audio", timeout_s=60.0, fallback=_not_understood)
async def transcribe_audio(request: Medium, context: StepContext) -> Understood:
    """Transcribe a recording."""
    if request.data is None:
        raise NotConfiguredError("Recordings are taken as data only.", remedy="send the data")
    return Understood(text=await current_models().transcribe(request.data, request.mime_type))


@step("read-image", timeout_s=60.0, fallback=_not_understood)
async def read_image(request: Medium, context: StepContext) -> Understood:
    """Transcribe the text in a picture."""
    if request.data is not None:
        part = Part.from_bytes(data=request.data, mime_type=request.mime_type)
    else:
        part = Part.from_uri(file_uri=request.url or "", mime_type=request.mime_type)
    return Understood(text=await context.write(_READ_PICTURE, [part]))


_UNDERSTOOD_BY = {"audio": transcribe_audio, "image": read_image}
"""The step for a kind of media type."""


async def read_input(message: Content | None, run: RunStep) -> UserInput:
    """Understand all parts of a message, in their order."""
    texts: list[str] = []
    images: list[Part] = []
    problems: list[Problem] = []
    spoken = False
    for part in (message and message.parts) or ():
        if part.text:
            texts.append(part.text)
            continue
        medium = _medium(part)
        if medium is None:
            continue
        kind = medium.mime_type.partition("/")[0]
        if kind not in _UNDERSTOOD_BY:
            problems.append(_unsupported(medium.mime_type))
            continue
        spoken = spoken or kind == "audio"
        if kind == "image":
            images.append(part)
        understood = await run(_UNDERSTOOD_BY[kind], medium)
        assert isinstance(understood, Understood)
        texts.append(understood.text)
        if understood.problem is not None:
            problems.append(understood.problem)
    text = "\n".join(text.strip() for text in texts if text.strip())
    return UserInput(text=text, spoken=spoken, images=images, problems=problems)


def _unsupported(mime_type: str) -> Problem:
    return Problem(
        code="unsupported_media",
        message=f"{mime_type or 'data of no type'} cannot be read or heard.",
        remedy="send a text, a picture or a recording",
    )


def _medium(part: Part) -> Medium | None:
    if (blob := part.inline_data) is not None and blob.data:
        return Medium.model_construct(mime_type=blob.mime_type or "", data=blob.data)
    if (file := part.file_data) is not None and file.file_uri:
        return Medium(mime_type=file.mime_type or "image/*", url=file.file_uri)
    return None
