"""The records of the configuration: typed, frozen, and closed to unknown keys."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal, Self, TypeVar
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from oda.config.secrets import check_references, is_reference, literal_secrets

Values = TypeVar("Values", bound=Mapping[str, object])

LITERAL_SECRET: Final = "literal_secret"
"""Type of the validation error for a secret written in the file itself."""


def _secret_reference(text: str) -> str:
    if not is_reference(text):
        raise PydanticCustomError(LITERAL_SECRET, "a secret must not be written out")
    return text


def _without_literal_secrets(values: Values) -> Values:
    for name in literal_secrets(values):
        raise PydanticCustomError(
            LITERAL_SECRET, "the secret {name} must not be written out", {"name": name}
        )
    return values


def _import_path(text: str) -> str:
    module, colon, name = text.partition(":")
    if not colon or not all(part.isidentifier() for part in (*module.split("."), name)):
        raise ValueError("an import path has the form package.module:name")
    return text


Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$", max_length=40)]
AgentName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_.]*$")]
Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Referring = Annotated[Text, AfterValidator(check_references)]
Seconds = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
PositiveSeconds = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
Section = BeforeValidator(lambda value: {} if value is None else value)
"""A section whose lines are all commented out is an empty one."""


class Record(BaseModel):
    """Base of all records."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, use_attribute_docstrings=True
    )


class ModelRecord(Record):
    """A model that agents can name."""

    model: Text
    """Model name as in LiteLLM or Gemini, such as `openai/gpt-4o` or `gemini-2.5-flash`. With the
    prefix `litellm/`, LiteLLM makes the call, whatever the provider.
    """
    api_base: Text | None = None
    """URL of the server, when it is not the provider's own."""
    api_key: Annotated[str, AfterValidator(_secret_reference)] | None = None
    """Reference `${NAME}` to the variable that holds the key; unset = the provider's variable."""
    timeout_s: PositiveSeconds | None = None
    """Limit of one model call; unset = the setting `ODA_MODEL_TIMEOUT_S`."""
    fallbacks: tuple[Name, ...] = ()
    """Names of the models to try, in this order, when this one fails."""
    params: Annotated[
        Mapping[str, JsonValue], Section, AfterValidator(_without_literal_secrets)
    ] = {}
    """Further parameters of the model call, such as `temperature`."""


class RetryRecord(Record):
    """How a failed turn is tried again."""

    max_retries: Annotated[int, Field(strict=True, ge=0)] = 3
    """Attempts after the first one."""
    initial_delay_s: Seconds = 1.0
    """Wait before the first retry."""
    multiplier: Annotated[float, Field(strict=True, ge=1, allow_inf_nan=False)] = 2.0
    """Factor from one wait to the next."""
    max_delay_s: Seconds = 60.0
    """Longest wait."""
    jitter_s: Seconds = 0.0
    """Upper bound of the random time that is added to each wait."""
    time_budget_s: PositiveSeconds | None = None
    """Limit of the whole turn with all its waits; unset = none."""

    @model_validator(mode="after")
    def _delays_in_order(self) -> Self:
        if self.max_delay_s < self.initial_delay_s:
            raise ValueError("max_delay_s must not be less than initial_delay_s")
        return self


class AgentRecord(Record):
    """Overrides for an agent; its definition is in its folder."""

    model: Text | None = None
    """Name from models.yaml, or a model name such as `openai/gpt-4o`; unset = the default."""
    description: Text | None = None
    """Replaces the description of the definition."""
    retry: Name = "default"
    """Retry policy from retry.yaml."""
    mcp_servers: tuple[Name, ...] = ()
    """Servers from mcp.yaml whose tools the agent gets in addition to its own."""
    idempotent_tools: frozenset[Text] = frozenset()
    """Tools that may run again when it is unknown whether they have run."""
    version: Annotated[Text, StringConstraints(max_length=64)] | None = None
    """Version of the definition, which its turns record; unset = a hash of its folder's files."""
    pin_versions: Annotated[bool, Field(strict=True)] = False
    """Whether a turn waits for a process that has the version with which it was accepted."""
    sync_tool_threads: Annotated[int, Field(strict=True, ge=1, le=256)] | None = None
    """Threads for tools that are not `async`; unset = the runtime's default."""


