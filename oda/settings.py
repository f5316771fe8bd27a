"""Settings of a process: environment (`ODA_…`), `.env`, `config/oda.yaml`, in this order."""

import os
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import SplitResult, urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    YamlConfigSettingsSource,
)
from yaml import YAMLError

from oda.errors import ConfigurationError
from oda.telemetry import LogFormat, LogLevel
from oda.webhooks.signature import signing_key

_UNION_TAGS = ("int", "float")
"""Location parts that pydantic adds for the members of `int | float`."""

OnLimit = Literal["stop", "ask", "cheaper"]

Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def _reason(message: str) -> str:
    ours = message.removeprefix("Value error, ")
    return message.lower() if ours == message else ours


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _none_is_a_name(value: object) -> object:
    """`none` of the environment means no value elsewhere."""
    return "none" if value is None else _lower(value)


def is_loopback(host: str) -> bool:
    """Return whether a server bound to `host` is only reachable from this machine."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class Section(BaseModel):
    """Base of the groups of settings; unknown names are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


UNPREPARED = "prepare_threshold=none"
"""Parameter of a PostgreSQL URL: no statements are prepared on the server."""


class SessionSettings(Section):
    """`ODA_SESSION__…`"""

    recent_events: Annotated[int, Field(ge=10)] | None = 100
    """Stored events that a turn loads; the running turn is never cut. `none` for all."""
    idle_timeout_s: Seconds = 300.0
    """Live objects of a session unused for this long are dropped; nothing stored is."""
    max_live: Annotated[int, Field(ge=1)] = 1000
    """Maximum number of sessions with live objects; the least recently used is dropped first."""
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
    on_limit: OnLimit = "stop"
    """Policy when calls, tokens or dollars are used up: `stop` ends the turn, `ask` waits for the
    user to grant the same amount again, `cheaper` continues with the cheaper model for the same
    amount.
    """
    cheaper_model: str | None = None
    """A configured name, or a raw one as in `ODA_MODEL`."""
    retention_days: Annotated[float, Field(gt=0)] = 30.0
    """How long finished turns and their events can be read."""
    input_timeout_s: Seconds = 7 * 86400.0
    """How long a turn waits for a person before it fails."""
    grace_s: Annotated[float, Field(ge=0)] = 10.0
    """Time for running turns to finish when the server stops; the next start resumes the rest."""
    concurrency: Annotated[int, Field(ge=1)] = 100
    """Most turns at a time in one process, on PostgreSQL; the others wait in the queue."""
    silent_s: Seconds = 6.0
    """Time without a heartbeat after which a worker counts as dead and others take over its turns,
    on PostgreSQL.
    """
    max_recoveries: Annotated[int, Field(ge=1)] = 5
    """How many processes a turn may outlive; one that keeps killing them fails."""


class ToolsSettings(Section):
    """`ODA_TOOLS__…`"""

    max_result_chars: Annotated[int, Field(ge=1000)] = 100_000
    """Most characters of a tool's result; a longer one is cut off and says so."""
    timeout_s: Seconds | None = 300.0
    """Time limit of a tool call; `none` for no limit but the turn's. A call that exceeds it has an
    unknown outcome; the turn goes on.
    """


class DaySettings(Section):
    """`ODA_DAY__…`: limits per user and day (UTC), over all nodes; unlimited by default.

    Each model call is drawn from the day before it is made, in turns and in requests to an app's
    own routes.
    """

    model_calls: Annotated[int, Field(ge=1)] | None = None
    tokens: Annotated[int, Field(ge=1)] | None = None
    cost_usd: Annotated[float, Field(gt=0)] | None = None
    on_limit: OnLimit = "stop"
    """Policy when a limit is reached: `stop` refuses further turns until the next day and ends
    running ones, `ask` waits for the user's consent, `cheaper` continues with
    `ODA_TURN__CHEAPER_MODEL`. With `ask`, requests outside of turns are refused, since there is
    nobody to ask.
    """


class BreakerSettings(Section):
    """`ODA_BREAKER__…`: when a failing model is left alone."""

    failures: Annotated[int, Field(ge=1)] = 10
    """Failures in a row, over all sessions, that open the circuit."""
    pause_s: Seconds = 30.0
    """How long it stays open before one call is let through."""


