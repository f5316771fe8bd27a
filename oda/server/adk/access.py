"""Access control for ADK's routes: users may call those of an allow-list, admins all but a few."""

from collections.abc import Iterator
from typing import Literal

from starlette.datastructures import QueryParams
from starlette.routing import BaseRoute, Match, Mount, WebSocketRoute
from starlette.types import Scope

from oda.errors import ForbiddenError, SessionNotFoundError
from oda.identity.principal import Principal, current_principal
from oda.server.problems import Refusal

Access = Literal["user", "admin", "nobody"]

SESSIONS = "/apps/{app_name}/users/{user_id}/sessions"
SESSION = f"{SESSIONS}/{{session_id}}"
_ARTIFACTS = f"{SESSION}/artifacts"
_ARTIFACT = f"{_ARTIFACTS}/{{artifact_name:path}}"

_FOR_USERS = frozenset(
    {
        ("GET", "/version"),
        ("GET", "/list-apps"),
        ("GET", SESSIONS),
        ("POST", SESSIONS),
        *((method, SESSION) for method in ("GET", "POST", "PATCH", "DELETE")),
        ("GET", _ARTIFACTS),
        ("POST", _ARTIFACTS),
        ("GET", _ARTIFACT),
        ("DELETE", _ARTIFACT),
        ("GET", f"{_ARTIFACT}/versions"),
        ("GET", f"{_ARTIFACT}/versions/metadata"),
        ("GET", f"{_ARTIFACT}/versions/{{version_id}}"),
        ("GET", f"{_ARTIFACT}/versions/{{version_id}}/metadata"),
        ("POST", "/run"),
        ("POST", "/run_sse"),
    }
)
"""Routes that users need for their own sessions; all of them go through our managers and turns."""
_FOR_NOBODY = frozenset({("WS", "/run_live")})
"""A live conversation would bypass the session's turns, lane, ledger and limits."""


def access_to(method: str, path: str) -> Access:
    """Return who may use an ADK route, given its method (`WS` for WebSockets) and path template."""
    if (method, path) in _FOR_NOBODY:
        return "nobody"
    return "user" if (method, path) in _FOR_USERS else "admin"


def check_access(route: BaseRoute, scope: Scope, principal: Principal) -> None:
    """Check that a request may be passed on to the route it has matched.

    Raises:
        SessionNotFoundError: it names another user than the caller.
        ForbiddenError: the route is for admins only.
        Refusal: the route is not available to anyone.
    """
    for user_id in _named_users(scope):
        _check_user(user_id, principal)
    method, path = method_and_path(route, scope)
    access = access_to(method, path)
    if access == "nobody":
        raise Refusal(
            403,
            "Live conversations are not served: they would run beside the session's turns.",
            code="live_not_served",
            remedy="send turns; /v1/apps/{app}/sessions/{sid}/ws takes them on a WebSocket",
        )
    if access == "admin" and not principal.is_admin:
        raise ForbiddenError("This is for admins.")


def check_user(user_id: str) -> None:
    """Check that a call from ADK names the user who makes the current request.

    Raises:
        SessionNotFoundError: it names another user, and the caller is not an admin.
    """
    _check_user(user_id, current_principal.get())


def is_admin() -> bool:
    """Return whether the current request is made by an admin."""
    principal = current_principal.get()
    return principal is not None and principal.is_admin


def matched_route(routes: list[BaseRoute], scope: Scope) -> tuple[BaseRoute, Scope] | None:
    """Return the route that matches a request and its scope with path parameters.

    None without a match.
    """
    only_the_path = None
    for route in routes:
        match, found = route.matches(scope)
        if match is Match.FULL:
            return route, found
        if match is Match.PARTIAL and only_the_path is None:
            only_the_path = route, found
    return only_the_path


def method_and_path(route: BaseRoute, scope: Scope) -> tuple[str, str]:
    """Return a request's method, or `WS`, and the path template of its route."""
    if isinstance(route, WebSocketRoute):
        return "WS", route.path
    path = f"{route.path}/" if isinstance(route, Mount) else getattr(route, "path", "")
    return scope.get("method", "WS"), path


def _check_user(user_id: str, principal: Principal | None) -> None:
    if principal is None or not (principal.is_admin or principal.user_id == user_id):
        raise SessionNotFoundError("Session not found")


def _named_users(scope: Scope) -> Iterator[str]:
    """Yield the users named in the path and the query."""
    if user_id := scope["path_params"].get("user_id"):
        yield user_id
    yield from QueryParams(scope["query_string"]).getlist("user_id")
