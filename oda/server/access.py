"""What a request may use: the context, and the user it comes from."""

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
    """For whom a request is that may name its user in the body.

    That counts only where nobody has to prove who they are, and no header says so.

    Args:
        named: In the body, if at all.

    Raises:
        ForbiddenError: it is another than who asks.
        InvalidRequestError: it is not the id of a user.
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
    """Most unfinished turns of who asks now; None where nobody has to prove who they are.

    Nobody else can be held to a share of the service.
    """
    principal = current_principal.get()
    proven = principal is not None and principal.proven
    return oda.settings.limits.turns_at_once if proven else None


Context = Annotated[OdaContext, Depends(_context)]
User = Annotated[str, Depends(_user)]
