"""The path of the MCP face. It imports nothing of MCP before somebody speaks it."""

from cachetools import TTLCache
from fastapi import APIRouter, Request, Response

from oda.server.access import Context, User
from oda.server.v1.paths import AppName

_REMEMBERED, _REMEMBERED_S = 10_000, 600.0


def mcp_router() -> APIRouter:
    """Return the route of the MCP face."""
    router = APIRouter()
    dismissed: TTLCache[tuple[str, str], bool] = TTLCache(_REMEMBERED, _REMEMBERED_S)

    @router.api_route("/mcp/{app}", methods=["GET", "POST", "DELETE"], include_in_schema=False)
    async def speak_mcp(app: AppName, request: Request, oda: Context, user: User) -> Response:
        """Serve an app as an MCP server."""
        from oda.server.mcp.respond import respond

        return await respond(app, request, oda, user, dismissed)

    return router
