"""One model call on its way to an answer."""

from collections.abc import Callable
from dataclasses import dataclass

from pydantic_core import to_json

from oda.testing.script import Call, Cue, Usage

from .conversation import Answer, Finish, ModelCall, ToolCall
from .http_server import End, Reply
from .wire import Wire

_BYTES_PER_TOKEN = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange:
    """A model call that waits for its answer, and the means to write one."""

    wire: Wire
    call: ModelCall
    cue: Cue
    size: int
    """Bytes of the request body."""
    new_id: Callable[[str], str]
    """Makes a new id that starts with the given word."""

    def answer(
        self,
        finish: Finish | None,
        *,
        chunks: tuple[str, ...] = (),
        thinking: str = "",
        calls: tuple[Call, ...] = (),
        broken_call: ToolCall | None = None,
        usage: Usage | None = None,
    ) -> Answer:
        """An answer with what the script leaves open filled in: ids of calls, token counts."""
        tool_calls = tuple(
            ToolCall(id=call.id or self.new_id("call"), name=call.name, args=call.args)
            for call in calls
        )
        if broken_call is not None:
            tool_calls += (broken_call,)
        if usage is None:
            said = sum(map(len, chunks)) + sum(len(call.arguments) for call in tool_calls)
            usage = Usage(
                prompt_tokens=self.size // _BYTES_PER_TOKEN,
                completion_tokens=(said + len(thinking)) // _BYTES_PER_TOKEN,
            )
        return Answer(
            id=self.new_id("answer"),
            usage=usage,
            finish=finish,
            chunks=chunks,
            thinking=thinking,
            calls=tool_calls,
        )

    def pieces(self, answer: Answer) -> list[bytes]:
        """The answer as pieces of a stream."""
        return self.wire.pieces(self.call, answer)

    def body(self, answer: Answer) -> bytes:
        """The answer as one body."""
        return to_json(self.wire.body(self.call, answer))


def stream(
    pieces: list[bytes], *, delay_s: float, interval_s: float = 0.0, end: End = "complete"
) -> Reply:
    """A reply of server-sent events."""
    return Reply(
        content_type="text/event-stream",
        pieces=tuple(pieces),
        delay_s=delay_s,
        interval_s=interval_s,
        end=end,
    )


def whole(body: bytes, *, delay_s: float) -> Reply:
    """A reply of one JSON body."""
    return Reply(pieces=(body,), length=len(body), delay_s=delay_s)
