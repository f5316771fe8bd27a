"""What can be talked to."""

from fastapi import APIRouter
from google.adk.models.base_llm import BaseLlm

from oda.agent.definition import Definition
from oda.agent.model.configured import ConfiguredModel
from oda.context import OdaContext
from oda.errors import AgentLoadError
from oda.server.access import Context
from oda.server.v1.wire import AppList, AppResource, ModelState

router = APIRouter(tags=["apps"])


@router.get("/apps")
async def list_apps(oda: Context) -> AppList:
    """All apps, with those that cannot be loaded."""
    return AppList(apps=[_resource(oda, name) for name in oda.definitions.names()])


def _resource(oda: OdaContext, name: str) -> AppResource:
    definition = oda.definitions.try_get(name)
    if isinstance(definition, AgentLoadError):
        return AppResource(
            name=name,
            description="",
            model=ModelState(state="none"),
            tools=[],
            error="It cannot be loaded; `oda doctor` says why.",
        )
    return AppResource(
        name=name,
        description=definition.description,
        model=model_state(oda, definition),
        tools=definition.tools,
    )


def model_state(oda: OdaContext, definition: Definition) -> ModelState:
    """What the app's first agent with a model would be answered by."""
    for model in definition.models:
        if isinstance(model, ConfiguredModel):
            record = oda.models.record(model.model)
            if record is None:
                return ModelState(state="not_configured")
            return ModelState(state="configured", name=record.model)
        return ModelState(state="own", name=model.model if isinstance(model, BaseLlm) else model)
    return ModelState(state="none")