class McpServerRecord(Record):
    """Settings common to all MCP servers, whatever their transport."""

    enabled: Annotated[bool, Field(strict=True)] = True
    """Whether agents get the tools of this server."""
    scope: Literal["shared", "session"] = "shared"
    """One connection for everybody, or one for each session, closed with it."""
    tool_filter: tuple[Text, ...] | None = None
    """The only tools to offer, by the server's names; unset = all."""
    prefix: Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")] | None = None
    """Put before the tools' names: `docs` makes `docs_search` of `search`."""
    require_confirmation: Annotated[bool, Field(strict=True)] = False
    """Whether a person must approve each call."""
    pinned: Annotated[bool, Field(strict=True)] = True
    """Whether a tool whose description has changed is withheld until the change is approved."""
    idempotent: frozenset[Text] = frozenset()
    """Tools, by the server's names, that may be repeated though the server does not say so."""
    connect_timeout_s: PositiveSeconds = 20.0
    """Limit for starting and connecting, and again for listing the tools."""
    call_timeout_s: PositiveSeconds = 60.0
    """Limit of one tool call."""


class StdioMcpServerRecord(McpServerRecord):
    """An MCP server that is started as a child process."""

    transport: Literal["stdio"] = "stdio"
    command: Text
    """The program; `python` means the interpreter that runs oda."""
    args: tuple[Annotated[str, AfterValidator(check_references)], ...] = ()
    """Its arguments; `${NAME}` is replaced."""
    env: Annotated[Mapping[str, Referring], Section, AfterValidator(_without_literal_secrets)] = {}
    """Its environment, besides HOME, PATH and the like; `${NAME}` is replaced."""
    cwd: Path | None = None
    """Its working directory, relative to the configuration file; unset = oda's own."""

    @field_validator("cwd")
    @classmethod
    def _relative_to_file(cls, cwd: Path | None, info: ValidationInfo) -> Path | None:
        directory = (info.context or {}).get("directory")
        return (directory / cwd).resolve() if cwd and directory else cwd


