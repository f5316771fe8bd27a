"""What a request may use: the context, and the user it comes from."""

from typing import Annotated

from fastapi import Depends, Header, Request

from oda.context import OdaContext
from oda.session.manager import DEFAULT_USER


def _context(request: Request) -> OdaContext:
    context: OdaContext = request.app.state.oda
    return context


def _user(
    x_oda_user: Annotated[
        str | None,
        Header(min_length=1, max_length=128, description="Who asks; by default `local`."),
    ] = None,
) -> str:
    return x_oda_user or DEFAULT_USER


Context = Annotated[OdaContext, Depends(_context)]
User = Annotated[str, Depends(_user)]
