"""What there is to talk to, told for people and for the API."""

from collections.abc import Iterable, Sequence
from typing import Literal, Protocol, runtime_checkable

from google.adk.models.base_llm import BaseLlm
from pydantic import BaseModel

from oda.agent.definition import Definition, Definitions
from oda.agent.model.configured import ConfiguredModel
from oda.agent.model.registry import Models
from oda.errors import AgentLoadError


class ModelState(BaseModel):
    """What the app's first agent is answered by."""

    state: Literal["configured", "not_configured", "own", "none"]
    """`own`: the agent brings its model; `none`: it uses none."""
    name: str | None = None


@runtime_checkable
class AsksModels(Protocol):
    """A root that asks models by itself, without any LLM agent, such as an orchestrator."""

    @property
    def models(self) -> Sequence[BaseLlm]: ...


class AppDescription(BaseModel):
    """Something to talk to."""

    name: str
    description: str
    model: ModelState
    tools: list[str]
    templates: list[str] = []
    """What it can make, as `names()` in its folder's `templates.py` says."""
    error: str | None = None
    """Why it cannot be used, if it cannot."""


def describe(definitions: Definitions, models: Models) -> list[AppDescription]:
    """All apps of a folder, with those that cannot be loaded."""
    return [
        _describe(name, definitions.try_get(name), models, _templates(definitions, name))
        for name in definitions.names()
    ]


def models_of(definition: Definition) -> Sequence[BaseLlm]:
    """The models of all LLM agents of an app, and those that the app itself asks."""
    root = definition.app.root_agent
    own = root.models if isinstance(root, AsksModels) else ()
    return (*definition.models, *own)


def model_state(definition: Definition, models: Models) -> ModelState:
    """What the app's first LLM agent is answered by, or the app itself where it has none."""
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
    except AgentLoadError:  # told of the agent itself
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
