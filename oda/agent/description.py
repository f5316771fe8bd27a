"""Descriptions of the available apps, for people and for the API."""

from collections.abc import Iterable, Sequence
from typing import Literal, Protocol, runtime_checkable

from google.adk.models.base_llm import BaseLlm
from pydantic import BaseModel

from oda.agent.definition import Definition, Definitions
from oda.agent.model.configured import ConfiguredModel
from oda.agent.model.registry import Models
from oda.errors import AgentLoadError


class ModelState(BaseModel):
    """The model that answers the app's first agent."""

    state: Literal["configured", "not_configured", "own", "none"]
    """`own`: the agent brings its own model; `none`: it uses no model."""
    name: str | None = None


@runtime_checkable
class AsksModels(Protocol):
    """A root that calls models itself, without an LLM agent, such as an orchestrator."""

    @property
    def models(self) -> Sequence[BaseLlm]: ...


class AppDescription(BaseModel):
    """An app that users can talk to."""

    name: str
    description: str
    model: ModelState
    tools: list[str]
    templates: list[str] = []
    """Names of its templates, from `names()` in its folder's `templates.py`."""
    error: str | None = None
    """Why the app cannot be used; None if it can."""


def describe(definitions: Definitions, models: Models) -> list[AppDescription]:
    """Describe all apps of a folder, including those that cannot be loaded."""
    return [
        _describe(name, definitions.try_get(name), models, _templates(definitions, name))
        for name in definitions.names()
    ]


def models_of(definition: Definition) -> Sequence[BaseLlm]:
    """Return the models of an app's LLM agents and those that its root calls itself."""
    root = definition.app.root_agent
    own = root.models if isinstance(root, AsksModels) else ()
    return (*definition.models, *own)


def model_state(definition: Definition, models: Models) -> ModelState:
    """Return the model of the app's first LLM agent, or else the first that its root calls."""
    for model in models_of(definition):
        if not isinstance(model, ConfiguredModel):
            return ModelState(state="own", name=model.model)
        record = models.record(model.model)
        if record is None:
            return ModelState(state="not_configured")
        return ModelState(state="configured", name=record.model)
    return ModelState(state="none")


def _templates(definitions: Definitions, name: str) -> list[str]:
    try:
        names = definitions.part(name, "names", file="templates")
    except AgentLoadError:  # reported in the agent's own description
        return []
    found = names() if names is not None else ()
    return [str(one) for one in found] if isinstance(found, Iterable) else []


def _describe(
    name: str, definition: Definition | AgentLoadError, models: Models, templates: list[str]
) -> AppDescription:
    if isinstance(definition, AgentLoadError):
        return AppDescription(
            name=name,
            description="",
            model=ModelState(state="none"),
            tools=[],
            error=definition.message,
        )
    return AppDescription(
        name=name,
        description=definition.description,
        model=model_state(definition, models),
        tools=definition.tools,
        templates=templates,
    )
