"""LiteLLM client for ADK with workarounds for two bugs of LiteLLM.

LiteLLM reports `stop` for a stream that ended without a finish reason, so an incomplete answer
would pass as complete; its stream wrapper knows whether the provider sent one. And LiteLLM 1.96
reports a 4xx status that it has no class for, such as Anthropic's 403, as a connection error, which
would be retried.
"""

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

from google.adk.models.lite_llm import LiteLLMClient

from oda.agent.model.litellm_import import import_litellm
from oda.errors import IncompleteAnswerError


class CheckedClient(LiteLLMClient):
    """Client that corrects the errors of LiteLLM.

    Raises `IncompleteAnswerError` at the end of a stream without a finish reason, and the
    provider's own error for a 4xx status.
    """

    async def acompletion(self, model: Any, messages: Any, tools: Any, **kwargs: Any) -> Any:
        import_litellm()
        with refusals_as_such():
            answer = await super().acompletion(model, messages, tools, **kwargs)
        return _check_stream(answer) if kwargs.get("stream") else answer


@contextmanager
def refusals_as_such() -> Iterator[None]:
    """Raise the provider's 4xx error instead of the connection error that LiteLLM makes of it."""
    try:
        yield
    except Exception as error:
        caught = error.__context__
        status = getattr(caught, "status_code", None)
        is_lost = type(error).__name__ == "APIConnectionError"
        if is_lost and caught is not None and isinstance(status, int) and 400 <= status <= 499:
            raise caught from None
        raise


async def _check_stream(stream: Any) -> AsyncIterator[Any]:
    has_callbacks = _has_callbacks()
    chunks = aiter(stream)
    while True:
        with refusals_as_such():
            chunk = await anext(chunks, None)
        if chunk is None:
            break
        yield chunk
        if not has_callbacks and getattr(stream, "sent_stream_usage", False):
            break  # after the usage, LiteLLM does expensive work for its callbacks only
    if getattr(stream, "received_finish_reason", "") is None:
        raise IncompleteAnswerError("The model's answer ended before it was complete.")


def _has_callbacks() -> bool:
    """Return whether callbacks for finished calls are registered with LiteLLM."""
    litellm: Any = sys.modules["litellm"]
    return any(
        getattr(litellm, name, None)
        for name in ("callbacks", "success_callback", "_async_success_callback")
    )