_RsaAlgorithm = Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]
_CurveAlgorithm = Literal["ES256", "ES384", "ES512", "EdDSA"]
JwtAlgorithm = Literal[_RsaAlgorithm, _CurveAlgorithm]
"""Signatures of a private key; a secret that both sides share (HS256 and so on) never counts."""


def _listed(value: object) -> object:
    """Names between commas or blanks, as an environment variable has them."""
    return value.replace(",", " ").split() if isinstance(value, str) else value


class JwtSettings(Section):
    """`ODA_JWT__…`: whose tokens are accepted."""

    issuer: str | None = None
    """Exactly as in the tokens' `iss`, usually a URL; without it no token is accepted."""
    audience: str | None = None
    """Must be in the tokens' `aud`; needed with an issuer."""
    jwks_url: str | None = None
    """The issuer's keys; by default as its OpenID configuration says, else
    `<issuer>/.well-known/jwks.json`."""
    algorithms: Annotated[
        tuple[JwtAlgorithm, ...], Field(min_length=1), NoDecode, BeforeValidator(_listed)
    ] = ("RS256", "ES256")
    """Signatures that are accepted."""
    user_claim: str = "sub"
    """Claim that holds the user's id."""
    scope_claim: str = "scope"
    """Claim that holds the user's permissions: a list, or names separated by blanks."""
    admin_scope: str = "oda:admin"
    """The name in `scope_claim` that makes an admin."""
    leeway_s: Annotated[float, Field(ge=0, le=600)] = 30.0
    """How much the issuer's clock may differ from ours."""

    @model_validator(mode="after")
    def _has_an_audience(self) -> Self:
        if self.issuer and not self.audience:
            raise PydanticCustomError(
                "no_audience",
                "an issuer needs an audience, else its tokens for other services are accepted",
            )
        return self


class WebhookSettings(Section):
    """`ODA_WEBHOOKS__…`: what others are told of turns."""

    secret: Annotated[SecretStr, AfterValidator(signing_key)] | None = None
    """Signs what is sent, as Standard Webhooks (`whsec_…`, base64); without it nothing is sent."""
    allow_private: bool = False
    """Whether webhooks may be sent to addresses that are not public, this machine's among them."""


def _rate_storage(value: str) -> str:
    """Check the storage URL of rate limits.

    Raises:
        ValueError: the URL is invalid.
    """
    parts = urlsplit(value)
    is_redis = parts.scheme.removeprefix("async+") in ("redis", "rediss")
    if value != "memory://" and not (is_redis and parts.hostname and _has_a_port(parts)):
        raise ValueError("it is neither memory:// nor such as redis://localhost:6379/0")
    return value


def _has_a_port(parts: SplitResult) -> bool:
    """Return whether the port of a URL is valid or missing."""
    try:
        return parts.port != 0
    except ValueError:
        return False


class LimitSettings(Section):
    """`ODA_LIMITS__…`: what one client may ask of the server."""

    body_bytes: Annotated[int, Field(ge=1024)] = 20 * 2**20
    """Maximum body size of requests that may contain files: messages, uploads, imports."""
    small_body_bytes: Annotated[int, Field(ge=1024)] = 2**20
    """Maximum body size of all other requests, and of a message without its files."""
    json_values: Annotated[int, Field(ge=1000)] = 50_000
    """Maximum number of values in a JSON body: numbers, texts, arrays, objects and so on."""
    json_depth: Annotated[int, Field(ge=8, le=500)] = 64
    """Most arrays and objects in one another in a JSON body."""
    state_bytes: Annotated[int, Field(ge=1024)] = 2**20
    """Maximum size of a session's state as changed by clients."""
    user_storage_bytes: Annotated[int, Field(ge=1024)] = 2**30
    """Storage quota of one user: messages with their files, states, and artifacts, including those
    of agents; each counts 1 KiB extra. Beyond it, requests are answered with 413 `storage_quota`;
    deleting data makes room. Workspaces have a separate quota.
    """
    user_sessions: Annotated[int, Field(ge=1)] = 10_000
    """Maximum number of stored sessions of one user."""
    header_bytes: Annotated[int, Field(ge=1024)] = 32 * 2**10
    """Largest head of a request: path, names and values."""
    head_timeout_s: Seconds = 10.0
    """How long a client may take to send the head of a request."""
    body_timeout_s: Seconds = 30.0
    """How long a client may take to send a body."""
    answer_stall_s: Seconds = 30.0
    """Time after which a connection is closed if the client does not read the answer."""
    connections: Annotated[int, Field(ge=10)] = 1000
    """Maximum number of open connections, including WebSockets; further ones are answered
    with 503.
    """
    requests_per_minute: Annotated[int, Field(ge=1)] = 600
    """Maximum number of requests of one user, counting a WebSocket once; not limited on an open
    server.
    """
    failed_logins_per_minute: Annotated[int, Field(ge=1)] = 60
    """Maximum number of failed credentials per address; further ones are answered with 429. Valid
    ones are always accepted.
    """
    turns_at_once: Annotated[int, Field(ge=1)] = 32
    """Unfinished turns of one user."""
    sockets: Annotated[int, Field(ge=1)] = 20
    """Open WebSockets of one user."""
    socket_message_bytes: Annotated[int, Field(ge=1024)] = 4 * 2**20
    """Largest message on a WebSocket."""
    socket_messages_per_minute: Annotated[int, Field(ge=1)] = 300
    """Maximum number of messages per minute on one WebSocket."""
    socket_stall_s: Seconds = 30.0
    """How long a client may leave unread what is sent on its WebSocket."""
    storage: Annotated[str, AfterValidator(_rate_storage)] = "memory://"
    """Storage of the counters of requests and failed logins: `memory://` counts per node,
    `redis://…` over all nodes. While Redis is unavailable nothing is limited, which is logged once
    a minute.
    """


