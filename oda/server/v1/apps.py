"""What can be talked to."""

from fastapi import APIRouter, Request

from oda.agent.description import AppDescription, describe
from oda.server.access import Context
from oda.server.v1.wire import AppList

router = APIRouter(tags=["apps"])

_BROKEN = "It cannot be loaded; `oda doctor` says why."
_BROKEN_ROUTES = "Its own routes cannot be loaded; `oda doctor` says why."


@router.get("/apps")
async def list_apps(oda: Context, request: Request) -> AppList:
    """All apps, with those that cannot be loaded."""
    broken_routes = request.app.state.broken_routes

    def error_of(app: AppDescription) -> str | None:
        """What is wrong with it; the reason itself may name files and secrets."""
        if app.error:
            return _BROKEN
        return _BROKEN_ROUTES if app.name in broken_routes else None

    apps = describe(oda.definitions, oda.models)
    return AppList(apps=[app.model_copy(update={"error": error_of(app)}) for app in apps])
