"""Conversion of callers' messages to ADK contents."""

from typing import Any

from google.genai.types import Content, Part
from pydantic import ValidationError

from oda.errors import InvalidRequestError
from oda.message.storable import storable, storable_text

Message = str | Content

MOST_PARTS = 100
"""Maximum number of parts of a client's message."""
_NOT_A_USERS = frozenset(
    {
        *("function_call", "function_response", "tool_call", "tool_response"),
        *("executable_code", "code_execution_result", "thought", "thought_signature"),
    }
)
"""Parts that only models and tools make; from a client they would be forged."""


def to_content(message: Message) -> Content:
    """A user message as ADK content, in text that every store takes.

    Raises:
        InvalidRequestError: the message is empty.
    """
    if isinstance(message, str):
        message = Content(role="user", parts=[Part(text=message)])
    if any(part.text and part.text != storable_text(part.text) for part in message.parts or ()):
        message = message.model_copy(update={"parts": [*map(_storable, message.parts or ())]})
    if not any(_says_something(part) for part in message.parts or ()):
        raise InvalidRequestError(
            "The message is empty.", remedy="send a text or at least one part"
        )
    return message


def parse_content(message: str | dict[str, Any]) -> Content:
    """A message from the wire: a text, or `{"parts": [...]}` in genai's own form.

    Raises:
        InvalidRequestError: it is empty or malformed.
    """
    if isinstance(message, str):
        return to_content(message)
    parts = message.get("parts")
    if isinstance(parts, list) and len(parts) > MOST_PARTS:
        raise InvalidRequestError(f"message.parts: there are more than {MOST_PARTS}")
    try:
        said = storable(message)
    except ValueError as error:
        raise InvalidRequestError("message: no store takes all of its names.") from error
    try:
        content = Content.model_validate({"role": "user", **said})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(step) for step in first["loc"])
        raise InvalidRequestError(f"message.{where}: {first['msg']}") from error
    return user_content(content)


def user_content(content: Content) -> Content:
    """Return a client's content as a user's message.

    Raises:
        InvalidRequestError: it is empty, has parts that only models and tools produce, or parts
            without data.
    """
    for number, part in enumerate(content.parts or ()):
        if forged := part.model_fields_set & _NOT_A_USERS:
            raise InvalidRequestError(
                f"message.parts.{number}: {', '.join(sorted(forged))} cannot be sent",
                remedy="send text, inlineData or fileData; answer a waiting turn through its input",
            )
        _check_data(number, part)
    return to_content(content.model_copy(update={"role": "user"}))


def answers_a_call(message: Content) -> bool:
    """Return whether the message contains the answer of a person or an outside tool to a call."""
    return any(part.function_response for part in message.parts or ())


def _check_data(number: int, part: Part) -> None:
    where = f"message.parts.{number}"
    if (blob := part.inline_data) is not None and not (blob.mime_type and blob.data):
        raise InvalidRequestError(f"{where}.inlineData: needs mimeType and data")
    if (file := part.file_data) is not None:
        uri = (file.file_uri or "").strip()
        if not uri or uri.lower().startswith("file:"):
            raise InvalidRequestError(f"{where}.fileData: needs the fileUri of no local file")


def _storable(part: Part) -> Part:
    return part.model_copy(update={"text": part.text and storable_text(part.text)})


def _says_something(part: Part) -> bool:
    if part.text is not None:
        return bool(part.text.strip())
    return bool(part.model_dump(exclude_none=True))