SandboxName = Literal["auto", "bwrap", "landlock", "unsafe-subprocess", "none"]


class WorkspaceSettings(Section):
    """`ODA_WORKSPACE__…`: workspaces of agents, and limits of their code."""

    root: Path | None = None
    """A directory for all runs; by default `workspaces` in the data directory."""
    quota_bytes: Annotated[int, Field(ge=2**20)] = 500 * 2**20
    """Most bytes in the workspace of one run."""
    quota_files: Annotated[int, Field(ge=10)] = 2000
    """Most files and folders in it."""
    retention_days: Annotated[float, Field(gt=0)] = 30.0
    """How long a workspace is kept after it was last used."""
    read_chars: Annotated[int, Field(ge=1000)] = 50_000
    """Most characters that one reading of a file gives."""
    python: Path | None = None
    """The interpreter whose environment code gets, read-only; by default that of this process."""
    run_timeout_s: Seconds = 60.0
    """Longest run of a piece of code."""
    run_cpu_s: Annotated[int, Field(ge=1)] = 30
    run_memory_bytes: Annotated[int, Field(ge=2**28)] = 2 * 2**30
    run_quota_bytes: Annotated[int, Field(ge=2**20)] = 200 * 2**20
    """Most bytes that one run may write; they lie in memory while it runs."""
    runs_at_once: Annotated[int, Field(ge=1)] = 4
    """Most pieces of code that run at the same time; further ones wait."""


def _origin(value: str) -> str:
    """Check that a value is an origin in the form that browsers send.

    Raises:
        ValueError: it is not an origin, or matches several.
    """
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or value != f"{parts.scheme}://{parts.netloc}":
        raise ValueError(f"{value!r} is no origin such as https://app.example.com")
    if not parts.hostname or "*" in value or "@" in value or value != value.lower():
        raise ValueError(f"{value!r} is no single origin in lower case")
    return value


Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed)]
Origins = Annotated[
    tuple[Annotated[str, AfterValidator(_origin)], ...], NoDecode, BeforeValidator(_listed)
]


def _network(value: str) -> str:
    """Check and return an address or network.

    Raises:
        ValueError: it is neither.
    """
    try:
        ip_network(value)
    except ValueError as error:
        raise ValueError(f"{value!r} is no address or network such as 10.0.0.0/8") from error
    return value


