"""What a request may use: the context, and the user it comes from."""

from typing import Annotated

from fastapi import Depends, Header
from fastapi.requests import HTTPConnection

from oda.context import OdaContext
from oda.identity.principal import Principal, current_principal
from oda.server.auth import principal_of


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


def turns_at_once(oda: OdaContext) -> int | None:
    """Most unfinished turns of who asks now; None where nobody has to prove who they are.

    Nobody else can be held to a share of the service.
    """
    principal = current_principal.get()
    proven = principal is not None and principal.proven
    return oda.settings.limits.turns_at_once if proven else None


Context = Annotated[OdaContext, Depends(_context)]
User = Annotated[str, Depends(_user)]
