"""Nothing is served to somebody unknown: every request and every socket gets its principal here."""

import re
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from sqlalchemy.exc import SQLAlchemyError
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from oda.errors import ForbiddenError, InvalidRequestError, OdaError, UnauthenticatedError
from oda.identity.authenticator import Authenticator
from oda.identity.principal import Principal, current_principal
from oda.server.guard import host_name
from oda.server.problems import refusal, refuse, send_problem
from oda.server.rate_window import RateWindow
from oda.server.request_path import path_of
from oda.settings import is_loopback
from oda.telemetry import get_logger

log = get_logger(__name__)

SUBPROTOCOL = "oda.v1"
_TOKEN_SUBPROTOCOL = "bearer."
_OFFER = b"sec-websocket-protocol"
_KEY = "oda_principal"
_AGAIN = "oda_authenticate_again"
_FOR_EVERYBODY = frozenset({"/livez", "/readyz", "/health"})
_FOR_ADMINS = frozenset({"/metrics"})
_TRIGGER = re.compile(r"/v1/apps/[^/]+/triggers/[^/]+")
_WRONG_SIGNATURE = "oda_wrong_signature"

_FORWARDED = (b"x-forwarded-", b"x-original-", b"x-envoy-", b"cf-")
_BY_PROXIES = frozenset(
    {
        *(b"forwarded", b"via", b"x-real-ip", b"x-client-ip", b"x-cluster-client-ip"),
        *(b"true-client-ip", b"fastly-client-ip", b"fly-client-ip"),
    }
)
"""Headers that are only added by proxies."""


def principal_of(scope: Scope) -> Principal:
    """Return the principal of a request.

    Raises:
        UnauthenticatedError: the path needs no authentication, so the principal is unknown.
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
    """Authenticates requests: puts the principal into the scope, or refuses the request.

    Browsers cannot set headers on a WebSocket. They offer the subprotocols `oda.v1` and
    `bearer.<credential>` instead; the server selects `oda.v1`. WebSockets are refused before they
    are accepted. Credentials in URLs are ignored.

    Only failed attempts are limited, per address. A valid credential is accepted whatever has come
    from its address before, so that nobody can lock out others who share the address.

    Args:
        failures: Counts the failed credentials of each address.
        to_everybody: Whether a server without keys also serves other machines.
    """

    def __init__(self, app: ASGIApp, *, failures: RateWindow, to_everybody: bool) -> None:
        self._app = app
        self._failures = failures
        self._to_everybody = to_everybody

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or _is_for_everybody(scope):
            await self._app(scope, receive, send)
            return
        if _is_signed(scope):
            scope[_WRONG_SIGNATURE] = partial(self._failures.hit, _address(scope))
            await self._app(scope, receive, send)
            return
        try:
            principal = await self._authenticate(scope)
            if path_of(scope) in _FOR_ADMINS and not principal.is_admin:
                raise ForbiddenError("This is for admins.")
        except _WrongCredential as error:
            await self._refuse_credential(error, scope, receive, send)
            return
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

    async def _authenticate(self, scope: Scope) -> Principal:
        headers = Headers(scope=scope)
        authorization = _single(headers, "authorization")
        if scope["type"] == "websocket":
            from_subprotocol = _take_credential(scope)
            if authorization is None and from_subprotocol is not None:
                authorization = f"Bearer {from_subprotocol}"
        authenticator: Authenticator = scope["app"].state.authenticator
        authenticate = partial(
            authenticator.authenticate,
            authorization,
            _user(headers),
            from_elsewhere=not (self._to_everybody or _is_from_this_machine(scope)),
        )
        if scope["type"] == "websocket":
            scope[_AGAIN] = authenticate
        try:
            return await authenticate()
        except UnauthenticatedError as error:
            if authorization is None:
                raise
            raise _WrongCredential from error

    async def _refuse_credential(
        self, error: "_WrongCredential", scope: Scope, receive: Receive, send: Send
    ) -> None:
        address = _address(scope)
        if wait_s := await self._failures.hit(address):
            detail = "Too many credentials from this address did not hold."
            await send_problem(scope, receive, send, 429, detail, retry_after_s=wait_s)
            return
        cause = error.__cause__
        assert isinstance(cause, UnauthenticatedError)
        log.warning("credential_refused", client=address, reason=cause.message)
        await refuse(refusal(HTTPConnection(scope), cause), scope, receive, send)


async def count_wrong_signature(scope: Scope) -> float:
    """Count a request that is signed, but not by whom it should be.

    Returns:
        The seconds to wait if there were too many from its address, else 0.
    """
    count: Callable[[], Awaitable[float]] | None = scope.get(_WRONG_SIGNATURE)
    return 0.0 if count is None else await count()


class _WrongCredential(Exception):
    """Raised when a credential is invalid; its cause is the reason."""


def _is_for_everybody(scope: Scope) -> bool:
    if scope["type"] != "http":
        return False
    if path_of(scope) in _FOR_EVERYBODY:
        return True
    return scope["method"] == "OPTIONS" and "access-control-request-method" in Headers(scope=scope)


def _is_signed(scope: Scope) -> bool:
    """Return whether the route itself proves who has sent a request, by its signature."""
    return (
        scope["type"] == "http"
        and scope["method"] == "POST"
        and _TRIGGER.fullmatch(path_of(scope)) is not None
        and "webhook-signature" in Headers(scope=scope)
    )


def _is_from_this_machine(scope: Scope) -> bool:
    """Return whether a request can only have been sent by a program on this machine.

    A proxy on this machine has a local address too; it is recognized by the headers it adds, and by
    HTTP/1.0, which nginx uses by default.
    """
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    return (
        is_loopback(_address(scope))
        and len(hosts) == 1
        and is_loopback(host_name(hosts[0].decode("latin-1")))
        and scope.get("http_version") != "1.0"
        and not any(
            name in _BY_PROXIES or name.startswith(_FORWARDED) for name, _ in scope["headers"]
        )
    )


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return client[0] if client else ""


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
    """Return the credential among the offered subprotocols, and remove it from the scope."""
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
