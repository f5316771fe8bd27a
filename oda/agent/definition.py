"""Agent definitions: ADK agents folders, loaded at first use and prepared for many sessions."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.llm_agent import LlmAgent
from google.adk.apps import App
from google.adk.models.base_llm import BaseLlm
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset

from oda.agent.model.client_retries import without_client_retries
from oda.agent.model.configured import configured_model
from oda.agent.model.litellm_import import prepare_litellm
from oda.config.files import configured_by
from oda.config.records import AgentRecord, Configuration
from oda.errors import AgentLoadError, AgentNotFoundError, ConfigurationError, OdaError
from oda.telemetry import experimental_on_purpose, get_logger
from oda.tools.idempotency import idempotent

if TYPE_CHECKING:
    from google.adk.cli.utils.agent_loader import AgentLoader

log = get_logger(__name__)


@dataclass(frozen=True)
class Definition:
    """What an agents folder says about one agent; shared by all sessions."""

    name: str
    app: App

    @property
    def description(self) -> str:
        return str(getattr(self.app.root_agent, "description", "") or "")

    @property
    def tools(self) -> list[str]:
        """Names of the tools that are known without asking a server, sub-agents' included."""
        return sorted(
            {name for agent in _llm_agents(self.app.root_agent) for name in _names(agent)}
        )

    @property
    def models(self) -> list[BaseLlm]:
        """The models of its LLM agents, the first agent's first."""
        return [agent.canonical_model for agent in _llm_agents(self.app.root_agent)]

    @property
    def brings_litellm(self) -> bool:
        """A model of its own is called through LiteLLM."""
        lite_llm = sys.modules.get("google.adk.models.lite_llm")  # imported by who brings one
        return lite_llm is not None and any(
            isinstance(model, lite_llm.LiteLlm) for model in self.models
        )


