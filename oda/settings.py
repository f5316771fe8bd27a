"""Settings of a process: environment (`ODA_…`), `.env`, `config/oda.yaml`, in this order."""

import os
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    YamlConfigSettingsSource,
)
from yaml import YAMLError

from oda.errors import ConfigurationError
from oda.telemetry import LogFormat, LogLevel

_UNION_TAGS = ("int", "float")
"""What pydantic adds to the place of an error inside of `int | float`."""

Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


class Section(BaseModel):
    """Base of the groups of settings; unknown names are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class SessionSettings(Section):
    """`ODA_SESSION__…`"""

    recent_events: Annotated[int, Field(ge=10)] | None = 100
    """Stored events that a turn loads; the running turn is never cut. `none` for all."""
    idle_timeout_s: Seconds = 1800.0
    """Live objects of a session unused for this long are dropped; nothing stored is."""
    max_live: Annotated[int, Field(ge=1)] = 1000
    """Most sessions with live objects; the least recently used goes first."""
    max_queued: Annotated[int, Field(ge=1)] = 32
    """Most messages that wait in one session."""


class TurnSettings(Section):
    """`ODA_TURN__…`"""

    timeout_s: Seconds | None = 600.0
    """Longest turn, waits between attempts included; `none` for no limit."""
    model_calls: Annotated[int, Field(ge=1)] | None = 500
    """Most model calls of one turn, over all attempts."""
    tokens: Annotated[int, Field(ge=1)] | None = None
    """Most input and output tokens of one turn."""
    cost_usd: Annotated[float, Field(gt=0)] | None = None
    """Most US dollars of one turn, where prices are known."""
    kept: Annotated[int, Field(ge=1)] = 300
    """Most finished turns whose events can still be read."""


class BreakerSettings(Section):
    """`ODA_BREAKER__…`: when a failing model is left alone."""

    failures: Annotated[int, Field(ge=1)] = 10
    """Failures in a row, over all sessions, that open the circuit."""
    pause_s: Seconds = 30.0
    """How long it stays open before one call is let through."""


class Settings(BaseSettings):
    """All settings. Build it with `load`, which explains what is wrong."""

    model_config = SettingsConfigDict(
        env_prefix="ODA_",
        env_nested_delimiter="__",
        env_file=".env",
        env_ignore_empty=True,
        env_parse_none_str="none",
        extra="ignore",
        frozen=True,
        use_attribute_docstrings=True,
        hide_input_in_errors=True,
    )

    data_dir: Path = Path(".oda")
    """Databases and artifacts."""
    config_dir: Path = Path("config")
    """YAML files; see `oda.config`."""
    agents_dir: Path = Path("agents")
    """ADK agents folder."""
    database_url: str | None = None
    """SQLAlchemy URL; by default SQLite in the data directory."""
    session_service: str | None = None
    """`memory://`, `redis://…` or another ADK service URL; by default the database."""

    model: str | None = None
    """LiteLLM's or Gemini's name of the default model."""
    model_api_base: str | None = None
    model_api_key: SecretStr | None = None
    """By default the provider's own variable."""
    model_timeout_s: Seconds = 120.0
    """Limit of one model call, or of the wait for the next piece of a stream."""

    retry: dict[str, int | float] = {}
    """Overrides of the retry policies' fields, such as `ODA_RETRY__MAX_RETRIES`."""
    session: SessionSettings = SessionSettings()
    turn: TurnSettings = TurnSettings()
    breaker: BreakerSettings = BreakerSettings()

    host: str = "127.0.0.1"
    """Address to listen on."""
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    """0 takes a free one."""
    dev_ui: bool = True
    """Whether ADK's dev UI is served; it never is on a public address."""
    insecure: bool = False
    """Listen on a public address although nobody has to prove who they are."""

    tool_threads: Annotated[int, Field(ge=1, le=256)] = 16
    """Threads for tools that are not `async`."""
    log_level: Annotated[LogLevel, BeforeValidator(_lower)] = "warning"
    log_format: Annotated[LogFormat, BeforeValidator(_lower)] = "console"

    @classmethod
    def load(cls, **overrides: Any) -> Self:
        """Read all sources; None in `overrides` means not given.

        Raises:
            ConfigurationError: naming the variable or key and the reason.
        """
        try:
            return cls(**{key: value for key, value in overrides.items() if value is not None})
        except ValidationError as error:
            first = error.errors()[0]
            name = "__".join(str(step) for step in first["loc"] if step not in _UNION_TAGS).upper()
            raise ConfigurationError(
                f"setting ODA_{name}: {first['msg'].lower()}",
                remedy="correct it in the environment, in .env or in config/oda.yaml",
            ) from error
        except ValueError as error:
            raise ConfigurationError(
                f"the settings cannot be read: {error}",
                remedy="correct the environment, .env or config/oda.yaml",
            ) from error

    @property
    def resolved_database_url(self) -> str:
        """The database of this process, with the default filled in."""
        return self.database_url or f"sqlite:///{self.data_dir.resolve() / 'oda.db'}"

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        given = init_settings()
        directory = Path(given.get("config_dir") or os.environ.get("ODA_CONFIG_DIR") or "config")
        yaml = _OdaYaml(settings_cls, directory / "oda.yaml")
        return init_settings, env_settings, dotenv_settings, yaml


class _OdaYaml(YamlConfigSettingsSource):
    """`oda.yaml`, refused when it is not YAML or has a key that is no setting."""

    def __init__(self, settings_cls: type[BaseSettings], file: Path) -> None:
        try:
            super().__init__(settings_cls, yaml_file=file)
        except YAMLError as error:
            reason = " ".join(str(error).split())
            raise ConfigurationError(
                f"{file}: not valid YAML: {reason}", remedy="correct it"
            ) from error
        known = settings_cls.model_fields
        for key in self.yaml_data:
            if key not in known:
                raise ConfigurationError(
                    f"{file}: {key}: there is no such setting",
                    remedy=f"there are: {', '.join(sorted(known))}",
                )
