"""Disables the retries of client libraries in models that agents bring."""

import sys
from typing import Any

from google.adk.models.base_llm import BaseLlm


def without_client_retries(model: BaseLlm) -> None:
    """Disable the retries of a model's client library, in place.

    ODA retries turns; a client's own retries would multiply with those and be invisible. Values
    set explicitly by the agent's author are kept.
    """
    lite_llm = sys.modules.get("google.adk.models.lite_llm")
    google_llm = sys.modules.get("google.adk.models.google_llm")
    anthropic_llm = sys.modules.get("google.adk.models.anthropic_llm")
    known: Any = model
    if lite_llm and isinstance(model, lite_llm.LiteLlm):
        if not {"max_retries", "num_retries"} & known._additional_args.keys():
            known._additional_args.update(max_retries=0, num_retries=0)
        if type(known.llm_client) is lite_llm.LiteLLMClient:
            from oda.agent.model.litellm_client import CheckedClient

            known.llm_client = CheckedClient()
    elif google_llm and isinstance(model, google_llm.Gemini):
        if known.retry_options is None and known.client is None:
            from google.genai.types import HttpRetryOptions

            known.retry_options = HttpRetryOptions(attempts=1)
    elif anthropic_llm and type(model) is anthropic_llm.AnthropicLlm and known.client is None:
        from anthropic import AsyncAnthropic

        known.client = AsyncAnthropic(max_retries=0)
