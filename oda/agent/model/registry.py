"""Registry of the configured models, and the current registry of an event loop."""

from collections.abc import Callable, Mapping
from functools import cache

from google.adk.models.base_llm import BaseLlm

from oda.agent.model.gate import pass_gate
from oda.agent.model.guarded import Breaker, Guarded
from oda.agent.model.providers import build_model, missing_key, shares_access, way_to
from oda.agent.model.structured import Structured
from oda.agent.model.transcription import transcribe
from oda.agent.model.unconfigured import Unconfigured
from oda.clock import Clock, SystemClock
from oda.config.files import ConfigurationFiles
from oda.config.records import Configuration, ModelRecord
from oda.errors import ConfigurationError, NotConfiguredError
from oda.loop import LoopDefault
from oda.settings import Settings

DEFAULT = "default"


class Models:
    """The configured models, each created once per version of the configuration."""

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
        """The records by name; a changed configuration discards the created models."""
        configuration = self._configuration()
        if configuration is not self._read:
            self._read = configuration
            self._known = _records(self._settings, configuration)
            self._built.clear()
        return self._known

    def record(self, name: str) -> ModelRecord | None:
        """Return the record of a configured name, or of a raw name such as `openai/gpt-4o`.

        None if the name is `default` and no default model is configured.
        """
        if name in (records := self._records):
            return records[name]
        return None if name == DEFAULT else ModelRecord(model=name)

    def resolve(self, name: str) -> BaseLlm:
        """Return the model for a name, with answers in form, a circuit breaker and fallbacks."""
        record = self.record(name)
        if name not in self._built:
            self._built[name] = Unconfigured() if record is None else self._with_fallbacks(record)
        return self._built[name]

    async def transcribe(self, audio: bytes, mime_type: str) -> str:
        """Return the text of a recording.

        Raises:
            NotConfiguredError: no transcribing model is configured.
            DailyLimitError: the user's daily budget is used up.
            NoContentError: the recording contains no speech.
            UnavailableError: the server did not answer like a model.
        """
        transcriber = self.transcriber
        if transcriber is None:
            raise NotConfiguredError(
                "No model is configured that understands speech.",
                remedy="set ODA_TRANSCRIBE_MODEL, for example to openai/whisper-1, or send text",
            )
        with await pass_gate(transcriber.model):
            return await transcribe(transcriber, self._settings, audio, mime_type)

    @property
    def transcriber(self) -> ModelRecord | None:
        """The record of the transcribing model, if configured."""
        name = self._settings.transcribe_model
        return None if name is None else _with_access(name, self._settings)

    @property
    def configured(self) -> list[ModelRecord]:
        """All records, including the default and the transcribing model."""
        speech = self.transcriber
        return [*self._records.values(), *((speech,) if speech else ())]

    @property
    def need_litellm(self) -> bool:
        """Whether a configured model is called through LiteLLM."""
        return any(way_to(record) == "litellm" for record in self.configured)

    def check_keys(self) -> None:
        """Check that all models have keys. Imports LiteLLM.

        Raises:
            ConfigurationError: a key is missing; the message names the model and the variable.
        """
        for record in self.configured:
            if error := self._missing_key(record):
                raise error

    def missing_key(self, name: str) -> ConfigurationError | None:
        """Return the error for a configured or raw name without a key. May import LiteLLM."""
        record = self.record(name)
        return None if record is None else self._missing_key(record)

    def _missing_key(self, record: ModelRecord) -> ConfigurationError | None:
        variable = missing_key(record, self._settings)
        if variable is None:
            return None
        ours = "ODA_MODEL_API_KEY or " if shares_access(record.model, self._settings) else ""
        return ConfigurationError(
            f"the model {record.model!r} needs a key", remedy=f"set {ours}{variable}"
        )

    def _with_fallbacks(self, record: ModelRecord) -> BaseLlm:
        structured = Structured(model=record.model, target=self._guarded(record), clock=self._clock)
        chain = [structured, *map(self.resolve, record.fallbacks)]
        if len(chain) == 1:
            return chain[0]
        from oda.agent.model.guarded import Fallback

        return Fallback(models=chain)

    def _guarded(self, record: ModelRecord) -> BaseLlm:
        breaker = Breaker(
            failures=self._settings.breaker.failures, pause_s=self._settings.breaker.pause_s
        )
        way = way_to(record)
        return Guarded(
            model=record.model,
            target=build_model(record, self._settings),
            breaker=breaker,
            clock=self._clock,
            timeout_s=record.timeout_s or self._settings.model_timeout_s,
            needs_litellm=way == "litellm",
            ends_with_reason=way == "gemini",
        )


def _records(settings: Settings, configuration: Configuration) -> dict[str, ModelRecord]:
    records = dict(configuration.models)
    if settings.model:
        fallbacks = records[DEFAULT].fallbacks if DEFAULT in records else ()
        records[DEFAULT] = ModelRecord(
            model=settings.model, api_base=settings.model_api_base, fallbacks=fallbacks
        )
    cheaper = settings.turn.cheaper_model
    if cheaper and cheaper not in records:
        records[cheaper] = _with_access(cheaper, settings)
    return records


def _with_access(model: str, settings: Settings) -> ModelRecord:
    """Return the record of a raw name, with the address of `ODA_MODEL` if that applies to it."""
    api_base = settings.model_api_base if shares_access(model, settings) else None
    return ModelRecord(model=model, api_base=api_base)


default_models: LoopDefault[Models] = LoopDefault()
"""The models used in an event loop; set by the composition root."""


def current_models() -> Models:
    """Return the event loop's models, or else those of the environment and its configuration.

    Raises:
        ConfigurationError: the environment or a configuration file is invalid.
    """
    return default_models.get() or _from_environment()


@cache
def _from_environment() -> Models:
    settings = Settings.load()
    return Models(settings, ConfigurationFiles(settings.config_dir).current)


def model_configured(name: str = DEFAULT) -> bool:
    """Return whether `configured_model(name)` stands for a real model."""
    return current_models().record(name) is not None
