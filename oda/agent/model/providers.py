"""Creation of ADK models from configuration records: own clients, or LiteLLM for all others."""

import os
import re
from collections.abc import Mapping
from typing import Any, Literal

from google.adk.models.base_llm import BaseLlm
from pydantic import SecretStr

from oda.agent.model.claude import ANTHROPIC_BASE, Claude
from oda.agent.model.litellm_import import import_litellm, prepare_litellm
from oda.agent.model.openai_compatible import OPENAI_BASE, OpenAICompatible
from oda.config.records import ModelRecord
from oda.config.secrets import resolve_secrets
from oda.errors import ConfigurationError
from oda.settings import Settings

_GEMINI = re.compile(r"gemini-|gemma-|models/|projects/")
"""Model names for ADK's own Gemini class; `gemini/…` is LiteLLM's."""

_OPENAI = re.compile(r"openai/(?!responses/)|hosted_vllm/|gpt-|chatgpt-|whisper-|o\d")
"""LiteLLM's names of models for OpenAI's API."""

_ANTHROPIC = re.compile(r"anthropic/|claude-")
"""LiteLLM's names of Claude models at Anthropic."""

_LITELLM = "litellm/"
"""Prefix that forces the use of LiteLLM."""

_LITELLM_PARAMS = frozenset(
    {"api_version", "azure_ad_token", "custom_llm_provider", "drop_params", "mock_response"}
)
"""Parameters that only LiteLLM understands."""

_ANTHROPIC_PARAMS = frozenset(
    {"max_tokens", "metadata", "output_config", "service_tier", "stop_sequences"}
    | {"temperature", "thinking", "top_k", "top_p", "extra_headers", "extra_body"}
)
"""Parameters of Anthropic's API; LiteLLM translates others, such as `reasoning_effort`."""

_NO_KEY = "none"
"""Key for a custom server that needs none."""

Way = Literal["gemini", "openai", "anthropic", "litellm"]
"""Client of a model: ADK's Gemini class, ODA's own client for two APIs, or LiteLLM."""


def way_to(record: ModelRecord) -> Way:
    """Return the client to use for a record's model."""
    if _GEMINI.match(record.model):
        return "gemini"
    if _OPENAI.match(record.model) and not _LITELLM_PARAMS & record.params.keys():
        return "openai"
    if _ANTHROPIC.match(record.model) and record.params.keys() <= _ANTHROPIC_PARAMS:
        return "anthropic"
    return "litellm"


def build_model(record: ModelRecord, settings: Settings) -> BaseLlm:
    """Return the ADK model for a record."""
    key = api_key(record, settings)
    match way_to(record):
        case "gemini":
            return _gemini(record, key)
        case "openai":
            return _openai(record, key)
        case "anthropic":
            return _anthropic(record, key)
        case "litellm":
            return _litellm(record, key, record.timeout_s or settings.model_timeout_s)


def api_key(record: ModelRecord, settings: Settings) -> str | None:
    """Return the key of a record; None if the provider's environment variable applies."""
    if record.api_key:
        return resolve_secrets(record.api_key, os.environ).get_secret_value()
    if settings.model_api_key and shares_access(record.model, settings):
        return settings.model_api_key.get_secret_value()
    return None


def shares_access(model: str, settings: Settings) -> bool:
    """Return whether the key and address of `ODA_MODEL` apply to a model.

    They apply to that model itself, and to the cheaper and the transcribing model if these are of
    the same provider.
    """
    ours = (settings.model, settings.turn.cheaper_model, settings.transcribe_model)
    if settings.model is None or model not in ours:
        return False
    return _provider(model) == _provider(settings.model)


def _provider(model: str) -> str:
    return "gemini" if _GEMINI.match(model) else model.removeprefix(_LITELLM).partition("/")[0]


