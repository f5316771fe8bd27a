"""Dependencies of routes: the context and the calling user."""

from typing import Annotated

from fastapi import Depends, Header
from fastapi.requests import HTTPConnection

from oda.context import OdaContext
from oda.errors import ForbiddenError
from oda.identity.principal import Principal, check_id, current_principal
from oda.server.auth import principal_of

_USER = "x-oda-user"


def _context(connection: HTTPConnection) -> OdaContext:
    context: OdaContext = connection.app.state.oda
    return context


def _principal(connection: HTTPConnection) -> Principal:
    return principal_of(connection.scope)


CurrentPrincipal = Annotated[Principal, Depends(_principal)]


def _user(
    principal: CurrentPrincipal,
    x_oda_user: Annotated[
        str | None,
        Header(
            min_length=1,
            max_length=128,
            json_schema_extra={"format": "id"},
            description="For whom an admin acts. Without keys: who asks, by default `local`.",
        ),
    ] = None,
) -> str:
    """The principal's user: `AuthMiddleware` has judged the header, which is here as its
    description."""
    return principal.user_id


def user_for(connection: HTTPConnection, named: str | None) -> str:
    """Return the user of a request that may name its user in the body.

    The body's user counts only on an open server, and only if no header names another.

    Args:
        named: The user named in the body, if any.

    Raises:
        ForbiddenError: the body names another user than the caller.
        InvalidRequestError: it is not a valid user id.
    """
    principal = principal_of(connection.scope)
    if named is None or named == principal.user_id:
        return principal.user_id
    if principal.proven or _USER in connection.headers:
        raise ForbiddenError(
            "The user_id of the body is another than who asks.", remedy="leave user_id out"
        )
    check_id("user_id", named)
    return named


def turns_at_once(oda: OdaContext) -> int | None:
    """Return the caller's limit of unfinished turns; None on an open server.

    An open server cannot tell its users apart, so it cannot enforce a share for each.
    """
    principal = current_principal.get()
    proven = principal is not None and principal.proven
    return oda.settings.limits.turns_at_once if proven else None


Context = Annotated[OdaContext, Depends(_context)]
User = Annotated[str, Depends(_user)]
