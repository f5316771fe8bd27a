"""LiteLLM as ADK calls it, with an end to streams that only seem complete.

LiteLLM (1.106) reports `stop` for a stream that ended without a finish reason, so half an answer
would pass for a whole one. Its wrapper knows whether the provider sent one.
"""

import sys
from collections.abc import AsyncIterator
from typing import Any

from google.adk.models.lite_llm import LiteLLMClient

from oda.agent.model.litellm_import import import_litellm
from oda.errors import IncompleteAnswerError


class CheckedClient(LiteLLMClient):
    """Raises `IncompleteAnswerError` at the end of a stream without a finish reason."""

    async def acompletion(self, model: Any, messages: Any, tools: Any, **kwargs: Any) -> Any:
        import_litellm()
        answer = await super().acompletion(model, messages, tools, **kwargs)
        return _checked(answer) if kwargs.get("stream") else answer


async def _checked(stream: Any) -> AsyncIterator[Any]:
    has_callbacks = _has_callbacks()
    async for chunk in stream:
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