def missing_key(record: ModelRecord, settings: Settings) -> str | None:
    """Return the unset variable that should hold the model's key, if any. May import LiteLLM."""
    if api_key(record, settings) or record.api_base:
        return None
    match way_to(record):
        case "gemini":
            return gemini_key_variable()
        case "openai":
            return None if _first_env("OPENAI_API_KEY") else "OPENAI_API_KEY"
        case "anthropic":
            found = _first_env("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
            return None if found else "ANTHROPIC_API_KEY"
        case "litellm":
            return litellm_key_variable(litellm_name(record))


def gemini_key_variable() -> str | None:
    """Return the variable that should hold Gemini's key, or None if access is configured."""
    names = ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI")
    return None if _first_env(*names) else names[0]


def litellm_key_variable(model: str) -> str | None:
    """Return the unset variable that LiteLLM needs for a model, if any. Imports LiteLLM."""
    import_litellm()
    import litellm

    found: dict[str, Any] = litellm.validate_environment(model=model)
    missing = found.get("missing_keys") or []
    return None if found.get("keys_in_environment") or not missing else str(missing[0])


def _openai(record: ModelRecord, key: str | None) -> BaseLlm:
    return OpenAICompatible(
        model=record.model.removeprefix("openai/").removeprefix("hosted_vllm/"),
        api_base=record.api_base or _first_env("OPENAI_BASE_URL", "OPENAI_API_BASE") or OPENAI_BASE,
        api_key=_secret(key or _default_key(record, "OPENAI_API_KEY")),
        **_extras(record),
    )


def _anthropic(record: ModelRecord, key: str | None) -> BaseLlm:
    base = _first_env("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE")
    key = key or _default_key(record, "ANTHROPIC_API_KEY")
    return Claude(
        model=record.model.removeprefix("anthropic/"),
        api_base=record.api_base or base or ANTHROPIC_BASE,
        api_key=_secret(key),
        auth_token=None if key else _secret(_first_env("ANTHROPIC_AUTH_TOKEN")),
        **_extras(record),
    )


def _default_key(record: ModelRecord, variable: str) -> str | None:
    """Return the provider's key from the environment, which is not sent to a custom server."""
    return _NO_KEY if record.api_base else _first_env(variable)


def _secret(value: str | None) -> SecretStr | None:
    return None if value is None else SecretStr(value)


def _extras(record: ModelRecord) -> dict[str, Any]:
    """Return a record's additional headers and body fields for each call."""
    params = dict(record.params)
    headers, body = (_pop_object(params, record, name) for name in ("extra_headers", "extra_body"))
    return {
        "headers": {name: str(value) for name, value in headers.items()},
        "params": {**params, **body},
    }


def _first_env(*variables: str) -> str | None:
    return next(filter(None, map(os.environ.get, variables)), None)


def _pop_object(params: dict[str, Any], record: ModelRecord, name: str) -> Mapping[str, Any]:
    """Remove the object with that name from the parameters and return it."""
    value = params.pop(name, None) or {}
    if not isinstance(value, Mapping):
        raise ConfigurationError(
            f"models.yaml: {name} of {record.model!r} is not an object",
            remedy=f"write {name}: with a name and a value on each line below it",
        )
    return value


def litellm_name(record: ModelRecord) -> str:
    """Return LiteLLM's name of a record's model."""
    return record.model.removeprefix(_LITELLM)


def _litellm(record: ModelRecord, key: str | None, timeout_s: float) -> BaseLlm:
    from google.adk.models.lite_llm import LiteLlm

    from oda.agent.model.litellm_client import CheckedClient

    prepare_litellm()
    arguments = litellm_arguments(record, key, timeout_s)
    return LiteLlm(model=litellm_name(record), llm_client=CheckedClient(), **arguments)


def litellm_arguments(record: ModelRecord, key: str | None, timeout_s: float) -> dict[str, Any]:
    """Return the arguments of all LiteLLM calls for a record: access, limits and parameters."""
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


def _gemini(record: ModelRecord, key: str | None) -> BaseLlm:
    from google.genai.types import HttpOptions, HttpRetryOptions

    from oda.agent.model.gemini import SharedGemini

    if record.params:
        raise ConfigurationError(
            f"models.yaml: params of {record.model!r} are not supported",
            remedy="set them in the agent's generate_content_config, or use LiteLLM's gemini/ name",
        )
    # No time limit, as it would apply to a whole stream; the caller limits each chunk.
    options = HttpOptions(retry_options=HttpRetryOptions(attempts=1))
    client: dict[str, Any] = {"http_options": options}
    if key or record.api_base:
        client["api_key"] = key or os.environ.get("GOOGLE_API_KEY") or _NO_KEY
    return SharedGemini(
        model=record.model,
        base_url=record.api_base,
        client_kwargs=client,
        retry_options=options.retry_options,
    )
