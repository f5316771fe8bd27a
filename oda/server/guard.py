"""Access of browsers to this server: allowed hosts and origins.

Other origins are closed by default.
"""

from collections.abc import Collection
from functools import lru_cache
from urllib.parse import SplitResult, urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from oda.server.problems import send_problem
from oda.settings import is_loopback

_PORTS = {"http": 80, "https": 443}
_AS_HTTP = {"ws": "http", "wss": "https"}


class Guard:
    """Refuses requests for another host (DNS rebinding) and from pages of another origin.

    It checks HTTP requests, and WebSockets before they are accepted.

    Args:
        host: The address that the server is bound to. A server on a loopback address may have no
            authentication, so only names of this machine are allowed, and those listed.
        hosts: Allowed names of this server; without them, any name is allowed on a public address.
        origins: Allowed origins of pages, matched exactly. Other ports of this machine are other
            origins, since any user's page may be served there.
    """

    def __init__(
        self, app: ASGIApp, *, host: str, hosts: Collection[str], origins: Collection[str]
    ) -> None:
        self._app = app
        self._local = is_loopback(host)
        self._hosts = frozenset(name.lower() for name in hosts)
        self._origins = frozenset(origins)
        self._is_our_host = lru_cache(256)(self._check_host)
        self._is_our_origin = lru_cache(256)(self._check_origin)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or (reason := self._refusal(scope)) is None:
            await self._app(scope, receive, send)
        else:
            await send_problem(scope, receive, send, 403, reason)

    def _refusal(self, scope: Scope) -> str | None:
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        host = hosts[0].decode("latin-1") if len(hosts) == 1 else ""
        if not self._is_our_host(host):
            return "This server does not answer to this Host; ODA_ALLOWED_HOSTS names others."
        for name, value in scope["headers"]:
            if name == b"origin" and not self._is_our_origin(
                value.decode("latin-1"), scope.get("scheme", "http"), host
            ):
                return (
                    "This server does not answer to pages of this Origin; "
                    "ODA_ALLOWED_ORIGINS names others."
                )
        return None

    def _check_host(self, host: str) -> bool:
        if not (self._local or self._hosts):
            return True
        name = host_name(host)
        return name in self._hosts or (self._local and is_loopback(name))

    def _check_origin(self, origin: str, scheme: str, host: str) -> bool:
        if origin in self._origins:
            return True
        theirs = _split(origin)
        if theirs is None or not theirs.hostname:
            return False
        ours = _split(f"{_AS_HTTP.get(scheme, scheme)}://{host}")
        return ours is not None and _endpoint(theirs) == _endpoint(ours)


def host_name(host: str) -> str:
    """Return the name in a `Host` header without its port; empty if it is malformed."""
    parts = _split(f"//{host}")
    return (parts and parts.hostname) or ""


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts


def _endpoint(parts: SplitResult) -> tuple[str, str | None, int | None]:
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)
