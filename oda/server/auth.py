"""Nothing is served to somebody unknown: every request and every socket gets its principal here."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from sqlalchemy.exc import SQLAlchemyError
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from oda.errors import ForbiddenError, InvalidRequestError, OdaError, UnauthenticatedError
from oda.identity.authenticator import Authenticator
from oda.identity.principal import Principal, current_principal
from oda.server.problems import refusal, refuse

SUBPROTOCOL = "oda.v1"
_TOKEN_SUBPROTOCOL = "bearer."
_OFFER = b"sec-websocket-protocol"
_KEY = "oda_principal"
_AGAIN = "oda_authenticate_again"
_FOR_EVERYBODY = frozenset({"/livez", "/readyz", "/health"})
_FOR_ADMINS = frozenset({"/metrics"})


def principal_of(scope: Scope) -> Principal:
    """Who asks.

    Raises:
        UnauthenticatedError: it is a path on which nobody need say so.
    """
    principal: Principal | None = scope.get(_KEY)
    if principal is None:
        raise UnauthenticatedError("Nobody knows who asks.")
    return principal


async def authenticate_again(scope: Scope) -> None:
    """Look again at the credential of a WebSocket, which may have been open for long.

    Raises:
        UnauthenticatedError: it does not hold any more, or is another's now.
        ForbiddenError: it does not allow to act for this user any more.
        UnavailableError, SQLAlchemyError: that cannot be found out now.
    """
    again: Callable[[], Awaitable[Principal]] = scope[_AGAIN]
    if await again() != principal_of(scope):
        raise UnauthenticatedError("The credential is not what it was.")


class AuthMiddleware:
    """Puts the principal into the scope, or refuses; a WebSocket before it is accepted.

    Browsers cannot send headers with a WebSocket. They offer the subprotocols `oda.v1` and
    `bearer.<credential>`; the answer is `oda.v1`. A credential in a URL is never looked at.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or _is_for_everybody(scope):
            await self._app(scope, receive, send)
            return
        try:
            principal = await _authenticate(scope)
            if scope["path"] in _FOR_ADMINS and not principal.is_admin:
                raise ForbiddenError("This is for admins.")
        except (OdaError, SQLAlchemyError) as error:
            await refuse(refusal(HTTPConnection(scope), error), scope, receive, send)
            return
        scope[_KEY] = principal
        if scope["type"] == "websocket":
            send = _choosing_subprotocol(scope, send)
        token = current_principal.set(principal)
        try:
            await self._app(scope, receive, send)
        finally:
            current_principal.reset(token)


def _is_for_everybody(scope: Scope) -> bool:
    if scope["type"] != "http":
        return False
    if scope["path"] in _FOR_EVERYBODY:
        return True
    return scope["method"] == "OPTIONS" and "access-control-request-method" in Headers(scope=scope)


async def _authenticate(scope: Scope) -> Principal:
    headers = Headers(scope=scope)
    authorization = _single(headers, "authorization")
    if scope["type"] == "websocket":
        from_subprotocol = _take_credential(scope)
        if authorization is None and from_subprotocol is not None:
            authorization = f"Bearer {from_subprotocol}"
    authenticator: Authenticator = scope["app"].state.authenticator
    authenticate = partial(authenticator.authenticate, authorization, _user(headers))
    if scope["type"] == "websocket":
        scope[_AGAIN] = authenticate
    return await authenticate()


def _user(headers: Headers) -> str | None:
    value = _single(headers, "x-oda-user")
    if value is None or value.isascii():
        return value
    try:
        return value.encode("latin-1").decode()
    except UnicodeDecodeError as error:
        raise InvalidRequestError("X-Oda-User must be UTF-8.") from error


def _single(headers: Headers, name: str) -> str | None:
    values = headers.getlist(name)
    if len(values) > 1:
        raise InvalidRequestError(f"The header {name} was sent more than once.")
    return values[0] if values else None


def _take_credential(scope: Scope) -> str | None:
    """The credential among the subprotocols that were offered; nobody further in sees it."""
    offered: Sequence[str] = scope.get("subprotocols") or ()
    credentials = [name for name in offered if name.startswith(_TOKEN_SUBPROTOCOL)]
    if not credentials:
        return None
    kept = [name for name in offered if name not in credentials]
    scope["subprotocols"] = kept
    scope["headers"] = [pair for pair in scope["headers"] if pair[0] != _OFFER]
    if kept:
        scope["headers"].append((_OFFER, ", ".join(kept).encode("latin-1")))
    return credentials[0].removeprefix(_TOKEN_SUBPROTOCOL)


def _choosing_subprotocol(scope: Scope, send: Send) -> Send:
    """Answer the offer of `oda.v1` also where the application behind does not know it."""
    if SUBPROTOCOL not in scope.get("subprotocols", ()):
        return send

    async def send_with_subprotocol(message: Message) -> None:
        if message["type"] == "websocket.accept" and not message.get("subprotocol"):
            message = {**message, "subprotocol": SUBPROTOCOL}
        await send(message)

    return send_with_subprotocol
