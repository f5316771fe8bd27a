"""Answers that go wrong."""

from pydantic_core import to_json

from oda.testing.script import Cut, Error, Malformed

from .conversation import ToolCall
from .exchange import Exchange, stream, whole
from .http_server import Reply

_PROXY_PAGE = b"<html><body><h1>Bad gateway</h1></body></html>"
_BROKEN_ARGUMENTS = '{"broken": '


def error_reply(exchange: Exchange, step: Error) -> Reply:
    """An HTTP error, or an error inside a stream that has begun."""
    wire = exchange.wire
    if exchange.call.stream and step.after_chunks:
        start = exchange.pieces(exchange.answer(None, chunks=step.after_chunks))
        return stream([*start, wire.error_frame(step)], delay_s=step.delay_s)
    body = to_json(wire.error_body(step))
    headers = dict(step.headers)
    if step.retry_after is not None:
        headers["retry-after"] = f"{step.retry_after:g}"
    return Reply(
        status=step.status,
        headers=headers,
        length=len(body),
        pieces=(body,),
        delay_s=step.delay_s,
    )


def cut_reply(exchange: Exchange, step: Cut) -> Reply:
    """The first part of an answer."""
    answer = exchange.answer(
        None, chunks=step.chunks, thinking=step.thinking, calls=step.calls, usage=step.usage
    )
    end = "complete" if step.how == "end" else step.how
    if exchange.call.stream:
        pieces = exchange.pieces(answer) or [b""]
        return stream(pieces, delay_s=step.delay_s, interval_s=step.interval_s, end=end)
    body = exchange.body(answer)
    start = body[: len(body) // 2]
    return Reply(
        length=len(start) if end == "complete" else len(body),
        pieces=(start,),
        delay_s=step.delay_s,
        end=end,
    )


def malformed_reply(exchange: Exchange, step: Malformed) -> Reply:
    """A 200 that cannot be read."""
    match step.kind:
        case "html":
            return Reply(
                content_type="text/html",
                length=len(_PROXY_PAGE),
                pieces=(_PROXY_PAGE,),
                delay_s=step.delay_s,
            )
        case "tool_arguments":
            call = ToolCall(id=exchange.new_id("call"), name=step.tool, args=_BROKEN_ARGUMENTS)
            answer = exchange.answer("bad_tool_call", broken_call=call)
            if exchange.call.stream:
                return stream(exchange.pieces(answer), delay_s=step.delay_s)
            return whole(exchange.body(answer), delay_s=step.delay_s)
        case "json":
            answer = exchange.answer(None, chunks=("This ", "breaks"))
            if exchange.call.stream:
                good, bad = exchange.pieces(answer)
                return stream([good, _half(bad) + b"\n\n"], delay_s=step.delay_s)
            return whole(_half(exchange.body(answer)), delay_s=step.delay_s)


def _half(data: bytes) -> bytes:
    return data[: len(data) // 2]
