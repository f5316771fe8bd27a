"""ADK's routes name a user in their path, query or body: it must be the one who asks."""

import re
from collections.abc import Iterator

from google.adk.sessions import Session
from google.adk.sessions.base_session_service import GetSessionConfig
from starlette.datastructures import QueryParams
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from oda.errors import ForbiddenError, OdaError, SessionNotFoundError
from oda.identity.principal import Principal, current_principal
from oda.server.auth import principal_of
from oda.server.problems import refusal, refuse
from oda.session.passing_on import PassingOn

FOR_USERS = frozenset({"apps", "list-apps", "run", "run_live", "run_sse", "version"})
"""First segments of ADK's paths that are not for admins only."""

USER_IN_PATH = re.compile(r"/+apps/[^/]+/users/(?P<user>[^/]+)")
_NOT_FOUND = "Session not found"


class AdkIdentity:
    """Lets through to ADK's paths what users may ask for themselves; admins may ask for anybody."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan" and (refused := _refusal(scope)) is not None:
            await refuse(refused, scope, receive, send)
            return
        await self._app(scope, receive, send)


def check_adk_user(user_id: str) -> None:
    """Check the user of a body against who asks.

    Raises:
        SessionNotFoundError: it is another user, and who asks is no admin.
    """
    if not _may_act_for(current_principal.get(), user_id):
        raise SessionNotFoundError(f"{_NOT_FOUND}.")


class OwnSessions(PassingOn):
    """A session service in which nobody finds sessions of others.

    ADK's `/run_sse` looks for the session before it begins to stream: so the answer is a 404.
    """

    async def get_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = None,
    ) -> Session | None:
        if not _may_act_for(current_principal.get(), user_id):
            return None
        return await super().get_session(
            app_name=app_name, user_id=user_id, session_id=session_id, config=config
        )


def _refusal(scope: Scope) -> Response | None:
    segment = scope["path"].lstrip("/").split("/", 1)[0]
    if segment not in scope["app"].state.adk_segments:
        return None
    try:
        principal = principal_of(scope)
        if segment not in FOR_USERS and not principal.is_admin:
            raise ForbiddenError("This is for admins.")
    except OdaError as error:
        return refusal(HTTPConnection(scope), error)
    if all(_may_act_for(principal, user_id) for user_id in _named_users(scope)):
        return None
    return JSONResponse({"detail": _NOT_FOUND}, 404)


def _named_users(scope: Scope) -> Iterator[str]:
    """The users in the path and in the query."""
    if match := USER_IN_PATH.match(scope["path"]):
        yield match["user"]
    yield from QueryParams(scope["query_string"]).getlist("user_id")


def _may_act_for(principal: Principal | None, user_id: str) -> bool:
    return principal is not None and (principal.is_admin or principal.user_id == user_id)
