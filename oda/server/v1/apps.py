"""The list of apps."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from fastapi import APIRouter, FastAPI, Request

from oda.agent.description import AppDescription, describe
from oda.context import OdaContext
from oda.errors import AgentLoadError
from oda.server.access import Context
from oda.server.agent_routes import mounted
from oda.server.rehearsal import Rehearsal
from oda.server.v1.wire import AppList

router = APIRouter(tags=["apps"])

_BROKEN = "It cannot be loaded; `oda doctor` says why."
_BROKEN_ROUTES = "Its own routes cannot be loaded; `oda doctor` says why."


@router.get("/apps")
async def list_apps(oda: Context, request: Request) -> AppList:
    """All apps, with those that cannot be loaded."""
    apps, broken_routes = await described_apps(oda, request.app)

    def error_of(app: AppDescription) -> str | None:
        """Return a generic message: the actual reason may contain file names and secrets."""
        if app.error:
            return _BROKEN
        return _BROKEN_ROUTES if app.name in broken_routes else None

    return AppList(apps=[app.model_copy(update={"error": error_of(app)}) for app in apps])


async def described_apps(
    oda: OdaContext, app: FastAPI
) -> tuple[list[AppDescription], Mapping[str, str]]:
    """Return the apps and why routes are broken: as rehearsed, else by loading them all here."""
    rehearsal: Rehearsal | None = app.state.rehearsal
    if rehearsal is not None and (found := await rehearsal.outcome()) is not None:
        return found.apps, found.broken_routes
    await mounted(app)
    for name in await asyncio.to_thread(oda.definitions.names):
        with suppress(AgentLoadError):
            await oda.definitions.load(name)
    return describe(oda.definitions, oda.models), app.state.broken_routes
