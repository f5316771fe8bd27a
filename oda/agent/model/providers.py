"""Records to ADK models: LiteLLM or Gemini, with the client's own retries off."""

import os
import re
from typing import Any

from google.adk.models.base_llm import BaseLlm

from oda.agent.model.litellm_import import import_litellm, prepare_litellm
from oda.config.records import ModelRecord
from oda.config.secrets import resolve_secrets
from oda.errors import ConfigurationError
from oda.settings import Settings

_GEMINI = re.compile(r"gemini-|gemma-|models/|projects/")
"""Names that ADK's own Gemini class takes; `gemini/…` is LiteLLM's."""

_NO_KEY = "none"
"""Sent to a server of one's own that asks for no key."""


def build_model(record: ModelRecord, settings: Settings) -> BaseLlm:
    """The ADK model for a record."""
    key = api_key(record, settings)
    timeout_s = record.timeout_s or settings.model_timeout_s
    if is_gemini(record.model):
        return _gemini(record, key, timeout_s)
    return _litellm(record, key, timeout_s)


def is_gemini(model: str) -> bool:
    """Whether ADK's own Gemini class answers for a model name."""
    return _GEMINI.match(model) is not None


def api_key(record: ModelRecord, settings: Settings) -> str | None:
    """The key of a record; None leaves it to the provider's own variable."""
    if record.api_key:
        return resolve_secrets(record.api_key, os.environ).get_secret_value()
    if settings.model_api_key and shares_access(record.model, settings):
        return settings.model_api_key.get_secret_value()
    return None


def shares_access(model: str, settings: Settings) -> bool:
    """Whether the key and address of `ODA_MODEL` are meant for a model.

    They are for itself, and for the cheaper and the transcribing model if these are of the same
    provider.
    """
    ours = (settings.model, settings.turn.cheaper_model, settings.transcribe_model)
    if settings.model is None or model not in ours:
        return False
    return _provider(model) == _provider(settings.model)


def _provider(model: str) -> str:
    return "gemini" if is_gemini(model) else model.partition("/")[0]


def missing_key(record: ModelRecord, settings: Settings) -> str | None:
    """The variable that should hold the model's key and does not. Imports LiteLLM."""
    if api_key(record, settings) or record.api_base:
        return None
    if is_gemini(record.model):
        names = ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI")
        return None if any(os.environ.get(name) for name in names) else names[0]
    import_litellm()
    import litellm

    found: dict[str, Any] = litellm.validate_environment(model=record.model)
    missing = found.get("missing_keys") or []
    return None if found.get("keys_in_environment") or not missing else str(missing[0])


def _litellm(record: ModelRecord, key: str | None, timeout_s: float) -> BaseLlm:
    from google.adk.models.lite_llm import LiteLlm

    from oda.agent.model.litellm_client import CheckedClient

    prepare_litellm()
    arguments = litellm_arguments(record, key, timeout_s)
    return LiteLlm(model=record.model, llm_client=CheckedClient(), **arguments)


def litellm_arguments(record: ModelRecord, key: str | None, timeout_s: float) -> dict[str, Any]:
    """What every call of LiteLLM for a record gets besides what it is about."""
    arguments: dict[str, Any] = {
        "num_retries": 0,
        "max_retries": 0,
        "timeout": timeout_s,
        **record.params,
    }
    if record.api_base:
        arguments["api_base"] = record.api_base
        key = key or _NO_KEY
    if key:
        arguments["api_key"] = key
    return arguments


def _gemini(record: ModelRecord, key: str | None, timeout_s: float) -> BaseLlm:
    from google.adk.models.google_llm import Gemini
    from google.genai.types import HttpOptions, HttpRetryOptions

    if record.params:
        raise ConfigurationError(
            f"models.yaml: params of {record.model!r} are not supported",
            remedy="set them in the agent's generate_content_config, or use LiteLLM's gemini/ name",
        )
    client: dict[str, Any] = {
        "http_options": HttpOptions(
            timeout=int(timeout_s * 1000), retry_options=HttpRetryOptions(attempts=1)
        )
    }
    if key or record.api_base:
        client["api_key"] = key or os.environ.get("GOOGLE_API_KEY") or _NO_KEY
    return Gemini(
        model=record.model,
        base_url=record.api_base,
        client_kwargs=client,
        retry_options=HttpRetryOptions(attempts=1),
    )
