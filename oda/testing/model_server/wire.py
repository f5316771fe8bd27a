"""Interface of a provider's protocol."""

from typing import Protocol

from pydantic_core import to_json

from oda.testing.script import Cue, Error

from .conversation import Answer, JsonObject, Message, ModelCall, ProtocolName


class Wire(Protocol):
    """One provider's protocol: pure translation, no state."""

    @property
    def name(self) -> ProtocolName: ...

    def read(self, path: str, body: JsonObject) -> ModelCall:
        """The call that was posted to `path`.

        Raises:
            KeyError, TypeError, ValueError: `body` is not of this protocol.
        """

    def message(self, raw: JsonObject) -> Message:
        """One of `ModelCall.raw_messages` in common form."""

    def body(self, call: ModelCall, answer: Answer) -> JsonObject:
        """The answer as one JSON body."""

    def pieces(self, call: ModelCall, answer: Answer) -> list[bytes]:
        """The answer as server-sent events, cut where the model would pause."""

    def error_body(self, error: Error) -> JsonObject: ...

    def error_frame(self, error: Error) -> bytes:
        """The error as it is reported inside a stream that has begun."""


def cue_of(wire: Wire, call: ModelCall) -> Cue:
    """The facts of a call that steps are matched by."""
    newest_first = (wire.message(raw) for raw in reversed(call.raw_messages))
    newest = next(newest_first, None)
    last_user = newest.text if newest and newest.role != "assistant" else ""
    if not last_user:
        texts = (message.text for message in newest_first if message.role != "assistant")
        last_user = next(filter(None, texts), "")
    return Cue(
        model=call.model,
        system=call.system,
        last_user=last_user,
        after_tool=newest is not None and bool(newest.tool_results),
        has_schema=call.has_schema,
    )


def event(data: JsonObject, *, name: str | None = None) -> bytes:
    """A server-sent event."""
    head = b"" if name is None else b"event: %b\n" % name.encode()
    return b"%bdata: %b\n\n" % (head, to_json(data))


def joined(opening: bytes, content: list[bytes], closing: bytes) -> list[bytes]:
    """Return the pieces of a stream.

    `opening` is sent with the first content, `closing` with the last.
    """
    if not content:
        return [opening + closing]
    content[0] = opening + content[0]
    content[-1] += closing
    return content