class Definitions:
    """The agents of one folder, and of its configuration.

    Args:
        agents_dir: Any ADK agents folder, or the folder of a single agent.
        configuration: What `config/agents.yaml` changes in them.
        toolset: Makes the toolset of an MCP server of the configuration.
        prepare: Called once for each definition that `load` returns, before it does.

    Raises:
        ConfigurationError: the folder does not exist.
    """

    def __init__(
        self,
        agents_dir: Path,
        configuration: Callable[[], Configuration],
        toolset: Callable[[str], BaseToolset],
        prepare: Callable[[Definition], Awaitable[None]] | None = None,
    ) -> None:
        if not agents_dir.is_dir():
            raise ConfigurationError(
                f"there is no agents folder {str(agents_dir)!r}",
                remedy="name one with --agents DIR or ODA_AGENTS_DIR",
            )
        prepare_litellm()
        self._agents_dir = agents_dir
        self._configuration = configuration
        self._toolset = toolset
        self._prepare = prepare
        self._loading = RLock()
        self._prepared_names: set[str] = set()
        self._loaded: dict[str, tuple[AgentRecord, Definition]] = {}
        self._reasons: dict[str, str] = {}
        """Why agents could not be loaded: the traceback of each reason is logged once."""

    @cached_property
    def _loader(self) -> "AgentLoader":
        from google.adk.cli.utils.agent_loader import AgentLoader  # not needed to start a server

        return AgentLoader(str(self._agents_dir))

    def names(self) -> list[str]:
        """All agents of the folder, those included that cannot be loaded."""
        return sorted(self._loader.list_agents())

    async def load(self, name: str) -> Definition:
        """As `get`; what takes long is done in a thread.

        Raises: as `get`.
        """
        known = name in self._loaded
        definition = self.get(name) if known else await asyncio.to_thread(self.get, name)
        if self._prepare is not None and name not in self._prepared_names:
            await self._prepare(definition)
            self._prepared_names.add(name)
        return definition

    def get(self, name: str) -> Definition:
        """The definition of an agent, loaded at first use.

        Raises:
            AgentNotFoundError: there is no such agent.
            AgentLoadError: it exists, but its code or YAML fails.
        """
        record = self._configuration().agent(name)
        known = self._loaded.get(name)
        if known is not None and known[0] == record:
            return known[1]
        with self._loading:
            known = self._loaded.get(name)
            if known is None or known[0] != record:
                known = record, Definition(name, self._with_record(self._load(name), record))
                self._loaded[name] = known
            return known[1]

    def try_get(self, name: str) -> Definition | AgentLoadError:
        """The definition, or the error for which it cannot be loaded.

        Raises:
            AgentNotFoundError: there is no such agent.
        """
        try:
            return self.get(name)
        except AgentLoadError as error:
            return error

    def part(self, name: str, function: str, *, file: str) -> Callable[[], object] | None:
        """A function of a file that the agent's folder may bring; None when there is no such file.

        Raises:
            AgentNotFoundError: there is no such agent.
            AgentLoadError: the agent, or the file, fails or has no such function.
        """
        there = (Path(self._loader.agents_dir) / name / f"{file}.py").is_file()
        if name in self.names() and not there:
            return None
        self.get(name)
        try:
            found = getattr(import_module(f"{name}.{file}"), function, None)
        except Exception as error:
            raise broken_part(name, file, f"{type(error).__name__}: {error}") from error
        if not callable(found):
            raise broken_part(name, file, f"{file}.py has no function {function!r}")
        part: Callable[[], object] = found
        return part

    def _load(self, name: str) -> App:
        if name not in self.names():
            raise AgentNotFoundError(
                f"There is no agent {name!r}.",
                remedy=f"there are: {', '.join(self.names()) or 'none'}",
            )
        try:
            with experimental_on_purpose(), configured_by(self._configuration):
                loaded: Any = self._loader.load_agent(name)
        except OdaError:
            raise
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            known = self._reasons.get(name) == reason
            self._reasons[name] = reason
            log.error("agent_not_loaded", agent=name, reason=reason, exc_info=not known and error)
            raise AgentLoadError(
                f"The agent {name!r} cannot be loaded: {type(error).__name__}: {error}",
                remedy="run `oda doctor` for details",
            ) from error
        return loaded if isinstance(loaded, App) else App(name=name, root_agent=loaded)

    def _with_record(self, app: App, record: AgentRecord) -> App:
        """The app as the configuration wants it; what was loaded is left as it is."""
        for agent in _llm_agents(app.root_agent):
            if agent.model:
                without_client_retries(agent.canonical_model)
            _declare_idempotent(agent, record.idempotent_tools)
        update: dict[str, Any] = {}
        root = app.root_agent
        if record.description:
            update["description"] = record.description
        if isinstance(root, LlmAgent):
            if record.model:
                update["model"] = configured_model(record.model)
            if record.mcp_servers:
                update["tools"] = [*root.tools, *map(self._toolset, record.mcp_servers)]
        if not update or not isinstance(root, BaseAgent):
            return app
        return app.model_copy(update={"root_agent": root.clone(update=update)})


def broken_part(name: str, file: str, reason: str) -> AgentLoadError:
    """The error of an agent of which something beside it cannot be used; itself it can."""
    return AgentLoadError(
        f"The {file} of the agent {name!r} cannot be loaded: {reason}",
        remedy="run `oda doctor` for details",
    )


def _llm_agents(node: object, seen: set[int] | None = None) -> Iterator[LlmAgent]:
    """All LLM agents of a tree, through sub-agents, graph nodes and agents used as tools."""
    seen = set() if seen is None else seen
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, LlmAgent):
        yield node
        for tool in node.tools:
            yield from _llm_agents(getattr(tool, "agent", None), seen)
    for child in getattr(node, "sub_agents", None) or ():
        yield from _llm_agents(child, seen)
    for child in getattr(getattr(node, "graph", None), "nodes", None) or ():
        yield from _llm_agents(child, seen)


def _names(agent: LlmAgent) -> Iterator[str]:
    for tool in agent.tools:
        if isinstance(tool, BaseTool):
            yield tool.name
        elif callable(tool):
            yield getattr(tool, "__name__", type(tool).__name__)


def _declare_idempotent(agent: LlmAgent, names: frozenset[str]) -> None:
    for tool in agent.tools:
        if isinstance(tool, BaseTool):
            if tool.name in names:
                tool.custom_metadata = {**(tool.custom_metadata or {}), "idempotent": True}
        elif callable(tool) and getattr(tool, "__name__", None) in names:
            idempotent(tool)
