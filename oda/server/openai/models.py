"""`/v1/models`: the apps that can be asked."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from openai.pagination import SyncPage
from openai.types import Model

from oda.errors import AgentLoadError, AgentNotFoundError
from oda.server.access import Context, User
from oda.server.openai.stream import answer
from oda.server.v1.apps import described_apps

router = APIRouter(prefix="/models", include_in_schema=False)


@router.get("")
async def list_models(oda: Context, user: User, request: Request) -> Response:
    """All apps that can be loaded."""
    apps, _ = await described_apps(oda, request.app)
    usable = [_model(app.name) for app in apps if app.error is None]
    return answer(SyncPage[Model](object="list", data=usable))


@router.get("/{model:path}")
async def get_model(
    model: Annotated[str, Path(max_length=257)], oda: Context, user: User
) -> Response:
    """An app, or one of its agents."""
    app, _, agent = model.partition("/")
    await oda.definitions.load(app)
    if agent:
        try:
            await oda.definitions.load(agent)
        except AgentLoadError as error:
            raise AgentNotFoundError(f"There is no agent {agent!r}.") from error
    return answer(_model(model))


def _model(name: str) -> Model:
    return Model(id=name, object="model", created=0, owned_by="oda")