Proxies = Annotated[
    tuple[Annotated[str, AfterValidator(_network)], ...], NoDecode, BeforeValidator(_listed)
]


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
    """SQLAlchemy URL; by default SQLite in the data directory, for one process. Any number of
    processes share a PostgreSQL database, and its turns.
    """
    listen_url: str | None = None
    """URL of PostgreSQL itself, if `database_url` is that of a pooler such as PgBouncer, which
    passes no notifications on.
    """
    session_service: str | None = None
    """`memory://`, `redis://…` or another ADK service URL; by default the database."""

    model: str | None = None
    """LiteLLM's or Gemini's name of the default model."""
    model_api_base: str | None = None
    model_api_key: SecretStr | None = None
    """API key of the model; by default that of the provider's own variable."""
    transcribe_model: str | None = None
    """LiteLLM's name of a transcription model, such as `openai/whisper-1`."""
    model_timeout_s: Seconds = 120.0
    """Limit of one model call, or of the wait for the next piece of a stream."""

    retry: dict[str, int | float] = {}
    """Overrides of the retry policies' fields, such as `ODA_RETRY__MAX_RETRIES`."""
    session: SessionSettings = SessionSettings()
    turn: TurnSettings = TurnSettings()
    day: DaySettings = DaySettings()
    tools: ToolsSettings = ToolsSettings()
    breaker: BreakerSettings = BreakerSettings()
    workspace: WorkspaceSettings = WorkspaceSettings()
    sandbox: Annotated[SandboxName, BeforeValidator(_none_is_a_name)] = "auto"
    """Sandbox for agents' code. `auto` uses the first of bubblewrap and Landlock that works on this
    machine, and runs no code if neither does; `unsafe-subprocess` is no sandbox at all.
    """
    mcp_pins: Path | None = None
    """File with the approved descriptions of MCP tools, pinned when first seen; by default
    `mcp_pins.json` in the data directory. Several nodes must share the file or be given copies.
    """
    jwt: JwtSettings = JwtSettings()
    webhooks: WebhookSettings = WebhookSettings()

    accept_only: bool = False
    """Accept turns and show them, but leave it to other processes to run them; needs PostgreSQL."""
    apps: Names = ()
    """Apps whose turns this process runs, on PostgreSQL; by default all."""

    host: str = "127.0.0.1"
    """Address to listen on."""
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    """0 takes a free one."""
    dev_ui: bool = True
    """Whether to serve ADK's dev UI; it is never served on a public address."""
    rehearse: bool = True
    """Whether a process of its own loads all agents once after the start, to report broken ones."""
    limits: LimitSettings = LimitSettings()
    allowed_hosts: Names = ()
    """Names of this server in `Host`, without ports, besides those of this machine; on a public
    address all names by default."""
    allowed_origins: Origins = ()
    """Pages of other origins that may call this server, each exactly, such as
    `https://app.example.com`."""
    trusted_proxies: Proxies = ()
    """Addresses and networks of proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are
    trusted; the client is the right-most address that is not one of them. `Forwarded` is ignored: a
    proxy that does not know it passes on what a client has made up.
    """
    insecure: bool = False
    """Serve everyone without authentication, on a public address and through a proxy on this
    machine.
    """

    tool_threads: Annotated[int, Field(ge=1, le=256)] = 16
    """Threads for tools that are not `async`."""
    log_level: Annotated[LogLevel, BeforeValidator(_lower)] = "warning"
    log_format: Annotated[LogFormat, BeforeValidator(_lower)] = "console"

    @model_validator(mode="after")
    def _cheaper_needs_a_model(self) -> Self:
        if "cheaper" in (self.turn.on_limit, self.day.on_limit) and not self.turn.cheaper_model:
            raise ValueError("on_limit 'cheaper' needs ODA_TURN__CHEAPER_MODEL")
        return self

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
            where = f"setting ODA_{name}" if name else "settings"
            raise ConfigurationError(
                f"{where}: {_reason(first['msg'])}",
                remedy="correct it in the environment, in .env or in config/oda.yaml",
            ) from error
        except ValueError as error:
            raise ConfigurationError(
                f"the settings cannot be read: {error}",
                remedy="correct the environment, .env or config/oda.yaml",
            ) from error

    @property
    def workspace_root(self) -> Path:
        """The directory of all workspaces, with the default filled in."""
        return (self.workspace.root or self.data_dir / "workspaces").resolve()

    @property
    def mcp_pins_path(self) -> Path:
        """The file of pinned MCP tools, with the default filled in."""
        return (self.mcp_pins or self.data_dir / "mcp_pins.json").resolve()

    @property
    def resolved_database_url(self) -> str:
        """The database of this process, with the default filled in.

        A pooler gives each transaction another connection, which knows no prepared statements.
        """
        url = self.database_url or f"sqlite:///{self.data_dir.resolve() / 'oda.db'}"
        if self.listen_url is None or not url.startswith("postgres"):
            return url
        return f"{url}{'&' if '?' in url else '?'}{UNPREPARED}"

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
