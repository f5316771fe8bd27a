"""What can be talked to."""

from fastapi import APIRouter

from oda.agent.description import describe
from oda.server.access import Context
from oda.server.v1.wire import AppList

router = APIRouter(tags=["apps"])

_BROKEN = {"error": "It cannot be loaded; `oda doctor` says why."}
"""The reason itself may name files and secrets."""


@router.get("/apps")
async def list_apps(oda: Context) -> AppList:
    """All apps, with those that cannot be loaded."""
    apps = describe(oda.definitions, oda.models)
    return AppList(apps=[app.model_copy(update=_BROKEN) if app.error else app for app in apps])
