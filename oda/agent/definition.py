"""Agent definitions: agents of an ADK agents folder, loaded on first use."""

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

from oda.agent.model.configured import configured_model
from oda.agent.model.litellm_import import prepare_litellm
from oda.agent.model.own_models import without_client_retries
from oda.agent.version import AgentVersion, hash_of
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
    """A loaded agent of an agents folder; shared by all sessions."""

    name: str
    app: App

    @property
    def description(self) -> str:
        return str(getattr(self.app.root_agent, "description", "") or "")

    @property
    def tools(self) -> list[str]:
        """Sorted names of all its agents' tools, except for toolsets, which may need a server."""
        return sorted(
            {name for agent in _llm_agents(self.app.root_agent) for name in _names(agent)}
        )

    @property
    def models(self) -> list[BaseLlm]:
        """The models of its LLM agents, starting with the root."""
        return [agent.canonical_model for agent in _llm_agents(self.app.root_agent)]

    @property
    def brings_litellm(self) -> bool:
        """Whether one of its own models is called through LiteLLM."""
        # Only agents that bring a LiteLLM model have imported this module.
        lite_llm = sys.modules.get("google.adk.models.lite_llm")
        return lite_llm is not None and any(
            isinstance(model, lite_llm.LiteLlm) for model in self.models
        )


class Definitions:
    """The agents of a folder, with the changes of the configuration applied.

    Args:
        agents_dir: Any ADK agents folder, or the folder of a single agent.
        configuration: Returns the current configuration, including `config/agents.yaml`.
        toolset: Creates the toolset of a configured MCP server from its name.
        prepare: Awaited once per agent, before `load` returns it for the first time.

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
        self._hashes: dict[str, str] = {}
        self._reasons: dict[str, str] = {}
        """Last error of each agent that could not be loaded, to log its traceback only once."""

    @cached_property
    def _loader(self) -> "AgentLoader":
        from google.adk.cli.utils.agent_loader import AgentLoader  # not needed to start a server

        return AgentLoader(str(self._agents_dir))

    def names(self) -> list[str]:
        """Return the sorted names of all agents, including those that cannot be loaded."""
        return sorted(self._loader.list_agents())

    async def version(self, name: str) -> AgentVersion:
        """Return the version of an agent's definition; at once if it is loaded.

        So messages that come at the same moment keep their order.

        Raises:
            AgentNotFoundError: there is no such agent.
        """
        record = self._configuration().agent(name)
        if record.version is None and name not in self._hashes:
            self._hashes[name] = await asyncio.to_thread(self._hash, name)
        return AgentVersion(record.version or self._hashes[name], record.pin_versions)

    def _hash(self, name: str) -> str:
        if name not in self.names():
            raise self._not_found(name)
        folder = Path(self._loader.agents_dir) / name
        return hash_of(folder if folder.is_dir() else folder.with_suffix(".py"))

    async def load(self, name: str) -> Definition:
        """Return the definition of an agent, loading it in a thread on first use.

        Raises: as `get`.
        """
        known = name in self._loaded
        definition = self.get(name) if known else await asyncio.to_thread(self.get, name)
        if self._prepare is not None and name not in self._prepared_names:
            await self._prepare(definition)
            self._prepared_names.add(name)
        return definition

    def get(self, name: str) -> Definition:
        """Return the definition of an agent, loading it on first use.

        Raises:
            AgentNotFoundError: there is no such agent.
            AgentLoadError: the agent's code or YAML fails.
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
                if name not in self._hashes:
                    self._hashes[name] = self._hash(name)
            return known[1]

    def try_get(self, name: str) -> Definition | AgentLoadError:
        """Return the definition of an agent, or the error why it cannot be loaded.

        Raises:
            AgentNotFoundError: there is no such agent.
        """
        try:
            return self.get(name)
        except AgentLoadError as error:
            return error

    def part(self, name: str, function: str, *, file: str) -> Callable[[], object] | None:
        """Return a function from an optional module of the agent's folder.

        Args:
            name: The agent.
            function: Name of the function.
            file: Name of the module, without `.py`.

        Returns:
            The function, or None if the folder has no such module.

        Raises:
            AgentNotFoundError: there is no such agent.
            AgentLoadError: the agent or the module fails, or the function is missing.
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
            raise self._not_found(name)
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

    def _not_found(self, name: str) -> AgentNotFoundError:
        return AgentNotFoundError(
            f"There is no agent {name!r}.",
            remedy=f"there are: {', '.join(self.names()) or 'none'}",
        )

    def _with_record(self, app: App, record: AgentRecord) -> App:
        """Return a copy of the app with the configuration applied; the app itself if unchanged."""
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
    """Return the error for an optional module that fails, of an agent that works otherwise."""
    return AgentLoadError(
        f"The {file} of the agent {name!r} cannot be loaded: {reason}",
        remedy="run `oda doctor` for details",
    )


def _llm_agents(node: object, seen: set[int] | None = None) -> Iterator[LlmAgent]:
    """Yield all LLM agents of a tree, through sub-agents, graph nodes and agents used as tools."""
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
