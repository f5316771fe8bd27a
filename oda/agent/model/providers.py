"""Records to ADK models: ways of our own where they are known, LiteLLM for all others."""

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
"""Names that ADK's own Gemini class takes; `gemini/…` is LiteLLM's."""

_OPENAI = re.compile(r"openai/(?!responses/)|hosted_vllm/|gpt-|chatgpt-|whisper-|o\d")
"""Names of OpenAI's API, as LiteLLM has them."""

_ANTHROPIC = re.compile(r"anthropic/|claude-")
"""Names of Claude at Anthropic, as LiteLLM has them."""

_LITELLM = "litellm/"
"""In front of any name that LiteLLM shall answer for."""

_LITELLM_PARAMS = frozenset(
    {"api_version", "azure_ad_token", "custom_llm_provider", "drop_params", "mock_response"}
)
"""Parameters that mean something to LiteLLM alone."""

_ANTHROPIC_PARAMS = frozenset(
    {"max_tokens", "metadata", "output_config", "service_tier", "stop_sequences"}
    | {"temperature", "thinking", "top_k", "top_p", "extra_headers", "extra_body"}
)
"""Parameters that Anthropic knows itself; LiteLLM translates others, such as `reasoning_effort`."""

_NO_KEY = "none"
"""Sent to a server of one's own that asks for no key."""

Way = Literal["gemini", "openai", "anthropic", "litellm"]
"""How a model is reached: ADK's Gemini class, two protocols by ourselves, or LiteLLM."""


def way_to(record: ModelRecord) -> Way:
    """Return how a record's model is reached."""
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
    return "gemini" if _GEMINI.match(model) else model.removeprefix(_LITELLM).partition("/")[0]


def missing_key(record: ModelRecord, settings: Settings) -> str | None:
    """The variable that should hold the model's key and does not. May import LiteLLM."""
    if api_key(record, settings) or record.api_base:
        return None
    match way_to(record):
        case "gemini":
            return gemini_key_variable()
        case "openai":
            return None if _first_set("OPENAI_API_KEY") else "OPENAI_API_KEY"
        case "anthropic":
            found = _first_set("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
            return None if found else "ANTHROPIC_API_KEY"
        case "litellm":
            return litellm_key_variable(litellm_name(record))


def gemini_key_variable() -> str | None:
    """The variable that should hold Gemini's key; None where the environment gives access."""
    names = ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI")
    return None if _first_set(*names) else names[0]


def litellm_key_variable(model: str) -> str | None:
    """The variable that LiteLLM wants for a model and does not find. Imports LiteLLM."""
    import_litellm()
    import litellm

    found: dict[str, Any] = litellm.validate_environment(model=model)
    missing = found.get("missing_keys") or []
    return None if found.get("keys_in_environment") or not missing else str(missing[0])


def _openai(record: ModelRecord, key: str | None) -> BaseLlm:
    return OpenAICompatible(
        model=record.model.removeprefix("openai/").removeprefix("hosted_vllm/"),
        api_base=record.api_base or _first_set("OPENAI_BASE_URL", "OPENAI_API_BASE") or OPENAI_BASE,
        api_key=_secret(key or _own_or(record, "OPENAI_API_KEY")),
        **_extras(record),
    )


def _anthropic(record: ModelRecord, key: str | None) -> BaseLlm:
    base = _first_set("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE")
    key = key or _own_or(record, "ANTHROPIC_API_KEY")
    return Claude(
        model=record.model.removeprefix("anthropic/"),
        api_base=record.api_base or base or ANTHROPIC_BASE,
        api_key=_secret(key),
        auth_token=None if key else _secret(_first_set("ANTHROPIC_AUTH_TOKEN")),
        **_extras(record),
    )


def _own_or(record: ModelRecord, variable: str) -> str | None:
    """Return the provider's key, which a server of one's own does not get."""
    return _NO_KEY if record.api_base else _first_set(variable)


def _secret(value: str | None) -> SecretStr | None:
    return None if value is None else SecretStr(value)


def _extras(record: ModelRecord) -> dict[str, Any]:
    """Return what each call gets besides what it is about."""
    params = dict(record.params)
    headers, body = (_object(params, record, name) for name in ("extra_headers", "extra_body"))
    return {
        "headers": {name: str(value) for name, value in headers.items()},
        "params": {**params, **body},
    }


def _first_set(*variables: str) -> str | None:
    return next(filter(None, map(os.environ.get, variables)), None)


def _object(params: dict[str, Any], record: ModelRecord, name: str) -> Mapping[str, Any]:
    """Take the object of that name out of the parameters."""
    value = params.pop(name, None) or {}
    if not isinstance(value, Mapping):
        raise ConfigurationError(
            f"models.yaml: {name} of {record.model!r} is not an object",
            remedy=f"write {name}: with a name and a value on each line below it",
        )
    return value


def litellm_name(record: ModelRecord) -> str:
    """Return a model's name as LiteLLM knows it."""
    return record.model.removeprefix(_LITELLM)


def _litellm(record: ModelRecord, key: str | None, timeout_s: float) -> BaseLlm:
    from google.adk.models.lite_llm import LiteLlm

    from oda.agent.model.litellm_client import CheckedClient

    prepare_litellm()
    arguments = litellm_arguments(record, key, timeout_s)
    return LiteLlm(model=litellm_name(record), llm_client=CheckedClient(), **arguments)


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


def _gemini(record: ModelRecord, key: str | None) -> BaseLlm:
    from google.genai.types import HttpOptions, HttpRetryOptions

    from oda.agent.model.gemini import SharedGemini

    if record.params:
        raise ConfigurationError(
            f"models.yaml: params of {record.model!r} are not supported",
            remedy="set them in the agent's generate_content_config, or use LiteLLM's gemini/ name",
        )
    # No time limit: it would hold for a whole stream, and the caller has one for each piece.
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
