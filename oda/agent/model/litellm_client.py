"""LiteLLM as ADK calls it, without two of its mistakes.

It reports `stop` for a stream that ended without a finish reason, so half an answer would pass for
a whole one; its wrapper knows whether the provider sent one. And 1.96 takes an answer 4xx for
which it has no class, such as 403 of Anthropic, for a lost connection, which would be tried again.
"""

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

from google.adk.models.lite_llm import LiteLLMClient

from oda.agent.model.litellm_import import import_litellm
from oda.errors import IncompleteAnswerError


class CheckedClient(LiteLLMClient):
    """Raises `IncompleteAnswerError` at the end of a stream without a finish reason.

    What the provider has refused is raised as that.
    """

    async def acompletion(self, model: Any, messages: Any, tools: Any, **kwargs: Any) -> Any:
        import_litellm()
        with refusals_as_such():
            answer = await super().acompletion(model, messages, tools, **kwargs)
        return _checked(answer) if kwargs.get("stream") else answer


@contextmanager
def refusals_as_such() -> Iterator[None]:
    """Raise the provider's answer 4xx in place of the lost connection that LiteLLM makes of it."""
    try:
        yield
    except Exception as error:
        caught = error.__context__
        status = getattr(caught, "status_code", None)
        is_lost = type(error).__name__ == "APIConnectionError"
        if is_lost and caught is not None and isinstance(status, int) and 400 <= status <= 499:
            raise caught from None
        raise


async def _checked(stream: Any) -> AsyncIterator[Any]:
    has_callbacks = _has_callbacks()
    chunks = aiter(stream)
    while True:
        with refusals_as_such():
            chunk = await anext(chunks, None)
        if chunk is None:
            break
        yield chunk
        if not has_callbacks and getattr(stream, "sent_stream_usage", False):
            break  # what LiteLLM does after the usage serves its callbacks only, and costs a lot
    if getattr(stream, "received_finish_reason", "") is None:
        raise IncompleteAnswerError("The model's answer ended before it was complete.")


def _has_callbacks() -> bool:
    """Whether somebody wants to hear of finished calls from LiteLLM."""
    litellm: Any = sys.modules["litellm"]
    return any(
        getattr(litellm, name, None)
        for name in ("callbacks", "success_callback", "_async_success_callback")
    )
