"""Models that agents bring along: their API keys, and the retries of their client libraries."""

import os
import sys
from typing import Any

from google.adk.models.base_llm import BaseLlm

from oda.agent.model.configured import ConfiguredModel
from oda.agent.model.providers import gemini_key_variable, litellm_key_variable
from oda.agent.model.registry import Models
from oda.errors import ConfigurationError


def missing_key(model: BaseLlm, models: Models) -> ConfigurationError | None:
    """Return the error for a model without a key, or None if it has one.

    A model whose author set a client, a key or an address needs no key from the environment.
    May import LiteLLM.
    """
    if isinstance(model, ConfiguredModel):
        return models.missing_key(model.model)
    variable = _missing_variable(model)
    if variable is None:
        return None
    return ConfigurationError(
        f"the model {model.model!r} needs a key", remedy=f"set {variable}, then start again"
    )


def _missing_variable(model: BaseLlm) -> str | None:
    """Return the unset environment variable that should hold the key of an agent's own model."""
    google_llm = sys.modules.get("google.adk.models.google_llm")
    lite_llm = sys.modules.get("google.adk.models.lite_llm")
    anthropic_llm = sys.modules.get("google.adk.models.anthropic_llm")
    known: Any = model
    if google_llm and type(model) is google_llm.Gemini:
        chosen = known.client_kwargs or {}
        has_access = known.client is not None or known.base_url or chosen.keys() & _OF_GEMINI
        return None if has_access else gemini_key_variable()
    if lite_llm and type(model) is lite_llm.LiteLlm:
        has_access = known._additional_args.keys() & _OF_LITELLM
        return None if has_access else _key_variable(litellm_key_variable(model.model))
    if anthropic_llm and type(model) is anthropic_llm.AnthropicLlm:
        client = known.client
        if client is None:
            return None if os.environ.get("ANTHROPIC_API_KEY") else "ANTHROPIC_API_KEY"
        return None if client.api_key or client.auth_token else "ANTHROPIC_API_KEY"
    return None


def _key_variable(variable: str | None) -> str | None:
    """Return the variable if it is for a key and no server that may not need one is configured.

    LiteLLM also asks for addresses, such as Ollama's, which has a default.
    """
    name, separator, _ = (variable or "").partition("_API_KEY")
    has_server = any(os.environ.get(f"{name}_{end}") for end in ("API_BASE", "BASE_URL"))
    return variable if separator and not has_server else None


_OF_GEMINI = frozenset({"api_key", "vertexai", "credentials", "http_options"})
_OF_LITELLM = frozenset({"api_key", "api_base", "base_url", "mock_response", "custom_llm_provider"})
"""Arguments with which an author configures access to a model."""


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