class RemoteMcpServerRecord(McpServerRecord):
    """An MCP server that is reached over HTTP."""

    transport: Literal["http", "sse"]
    """`http` is streamable HTTP."""
    url: Referring
    """The endpoint; `${NAME}` is replaced."""
    headers: Annotated[
        Mapping[str, Referring], Section, AfterValidator(_without_literal_secrets)
    ] = {}
    """Sent with every request; `${NAME}` is replaced."""

    @field_validator("url")
    @classmethod
    def _without_password(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") and not url.startswith("${"):
            raise ValueError("the URL must begin with http:// or https://")
        if parts.password and not is_reference(parts.password):
            raise PydanticCustomError(LITERAL_SECRET, "the password must not be written out")
        return url


AnyMcpServerRecord = Annotated[
    StdioMcpServerRecord | RemoteMcpServerRecord, Field(discriminator="transport")
]


class ToolPolicyRecord(Record):
    """Which tools may be used; a tool that no list of names or patterns allows is barred."""

    allow: tuple[Text, ...] = ()
    """Tools allowed in every run; `read_*` matches all names with that prefix."""
    allow_interactive: tuple[Text, ...] = ()
    """Allowed besides where a person has written."""
    allow_automated: tuple[Text, ...] = ()
    """Allowed besides where a schedule or a program has begun the run."""
    require_confirmation: tuple[Text, ...] = ()
    """Allowed tools whose calls must each be approved by a person."""


class CapabilityRecord(Record):
    """A bundle for agents: instructions, and tools with the policy that allows them."""

    instructions: str = ""
    """Added to the agent's instructions; `{name}` is filled in from the session's state."""
    tools: tuple[Text, ...] = ()
    """Names of tools, import paths such as `package.module:name`, or servers of mcp.yaml."""
    tool_policy: Annotated[ToolPolicyRecord, Section] = ToolPolicyRecord()
    """Policy for these tools and for the agent's other tools."""
    untrusted: tuple[Text, ...] = ()
    """Tools, by name or pattern, whose results contain untrusted text."""
    reaches: Mapping[Text, tuple[Text, ...]] = {}
    """Arguments that are addresses, by tool. After untrusted text, an address that neither the user
    nor a search has provided needs approval.
    """
    finds: Mapping[Text, tuple[Text, ...]] = {}
    """Result fields under which a search returns addresses, by tool."""
    skills: tuple[Path, ...] = ()
    """Folders with a SKILL.md, or of such folders; relative to the configuration file."""
    setup: Annotated[Text, AfterValidator(_import_path)] | None = None
    """`package.module:function`, called with each agent that is made with the capability."""

    @field_validator("skills")
    @classmethod
    def _relative_to_file(cls, skills: tuple[Path, ...], info: ValidationInfo) -> tuple[Path, ...]:
        directory = (info.context or {}).get("directory")
        return tuple((directory / one).resolve() for one in skills) if directory else skills


def _webhook_url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise ValueError("the URL must have the form https://host/path")
    return text


class WebhookRecord(Record):
    """An address that is told of all turns of some apps or keys."""

    url: Annotated[Text, AfterValidator(_webhook_url)]
    events: Annotated[tuple[Literal["done", "waiting_input"], ...], Field(min_length=1)] = (
        "done",
        "waiting_input",
    )
    """What it is told: that a turn is final, that it waits for a person."""
    apps: frozenset[AgentName] | None = None
    """The apps whose turns it is told of; unset = all."""
    keys: frozenset[Text] | None = None
    """Ids of the API keys whose turns it is told of; unset = all turns,
    also those without a key."""


class TriggerRecord(Record):
    """A message that another system sends to an app by a signed request."""

    app: AgentName
    """The app that answers."""
    message: Text
    """The message; `{issue.title}` is filled in from the request's JSON."""
    agent: Text | None = None
    """Another agent of the app that answers."""
    user: Text = "local"
    """Whose session it is."""
    session: Text | None = None
    """Id of the session, filled in like the message; unset = a new session for each request."""
    on_busy: Literal["queue", "reject", "interrupt"] = "queue"
    """What to do when the session has an unfinished turn."""
    secret: Annotated[str, AfterValidator(_secret_reference)] | None = None
    """Reference `${NAME}` to the variable that holds the secret (`whsec_…`) that signs requests;
    unset = that of `ODA_WEBHOOKS__SECRET`."""


class ModelsFile(Record):
    """models.yaml"""

    models: Annotated[Mapping[Name, ModelRecord], Section] = {}


class AgentsFile(Record):
    """agents.yaml"""

    agents: Annotated[Mapping[AgentName, AgentRecord], Section] = {}


class McpFile(Record):
    """mcp.yaml"""

    servers: Annotated[Mapping[Name, AnyMcpServerRecord], Section] = {}


class RetryFile(Record):
    """retry.yaml"""

    policies: Annotated[Mapping[Name, RetryRecord], Section] = {}


class CapabilitiesFile(Record):
    """capabilities.yaml"""

    capabilities: Annotated[Mapping[Name, CapabilityRecord], Section] = {}


class WebhooksFile(Record):
    """webhooks.yaml"""

    webhooks: Annotated[Mapping[Name, WebhookRecord], Section] = {}


class TriggersFile(Record):
    """triggers.yaml"""

    triggers: Annotated[Mapping[Name, TriggerRecord], Section] = {}


class Configuration(Record):
    """Everything that the files say, each reference checked."""

    models: Mapping[str, ModelRecord] = {}
    """Models by name."""
    agents: Mapping[str, AgentRecord] = {}
    """Changes to agents, by the agent's name."""
    mcp_servers: Mapping[str, AnyMcpServerRecord] = {}
    """MCP servers by name."""
    retry_policies: Mapping[str, RetryRecord] = {}
    """Retry policies by name."""
    capabilities: Mapping[str, CapabilityRecord] = {}
    """The application's own capabilities by name, besides those that `oda` brings."""
    webhooks: Mapping[str, WebhookRecord] = {}
    """Standing webhooks by name."""
    triggers: Mapping[str, TriggerRecord] = {}
    """What other systems may begin, by name."""

    def agent(self, name: str) -> AgentRecord:
        """The record of an agent; of one without an entry, the defaults."""
        return self.agents.get(name) or AgentRecord()

    def retry_policy(self, agent_name: str) -> RetryRecord:
        """The policy of an agent; `default` needs no entry in retry.yaml."""
        return self.retry_policies.get(self.agent(agent_name).retry) or RetryRecord()
