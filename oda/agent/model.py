"""Which model answers: names from the configuration, resolved when a call is made.

An agent says `model=configured_model()`. What that means is decided by the `Models` that the
composition root installs in its event loop; under `adk web` it comes from the environment.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai.types import Content, Part

from oda.agent.breaker import Breaker
from oda.agent.failure import classify
from oda.agent.providers import build_model, is_gemini, missing_key, warm_up
from oda.agent.sync import running_loop
from oda.clock import Clock, SystemClock
from oda.config.files import ConfigurationFiles
from oda.config.records import Configuration, ModelRecord
from oda.errors import ConfigurationError, IncompleteAnswerError
from oda.settings import Settings

if TYPE_CHECKING:
    from google.adk.models._capabilities import LlmCapabilities

DEFAULT = "default"

NOT_CONFIGURED = {"oda_model": "not_configured"}
"""Metadata of an answer that says that there is no model."""


class Models:
    """The models of a process, each built once."""

    def __init__(
        self,
        settings: Settings,
        configuration: Callable[[], Configuration],
        clock: Clock | None = None,
    ) -> None:
        self._settings = settings
        self._configuration = configuration
        self._clock = clock or SystemClock()
        self._read: Configuration | None = None
        self._known: dict[str, ModelRecord] = {}
        self._built: dict[str, BaseLlm] = {}

    @property
    def _records(self) -> Mapping[str, ModelRecord]:
        """The records by name; models are built anew when the configuration has changed."""
        configuration = self._configuration()
        if configuration is not self._read:
            self._read = configuration
            self._known = _records(self._settings, configuration)
            self._built.clear()
        return self._known

    def record(self, name: str) -> ModelRecord | None:
        """The record of a configured name, or of a raw name such as `openai/gpt-4o`."""
        if name in (records := self._records):
            return records[name]
        return None if name == DEFAULT else ModelRecord(model=name)

    def resolve(self, name: str) -> BaseLlm:
        """The model behind `name`, guarded by a circuit breaker, with its fallbacks."""
        record = self.record(name)
        if name not in self._built:
            self._built[name] = _Unconfigured() if record is None else self._with_fallbacks(record)
        return self._built[name]

    @property
    def configured(self) -> list[ModelRecord]:
        """All records, the default one included."""
        return list(self._records.values())

    def check_keys(self) -> None:
        """Refuse a configuration in which a model's key is missing. Imports LiteLLM.

        Raises:
            ConfigurationError: naming the model and the variable.
        """
        for record in self._records.values():
            if name := missing_key(record, self._settings):
                raise ConfigurationError(
                    f"the model {record.model!r} needs a key",
                    remedy=f"set ODA_MODEL_API_KEY or {name}",
                )

    def _with_fallbacks(self, record: ModelRecord) -> BaseLlm:
        chain = [self._guarded(record), *map(self.resolve, record.fallbacks)]
        if len(chain) == 1:
            return chain[0]
        from oda.agent.fallback import Fallback

        return Fallback(models=chain)

    def _guarded(self, record: ModelRecord) -> BaseLlm:
        breaker = Breaker(
            failures=self._settings.breaker.failures, pause_s=self._settings.breaker.pause_s
        )
        return Guarded(
            model=record.model,
            target=build_model(record, self._settings),
            breaker=breaker,
            clock=self._clock,
            timeout_s=record.timeout_s or self._settings.model_timeout_s,
            ends_with_reason=is_gemini(record.model),
        )


class Guarded(BaseLlm):
    """A model behind a circuit breaker, whose silence and half answers are errors."""

    target: BaseLlm
    breaker: Breaker
    clock: Any
    timeout_s: float
    """For the whole answer, or for the next piece of a stream."""
    ends_with_reason: bool
    """Whether each complete answer of the target bears a finish reason."""

    @property
    def capabilities(self) -> "LlmCapabilities":
        return self.target.capabilities

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.breaker.check(self.model, self.clock.now())
        await warm_up([self.model])
        llm_request.model = self.target.model
        try:
            async with aclosing(self.target.generate_content_async(llm_request, stream)) as out:
                while (response := await self._next(out)) is not None:
                    yield response
        except Exception as error:
            now = self.clock.now()
            if classify(error, now=now).retryable:
                self.breaker.failed(now)
            raise
        self.breaker.succeeded()

    async def _next(self, responses: AsyncGenerator[LlmResponse, None]) -> LlmResponse | None:
        async with asyncio.timeout(self.timeout_s):
            response = await anext(responses, None)
        if response is not None and self.ends_with_reason and _is_half(response):
            raise IncompleteAnswerError("The model's answer ended before it was complete.")
        return response


def _is_half(response: LlmResponse) -> bool:
    return not response.partial and not response.error_code and response.finish_reason is None


class _Unconfigured(BaseLlm):
    """Answers honestly that there is no model."""

    model: str = "none"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        text = _NOT_CONFIGURED["zh" if _has_chinese(llm_request) else "en"]
        yield LlmResponse(
            content=Content(role="model", parts=[Part(text=text)]),
            custom_metadata=NOT_CONFIGURED,
        )


_NOT_CONFIGURED: Mapping[str, str] = {
    "en": (
        "No model is configured, so I can only do what works by rules. To get answers from a "
        "model, set ODA_MODEL (for example openai/gpt-4o or gemini-2.5-flash) and the provider's "
        "key, then start again. Your message is kept."
    ),
    "zh": (
        "还没有配置模型，目前只能处理规则能完成的请求。要让模型来回答，请设置 ODA_MODEL"
        "（例如 openai/gpt-4o 或 gemini-2.5-flash）和服务商的密钥，然后重新启动。您的消息已保留。"
    ),
}


def _has_chinese(request: LlmRequest) -> bool:
    texts = [
        part.text
        for content in request.contents
        if content.role == "user"
        for part in content.parts or ()
        if part.text
    ]
    return bool(texts) and any("\u4e00" <= char <= "\u9fff" for char in texts[-1])


_installed: dict[asyncio.AbstractEventLoop, Models] = {}


@contextmanager
def default_models(models: Models) -> Iterator[None]:
    """In the running event loop, let configured names mean `models`; for their owner."""
    loop = asyncio.get_running_loop()
    previous = _installed.get(loop)
    _installed[loop] = models
    try:
        yield
    finally:
        if previous is None:
            del _installed[loop]
        else:
            _installed[loop] = previous


def current_models() -> Models:
    """The loop's models, or else those of the environment and the configuration directory.

    Raises:
        ConfigurationError: the environment or a file is wrong.
    """
    loop = running_loop()
    if loop is not None and loop in _installed:
        return _installed[loop]
    return _from_environment()


@cache
def _from_environment() -> Models:
    settings = Settings.load()
    return Models(settings, ConfigurationFiles(settings.config_dir).current)


def configured_model(name: str = DEFAULT) -> BaseLlm:
    """The model of that name in the configuration, for `LlmAgent(model=…)`.

    `default` is `ODA_MODEL`, or the entry `default` of `config/models.yaml`. The name is resolved
    at each call, so an agent can be loaded before anything is configured.
    """
    from oda.agent.configured import ConfiguredModel

    return ConfiguredModel(name)


def model_configured(name: str = DEFAULT) -> bool:
    """Whether a call of `configured_model(name)` would reach a real model."""
    return current_models().record(name) is not None


def prepare_model(model: BaseLlm) -> None:
    """Switch off the retries that a model's client library makes by itself, in place.

    oda retries turns; a client's own retries would multiply with that and be invisible. Values set
    on purpose by the agent's author stay.
    """
    lite_llm = sys.modules.get("google.adk.models.lite_llm")
    google_llm = sys.modules.get("google.adk.models.google_llm")
    anthropic_llm = sys.modules.get("google.adk.models.anthropic_llm")
    known: Any = model
    if lite_llm and isinstance(model, lite_llm.LiteLlm):
        if not {"max_retries", "num_retries"} & known._additional_args.keys():
            known._additional_args.update(max_retries=0, num_retries=0)
        if type(known.llm_client) is lite_llm.LiteLLMClient:
            from oda.agent.litellm_client import CheckedClient

            known.llm_client = CheckedClient()
    elif google_llm and isinstance(model, google_llm.Gemini):
        if known.retry_options is None and known.client is None:
            from google.genai.types import HttpRetryOptions

            known.retry_options = HttpRetryOptions(attempts=1)
    elif anthropic_llm and type(model) is anthropic_llm.AnthropicLlm and known.client is None:
        from anthropic import AsyncAnthropic

        known.client = AsyncAnthropic(max_retries=0)


def _records(settings: Settings, configuration: Configuration) -> dict[str, ModelRecord]:
    records = dict(configuration.models)
    if settings.model:
        fallbacks = records[DEFAULT].fallbacks if DEFAULT in records else ()
        records[DEFAULT] = ModelRecord(
            model=settings.model, api_base=settings.model_api_base, fallbacks=fallbacks
        )
    return records
