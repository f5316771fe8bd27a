"""Wire format of a script's steps."""

from typing import assert_never

from oda.testing.script import (
    Blocked,
    Call,
    Cut,
    Disconnect,
    Echo,
    Empty,
    Error,
    Hang,
    Json,
    Malformed,
    MaxTokens,
    Step,
    Text,
    ToolCalls,
    words_of,
)

from .conversation import Answer, Finish
from .exchange import Exchange, stream, whole
from .faults import cut_reply, error_reply, malformed_reply
from .http_server import Reply

_CompleteStep = Text | Json | Echo | ToolCalls | MaxTokens | Blocked | Empty


def reply_to(exchange: Exchange, step: Step) -> Reply:
    """The reply that `step` prescribes for this call."""
    match step:
        case Hang():
            return Reply(pieces=(), delay_s=step.delay_s, end="stall")
        case Disconnect():
            return Reply(pieces=(), delay_s=step.delay_s, end=step.how)
        case Error():
            return error_reply(exchange, step)
        case Cut():
            return cut_reply(exchange, step)
        case Malformed():
            return malformed_reply(exchange, step)
        case _:
            return _complete_reply(exchange, step)


def _complete_reply(exchange: Exchange, step: _CompleteStep) -> Reply:
    answer = _answer(exchange, step)
    interval_s = 0.0 if isinstance(step, Json | Echo | Empty) else step.interval_s
    if exchange.call.stream:
        pieces = exchange.pieces(answer)
        return stream(pieces, delay_s=step.delay_s, interval_s=interval_s)
    spoken_s = interval_s * max(0, len(answer.chunks) - 1)
    return whole(exchange.body(answer), delay_s=step.delay_s + spoken_s)


def _answer(exchange: Exchange, step: _CompleteStep) -> Answer:
    finish: Finish
    match step:
        case Echo():
            chunks = words_of(step.prefix + exchange.cue.last_user)
            return exchange.answer("stop", chunks=chunks, usage=step.usage)
        case Json():
            return _json_answer(exchange, step)
        case Empty():
            return exchange.answer("stop", usage=step.usage)
        case Text():
            finish = "stop"
        case ToolCalls():
            finish = "tool_calls"
        case MaxTokens():
            finish = "length"
        case Blocked():
            finish = "prompt_blocked" if step.prompt else "blocked"
        case _:
            assert_never(step)
    return exchange.answer(
        finish,
        chunks=step.chunks,
        thinking=step.thinking,
        calls=step.calls if isinstance(step, ToolCalls) else (),
        usage=step.usage,
    )


def _json_answer(exchange: Exchange, step: Json) -> Answer:
    tool = exchange.call.answer_tool
    if tool is None or step.before or step.after:
        return exchange.answer("stop", chunks=words_of(step.text), usage=step.usage)
    calls = (Call(name=tool, args=step.value),)
    return exchange.answer("tool_calls", calls=calls, usage=step.usage)
